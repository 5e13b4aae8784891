// VerificationBook: what a server's verifications (verification.h) have come to, and how many it
// coordinates at a time.
//
// Threads   Thread-safe.
// Lifetime  Held by shared_ptr.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/time/time.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>

#include "base/counter.h"
#include "base/mutex.h"
#include "messages/verification_messages.h"

namespace arion {

// One for a server.
class VerificationBook : public std::enable_shared_from_this<VerificationBook> {
 public:
  // How many verifications this server coordinates at a time.
  static constexpr int kAtOnce = 2;

  // How often each partition is verified without being asked; 0: never.
  void SetInterval(absl::Duration interval) {
    interval_seconds_.store(absl::ToInt64Seconds(interval));
  }
  int64_t interval_seconds() const { return interval_seconds_.load(); }

  // The right to coordinate one verification, as long as the result is held. Null: not now.
  std::shared_ptr<void> TryTake();

  // A verification that this server coordinated has ended.
  void Ended(PartitionId pid, const VerifyReplicasResponse& result);
  // The result of the last one. Its state is kNever where none has ended here.
  VerifyReplicasResponse Last(PartitionId pid) const;
  // Another primary's word counts from now on. What was found here is no longer reported as the
  // present.
  void NotPrimaryAnyMore(PartitionId pid);
  // The last verdict on a partition whose primary is here; nullopt: there is none.
  std::optional<ContentVerdictKind> VerdictOf(PartitionId pid) const;

  // Replicas here that differed from the majority.
  Counter& set_aside() { return set_aside_; }
  // Figures for displays.
  struct Counts {
    // By ContentVerdictKind, since the start.
    std::array<int64_t, 4> ended{};
    // Partitions whose primary is here and whose last verdict is kUndecided.
    int64_t undecided_now = 0;
    // Since 1970; 0: none.
    int64_t last_ended_ms = 0;
    int64_t set_aside = 0;
  };
  Counts Now() const;

 private:
  struct Entry {
    VerifyReplicasResponse last;
    // Whether the primary is still here, so that `last` describes the present.
    bool is_present = false;
  };
  std::atomic<int64_t> interval_seconds_{0};
  Counter set_aside_;
  mutable Mutex mutex_;
  std::map<PartitionId, Entry> entries_ ABSL_GUARDED_BY(mutex_);
  Counts counts_ ABSL_GUARDED_BY(mutex_);
  int running_ ABSL_GUARDED_BY(mutex_) = 0;
  // Verifications under way that this server coordinates.
};

// The number of the interval that `wall_seconds` is in. Intervals are equally long and are counted
// from a beginning that differs from partition to partition, so that their turns are spread.
// interval_seconds > 0. Pure.
int64_t VerificationInterval(PartitionId pid, int64_t wall_seconds, int64_t interval_seconds);

}  // namespace arion
