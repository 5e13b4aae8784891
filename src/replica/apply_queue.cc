// SPDX-License-Identifier: Apache-2.0
#include "replica/apply_queue.h"

#include <algorithm>
#include <utility>

#include "base/status.h"
#include "replica/mutation_operations.h"

namespace arion {
namespace {

enum class Place { kStrand, kPool };

absl::Status ApplyTo(Engine& engine, const Mutation& mutation, Place place) {
  const ReadTier tier = place == Place::kStrand ? ReadTier::kCacheOnly : ReadTier::kAll;
  ASSIGN_OR_RETURN(const MutationOperations operations,
                   MutationOperations::Decode(mutation, engine, tier));
  return place == Place::kStrand
             ? engine.TryApply(mutation.decree, mutation.timestamp_us, operations.ops())
             : engine.Apply(mutation.decree, mutation.timestamp_us, operations.ops());
}

}  // namespace

ApplyQueue::ApplyQueue(StrandPtr strand, Hooks hooks)
    : strand_(std::move(strand)), hooks_(std::move(hooks)) {}

void ApplyQueue::Apply(std::shared_ptr<Engine> engine, const std::vector<MutationPtr>& mutations) {
  CHECK_ON_STRAND(strand_);
  if (is_abandoned_) return;
  engine_ = std::move(engine);
  for (const MutationPtr& mutation : mutations) {
    waiting_.push_back(mutation);
    waiting_bytes_ += EncodedSize(*mutation);
  }
  if (!is_held_) Pump();
}

void ApplyQueue::PopFirst() {
  waiting_bytes_ -= EncodedSize(*waiting_.front());
  waiting_.pop_front();
}

void ApplyQueue::Pump() {
  Decree applied = kInvalidDecree;
  absl::Status status;
  while (!waiting_.empty()) {
    status = ApplyTo(*engine_, *waiting_.front(), Place::kStrand);
    if (!status.ok()) break;
    applied = waiting_.front()->decree;
    PopFirst();
  }
  if (waiting_.empty()) engine_ = nullptr;
  is_held_ = !status.ok();  // before the hook, which may come back with more
  if (applied != kInvalidDecree) hooks_.on_applied(applied);
  if (status.ok() || is_abandoned_) return;
  if (absl::IsUnavailable(status) || absl::IsResourceExhausted(status)) return ApplyFirstInPool();
  Fail(status);
}

void ApplyQueue::ApplyFirstInPool() {
  hooks_.in_pool(
      [engine = engine_, mutation = waiting_.front()] {
        return ApplyTo(*engine, *mutation, Place::kPool);
      },
      [self = weak_from_this()](const absl::Status& status) {
        if (const auto queue = self.lock()) queue->OnAppliedInPool(status);
      });
}

void ApplyQueue::OnAppliedInPool(const absl::Status& status) {
  if (is_abandoned_) return;
  if (absl::IsResourceExhausted(status)) {
    hooks_.on_no_space(status);
    return Pause();
  }
  if (absl::IsUnavailable(status)) return Pause();
  is_held_ = false;
  if (!status.ok()) return Fail(status);
  pause_ = kPauseMin;
  const Decree applied = waiting_.front()->decree;
  PopFirst();
  hooks_.on_applied(applied);
  if (!is_abandoned_ && !is_held_) Pump();
}

void ApplyQueue::Pause() {
  timer_ = strand_->PostAfter(pause_, [self = weak_from_this()] {
    const auto queue = self.lock();
    if (queue == nullptr || queue->is_abandoned_) return;
    queue->timer_ = kNoTimer;
    queue->ApplyFirstInPool();
  });
  pause_ = std::min(2 * pause_, kPauseMax);
}

void ApplyQueue::Fail(const absl::Status& status) {
  const Decree decree = waiting_.front()->decree;
  Abandon();
  hooks_.on_failed(decree, status);
}

void ApplyQueue::Abandon() {
  CHECK_ON_STRAND(strand_);
  is_abandoned_ = true;
  if (timer_ != kNoTimer) strand_->Cancel(timer_);
  timer_ = kNoTimer;
  waiting_.clear();
  waiting_bytes_ = 0;
  engine_ = nullptr;
}

}  // namespace arion
