// Splits: a table's partition count is doubled while clients write. Partition p of n gets the child
// p + n, which takes over the half of its keys whose hash says so (rpc/PROTOCOL.md 11).
//
// Shapes    What tools ask the meta server for, and what a parent's primary asks its members for.
//           Fields that only Arion knows have ids from 1000 on (rpc/PROTOCOL.md 3.6).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error_code.h"
#include "messages/configuration.h"

namespace arion {

inline constexpr char kRpcStartSplit[] = "RPC_CM_START_PARTITION_SPLIT";
inline constexpr char kRpcQuerySplit[] = "RPC_CM_QUERY_PARTITION_SPLIT";
inline constexpr char kRpcControlSplit[] = "RPC_CM_CONTROL_PARTITION_SPLIT";
inline constexpr char kRpcSplitMember[] = "RPC_ARION_SPLIT_MEMBER";

// Of which partition a split made it. Only powers of two are doubled.
inline PartitionId ParentOf(PartitionId child) {
  const auto half = std::bit_floor(static_cast<uint32_t>(child.index));
  return {child.app_id, child.index - static_cast<int32_t>(half)};
}

// How a parent stands whose child is not registered yet. kPausing and kCanceling are older
// versions': Arion's meta server pauses and cancels at once.
enum class SplitStatus : int32_t {
  kNotSplit = 0,
  kSplitting = 1,
  kPausing = 2,
  kPaused = 3,
  kCanceling = 4,
};

// "splitting"; "unknown" for any other value.
constexpr std::string_view SplitStatusName(SplitStatus status) {
  switch (status) {
    case SplitStatus::kNotSplit:
      return "not split";
    case SplitStatus::kSplitting:
      return "splitting";
    case SplitStatus::kPausing:
      return "pausing";
    case SplitStatus::kPaused:
      return "paused";
    case SplitStatus::kCanceling:
      return "canceling";
  }
  return "unknown";
}

// RPC_CM_START_PARTITION_SPLIT: doubles the partition count.
struct StartSplitRequest {
  std::string app_name;
  // Twice the present one.
  int32_t new_partition_count = 0;
  template <class S, class V>
  static void Fields(S& s, V& v) {
    v(1, s.app_name), v(2, s.new_partition_count);
  }
  bool operator==(const StartSplitRequest&) const = default;
};
// kOk: it is stored, and goes on by itself. `hint_msg`: why not, or what to mind.
struct StartSplitResponse {
  ErrorCode err = ErrorCode::kOk;
  std::string hint_msg;
  template <class S, class V>
  static void Fields(S& s, V& v) {
    v(1, s.err), v(2, s.hint_msg);
  }
  bool operator==(const StartSplitResponse&) const = default;
};

// RPC_CM_QUERY_PARTITION_SPLIT: how far is it?
struct QuerySplitRequest {
  std::string app_name;
  template <class S, class V>
  static void Fields(S& s, V& v) {
    v(1, s.app_name);
  }
  bool operator==(const QuerySplitRequest&) const = default;
};
// kInvalidState: the table is not being split; tools take it for "finished".
struct QuerySplitResponse {
  ErrorCode err = ErrorCode::kOk;
  int32_t new_partition_count = 0;
  // By parent's index: SplitStatus of those whose child is not registered yet.
  std::map<int32_t, int32_t> status;
  std::optional<std::string> hint_msg;
  // Arion's. By parent's index: what is being done for it, or waited for. For people.
  std::optional<std::map<int32_t, std::string>> progress;
  // Arion's: how long the rest takes at the rate so far; absent: not known yet.
  std::optional<int64_t> seconds_left;
  template <class S, class V>
  static void Fields(S& s, V& v) {
    v(1, s.err), v(2, s.new_partition_count), v(3, s.status), v(4, s.hint_msg), v(1000, s.progress),
        v(1001, s.seconds_left);
  }
  bool operator==(const QuerySplitResponse&) const = default;
};

// What a ControlSplitRequest asks for.
enum class SplitControl : int32_t { kPause = 0, kRestart = 1, kCancel = 2 };
// RPC_CM_CONTROL_PARTITION_SPLIT: pauses one parent or all (parent_pidx < 0), lets them go on, or
// takes the split back, which is possible until the first child is registered.
struct ControlSplitRequest {
  std::string app_name;
  // A SplitControl.
  int32_t control_type = 0;
  int32_t parent_pidx = -1;
  // For kCancel: the count before the split.
  std::optional<int32_t> old_partition_count;
  template <class S, class V>
  static void Fields(S& s, V& v) {
    v(1, s.app_name), v(2, s.control_type), v(3, s.parent_pidx), v(4, s.old_partition_count);
  }
  bool operator==(const ControlSplitRequest&) const = default;
};
struct ControlSplitResponse {
  ErrorCode err = ErrorCode::kOk;
  std::optional<std::string> hint_msg;
  template <class S, class V>
  static void Fields(S& s, V& v) {
    v(1, s.err), v(2, s.hint_msg);
  }
  bool operator==(const ControlSplitResponse&) const = default;
};

// What a member is to do for the split of its partition.
enum class SplitStep : int32_t {
  // Put away what earlier attempts left of the child, make it of what is applied, and let it catch
  // up but for a little.
  kPrepare = 0,
  // Let it catch up to `decree`, where writes stopped.
  kComplete = 1,
};
// RPC_ARION_SPLIT_MEMBER, Arion's own: a parent's primary to a member, under its ballot.
struct SplitMemberRequest {
  PartitionId pid;
  Ballot ballot;
  // A SplitStep.
  int32_t step = 0;
  // The count of partitions after the split. The child's index is the parent's plus half of it.
  int32_t partition_count = 0;
  // Committed, and the last one that was prepared. Of kPrepare: what is committed.
  Decree decree;
  template <class S, class V>
  static void Fields(S& s, V& v) {
    v(1, s.pid), v(2, s.ballot), v(3, s.step), v(4, s.partition_count), v(5, s.decree);
  }
  bool operator==(const SplitMemberRequest&) const = default;
};
// kOk: it is done, durably. kBusy: not yet, ask again. kInvalidState: not under this ballot.
struct SplitMemberResponse {
  ErrorCode err = ErrorCode::kOk;
  // Why not. For people.
  std::string text;
  template <class S, class V>
  static void Fields(S& s, V& v) {
    v(1, s.err), v(2, s.text);
  }
  bool operator==(const SplitMemberResponse&) const = default;
};

}  // namespace arion
