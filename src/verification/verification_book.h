// VerificationBook: what a server's verifications (verification.h) have come to, and how many it
// coordinates at a time.
//
// Threads   Thread-safe. SPDX-License-Identifier: Apache-2.0
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

class VerificationBook : public std::enable_shared_from_this<VerificationBook> {
 public:
  static constexpr int kAtOnce = 2;

  // How often each partition is verified without being asked; 0: never.
  void SetInterval(absl::Duration interval) {
    interval_seconds_.store(absl::ToInt64Seconds(interval));
  }
  int64_t interval_seconds() const { return interval_seconds_.load(); }

  // Held while one is coordinated here; null: not now.
  std::shared_ptr<void> TryTake();

  void Ended(PartitionId pid, const VerifyReplicasResponse& result);
  // kNever: none has ended here.
  VerifyReplicasResponse Last(PartitionId pid) const;
  // Another primary's word counts from now on: what was found here is no longer told as the present.
  void NotPrimaryAnyMore(PartitionId pid);
  // What it came to, of partitions whose primary is here.
  std::optional<ContentVerdictKind> VerdictOf(PartitionId pid) const;

  Counter& set_aside() { return set_aside_; }  // replicas here that differed from the majority
  struct Counts {
    std::array<int64_t, 4> ended{};  // by ContentVerdictKind, since the start
    int64_t undecided_now = 0;
    int64_t last_ended_ms = 0;  // since 1970; 0: none
    int64_t set_aside = 0;
  };
  Counts Now() const;

 private:
  struct Entry {
    VerifyReplicasResponse last;
    bool is_present = false;
  };
  std::atomic<int64_t> interval_seconds_{0};
  Counter set_aside_;
  mutable Mutex mutex_;
  std::map<PartitionId, Entry> entries_ ABSL_GUARDED_BY(mutex_);
  Counts counts_ ABSL_GUARDED_BY(mutex_);
  int running_ ABSL_GUARDED_BY(mutex_) = 0;
};

// Which of the equal intervals `wall_seconds` is in, counted from a beginning that differs from
// partition to partition, so that their turns are spread over it. Pure.
int64_t VerificationInterval(PartitionId pid, int64_t wall_seconds, int64_t interval_seconds);

}  // namespace arion
