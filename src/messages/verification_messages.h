// What members of a partition, and tools, say to each other about whether its copies are equal
// (verification/verification.h). Arion's own: a server without it answers ERR_HANDLER_NOT_FOUND.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/error_code.h"
#include "base/ids.h"

namespace arion {

// From a primary to its members.
inline constexpr char kRpcCountContent[] = "RPC_ARION_COUNT_CONTENT";
// From tools to primaries.
inline constexpr char kRpcVerifyReplicas[] = "RPC_ARION_VERIFY_REPLICAS";

// How far a member's count of its content is.
enum class CountState : int32_t {
  kInvalid = 0,
  // For the decree.
  kWaiting = 1,
  kCounting = 2,
  kDone = 3,
  // It has applied more already.
  kMissed = 4,
  // `why` says what hinders it.
  kRefused = 5,
  // It has heard the verdict.
  kSettled = 6,
};
// What comes of the counts (verification/content_verdict.h).
enum class ContentVerdictKind : int32_t {
  // Not all of them were counted.
  kUnverified = 0,
  kEqual = 1,
  // Most agree; the others set themselves aside.
  kMajority = 2,
  // Some differ, and no majority says which is right.
  kUndecided = 3,
};

// The records with keys from `first` on, up to the next range's first, exclusive: how many, and
// their sum, by which two members compare a range without its records.
struct KeyRangeSum {
  std::string first;
  int64_t records = 0;
  int64_t sum = 0;
  template <class S, class V>
  static void Fields(S& s, V& v) {
    v(1, s.first), v(2, s.records), v(3, s.sum);
  }
  bool operator==(const KeyRangeSum&) const = default;
};

// Asks how far a count is, and begins it where `run` is new. With a verdict: ends it.
struct CountContentRequest {
  PartitionId pid;
  Ballot ballot;
  Endpoint primary;
  int64_t run = 0;
  // What is counted is the content at this decree.
  Decree decree;
  // Seconds since 2016, by the primary's clock.
  int64_t now = 0;
  // Seconds: what expires so soon after `now` is left out, and a count takes no longer.
  int64_t margin = 0;
  std::optional<ContentVerdictKind> verdict;
  // What most have; of kEqual and kMajority.
  std::optional<int64_t> records;
  std::optional<int64_t> sum;
  // Of the table as the primary knows it: keys of other partitions are left out. A member that
  // knows another would count other keys.
  std::optional<int32_t> partition_count;
  template <class S, class V>
  static void Fields(S& s, V& v) {
    v(1, s.pid), v(2, s.ballot), v(3, s.primary), v(4, s.run), v(5, s.decree), v(6, s.now);
    v(7, s.verdict), v(8, s.records), v(9, s.sum), v(10, s.margin), v(11, s.partition_count);
  }
  bool operator==(const CountContentRequest&) const = default;
};
// How far the count is.
struct CountContentResponse {
  ErrorCode err = ErrorCode::kOk;
  CountState state = CountState::kInvalid;
  // Of kRefused.
  std::string why;
  // Counted so far.
  int64_t bytes = 0;
  // About how many there are.
  int64_t of_bytes = 0;
  // Of kDone.
  int64_t records = 0;
  int64_t sum = 0;
  // Records that may differ without a fault.
  int64_t left_out = 0;
  std::optional<std::vector<KeyRangeSum>> ranges;
  template <class S, class V>
  static void Fields(S& s, V& v) {
    v(1, s.err), v(2, s.state), v(3, s.why), v(4, s.bytes), v(5, s.of_bytes), v(6, s.records);
    v(7, s.sum), v(8, s.left_out), v(9, s.ranges);
  }
  bool operator==(const CountContentResponse&) const = default;
};

// Whether to begin one, or only to ask for the last one.
enum class VerifyAction : int32_t { kStart = 0, kQuery = 1 };
// RPC_ARION_VERIFY_REPLICAS.
struct VerifyReplicasRequest {
  PartitionId pid;
  VerifyAction action = VerifyAction::kQuery;
  template <class S, class V>
  static void Fields(S& s, V& v) {
    v(1, s.pid), v(2, s.action);
  }
  bool operator==(const VerifyReplicasRequest&) const = default;
};
// What one member's copy is like, as its primary learned it.
struct VerifiedMember {
  Endpoint node;
  // Why it was not counted; empty: it was.
  std::string problem;
  int64_t records = 0;
  int64_t sum = 0;
  int64_t left_out = 0;
  // From most of them.
  bool differs = false;
  template <class S, class V>
  static void Fields(S& s, V& v) {
    v(1, s.node), v(2, s.problem), v(3, s.records), v(4, s.sum), v(5, s.left_out), v(6, s.differs);
  }
  bool operator==(const VerifiedMember&) const = default;
};
// Where copies differ.
struct DifferingRange {
  // Raw keys; empty: from the first one.
  std::string first;
  // The first key behind the range; empty: to the last one.
  std::string end;
  // By member.
  std::vector<int64_t> records;
  template <class S, class V>
  static void Fields(S& s, V& v) {
    v(1, s.first), v(2, s.end), v(3, s.records);
  }
  bool operator==(const DifferingRange&) const = default;
};
// Of the last verification of a partition.
enum class VerificationState : int32_t { kNever = 0, kRunning = 1, kDone = 2 };
// The state of a verification and the result of the last one.
struct VerifyReplicasResponse {
  ErrorCode err = ErrorCode::kOk;
  // Of an error.
  std::string hint;
  VerificationState state = VerificationState::kNever;
  // While it runs.
  int32_t percent = 0;
  // From here on: of the last one that is done.
  int64_t run = 0;
  // Since 1970.
  int64_t ended_ms = 0;
  Decree decree;
  ContentVerdictKind verdict = ContentVerdictKind::kUnverified;
  // Of kUnverified.
  std::string why;
  std::vector<VerifiedMember> members;
  // The first few; ranges_differing says how many there are.
  std::vector<DifferingRange> ranges;
  int64_t ranges_differing = 0;
  template <class S, class V>
  static void Fields(S& s, V& v) {
    v(1, s.err), v(2, s.hint), v(3, s.state), v(4, s.percent), v(5, s.run), v(6, s.ended_ms);
    v(7, s.decree), v(8, s.verdict), v(9, s.why), v(10, s.members), v(11, s.ranges);
    v(12, s.ranges_differing);
  }
  bool operator==(const VerifyReplicasResponse&) const = default;
};

}  // namespace arion
