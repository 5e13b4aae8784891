// SPDX-License-Identifier: Apache-2.0
#include "verification/verification_book.h"

#include <algorithm>

namespace arion {

std::shared_ptr<void> VerificationBook::TryTake() {
  const MutexLock lock(mutex_);
  if (running_ >= kAtOnce) return nullptr;
  ++running_;
  // Only the deleter matters: whoever drops the pointer gives the place back.
  return {this, [self = shared_from_this()](void*) {
            const MutexLock lock(self->mutex_);
            --self->running_;
          }};
}

void VerificationBook::Ended(PartitionId pid, const VerifyReplicasResponse& result) {
  const MutexLock lock(mutex_);
  entries_[pid] = {.last = result, .is_present = true};
  const auto kind = static_cast<size_t>(result.verdict);
  // A verdict of a newer version may be beyond the array.
  if (kind < counts_.ended.size()) ++counts_.ended[kind];
  counts_.last_ended_ms = result.ended_ms;
}

VerifyReplicasResponse VerificationBook::Last(PartitionId pid) const {
  const MutexLock lock(mutex_);
  const auto it = entries_.find(pid);
  return it == entries_.end() ? VerifyReplicasResponse() : it->second.last;
}

void VerificationBook::NotPrimaryAnyMore(PartitionId pid) {
  // The result stays, for people who ask; it is not reported as the present.
  const MutexLock lock(mutex_);
  if (const auto it = entries_.find(pid); it != entries_.end()) it->second.is_present = false;
}

std::optional<ContentVerdictKind> VerificationBook::VerdictOf(PartitionId pid) const {
  const MutexLock lock(mutex_);
  const auto it = entries_.find(pid);
  if (it == entries_.end() || !it->second.is_present) return std::nullopt;
  return it->second.last.verdict;
}

VerificationBook::Counts VerificationBook::Now() const {
  const MutexLock lock(mutex_);
  Counts counts = counts_;
  counts.set_aside = set_aside_.value();
  counts.undecided_now = std::count_if(entries_.begin(), entries_.end(), [](const auto& entry) {
    return entry.second.is_present && entry.second.last.verdict == ContentVerdictKind::kUndecided;
  });
  return counts;
}

// Without a shift all partitions' turns would come at the same second.
int64_t VerificationInterval(PartitionId pid, int64_t wall_seconds, int64_t interval_seconds) {
  // A multiplicative hash: partitions with neighbouring numbers get far apart beginnings.
  const uint64_t mixed =
      (static_cast<uint64_t>(pid.app_id) << 32 | static_cast<uint32_t>(pid.index)) *
      0x9e3779b97f4a7c15u;
  const auto shift = static_cast<int64_t>(mixed >> 1) % interval_seconds;
  return (wall_seconds + shift) / interval_seconds;
}

}  // namespace arion
