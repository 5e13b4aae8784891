// What members of a partition, and tools, say to each other about whether its copies are equal
// (verification/verification.h). Arion's own: a server without it answers ERR_HANDLER_NOT_FOUND.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/error_code.h"
#include "base/ids.h"
#include "messages/fields.h"

namespace arion {

inline constexpr char kRpcCountContent[] = "RPC_ARION_COUNT_CONTENT";      // primary to members
inline constexpr char kRpcVerifyReplicas[] = "RPC_ARION_VERIFY_REPLICAS";  // tools to primaries

// How far a member's count of its content is.
enum class CountState : int32_t {
  kInvalid = 0,
  kWaiting = 1,  // for the decree
  kCounting = 2,
  kDone = 3,
  kMissed = 4,   // it has applied more already
  kRefused = 5,  // `why` says what hinders it
  kSettled = 6,  // it has heard the verdict
};
enum class ContentVerdictKind : int32_t {
  kUnverified = 0,  // not all of them were counted
  kEqual = 1,
  kMajority = 2,   // most agree; the others set themselves aside
  kUndecided = 3,  // some differ, and no majority says which is right
};

// Keys from `first` on, up to the next one's.
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
  Decree decree;    // what is counted is the content at it
  int64_t now = 0;  // seconds since 2016, by the primary's clock
  // Seconds: what expires so soon after `now` is left out, and a count takes no longer.
  int64_t margin = 0;
  std::optional<ContentVerdictKind> verdict;
  std::optional<int64_t> records;  // what most have; of kEqual and kMajority
  std::optional<int64_t> sum;
  template <class S, class V>
  static void Fields(S& s, V& v) {
    v(1, s.pid), v(2, s.ballot), v(3, s.primary), v(4, s.run), v(5, s.decree), v(6, s.now);
    v(7, s.verdict), v(8, s.records), v(9, s.sum), v(10, s.margin);
  }
  bool operator==(const CountContentRequest&) const = default;
};
struct CountContentResponse {
  ErrorCode err = ErrorCode::kOk;
  CountState state = CountState::kInvalid;
  std::string why;       // of kRefused
  int64_t bytes = 0;     // counted so far
  int64_t of_bytes = 0;  // about so many there are
  // Of kDone.
  int64_t records = 0;
  int64_t sum = 0;
  int64_t left_out = 0;  // records that may differ without a fault
  std::optional<std::vector<KeyRangeSum>> ranges;
  template <class S, class V>
  static void Fields(S& s, V& v) {
    v(1, s.err), v(2, s.state), v(3, s.why), v(4, s.bytes), v(5, s.of_bytes), v(6, s.records);
    v(7, s.sum), v(8, s.left_out), v(9, s.ranges);
  }
  bool operator==(const CountContentResponse&) const = default;
};

enum class VerifyAction : int32_t { kStart = 0, kQuery = 1 };
struct VerifyReplicasRequest {
  PartitionId pid;
  VerifyAction action = VerifyAction::kQuery;
  template <class S, class V>
  static void Fields(S& s, V& v) {
    v(1, s.pid), v(2, s.action);
  }
  bool operator==(const VerifyReplicasRequest&) const = default;
};
// What one member's copy is like.
struct VerifiedMember {
  Endpoint node;
  std::string problem;  // why it was not counted; empty: it was
  int64_t records = 0;
  int64_t sum = 0;
  int64_t left_out = 0;
  bool differs = false;  // from most of them
  template <class S, class V>
  static void Fields(S& s, V& v) {
    v(1, s.node), v(2, s.problem), v(3, s.records), v(4, s.sum), v(5, s.left_out), v(6, s.differs);
  }
  bool operator==(const VerifiedMember&) const = default;
};
struct DifferingRange {
  std::string first;             // raw keys; "": from the first
  std::string end;               // the first one behind it; "": to the last
  std::vector<int64_t> records;  // by member
  template <class S, class V>
  static void Fields(S& s, V& v) {
    v(1, s.first), v(2, s.end), v(3, s.records);
  }
  bool operator==(const DifferingRange&) const = default;
};
enum class VerificationState : int32_t { kNever = 0, kRunning = 1, kDone = 2 };
struct VerifyReplicasResponse {
  ErrorCode err = ErrorCode::kOk;
  std::string hint;  // of an error
  VerificationState state = VerificationState::kNever;
  int32_t percent = 0;  // while it runs
  // Of the last one that is done.
  int64_t run = 0;
  int64_t ended_ms = 0;  // since 1970
  Decree decree;
  ContentVerdictKind verdict = ContentVerdictKind::kUnverified;
  std::string why;  // of kUnverified
  std::vector<VerifiedMember> members;
  std::vector<DifferingRange> ranges;  // the first few
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
