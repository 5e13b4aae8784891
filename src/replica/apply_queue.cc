// SPDX-License-Identifier: Apache-2.0
#include "replica/apply_queue.h"

#include <algorithm>
#include <utility>

#include "base/status.h"
#include "data_api/mutation_operations.h"
#include "env/file_system.h"

namespace arion {
namespace {

// Where an apply runs: on the strand it must not wait, neither for a record nor for the engine.
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

void ApplyQueue::Apply(std::shared_ptr<Engine> engine, const std::vector<MutationPtr>& mutations,
                       Urgency urgency) {
  CHECK_ON_STRAND(strand_);
  if (is_abandoned_) return;
  engine_ = std::move(engine);
  urgency_ = urgency;
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
  // One job for all: each job costs a change of threads, and nobody waits for a learner's applies.
  if (urgency_ == Urgency::kLast && !waiting_.empty()) {
    is_held_ = true;
    return ApplyInPool(waiting_.size());
  }
  // One report for all that were applied in this turn.
  Decree applied = kInvalidDecree;
  absl::Status status;
  while (!waiting_.empty()) {
    status = ApplyTo(*engine_, *waiting_.front(), Place::kStrand);
    if (!status.ok()) break;
    applied = waiting_.front()->decree;
    // Before the next mutation changes the content.
    if (view_.take != nullptr) OfferView(applied);
    PopFirst();
  }
  if (waiting_.empty()) engine_ = nullptr;
  is_held_ = !status.ok();  // before the hook, which may come back with more
  if (applied != kInvalidDecree) hooks_.on_applied(applied);
  if (status.ok() || is_abandoned_) return;
  // The first one alone goes to the pool; those behind it may succeed on the strand again.
  if (absl::IsUnavailable(status) || IsRefusal(status)) return ApplyInPool(1);
  Fail(status);
}

void ApplyQueue::ApplyInPool(size_t count) {
  struct Batch {
    std::vector<MutationPtr> mutations;
    size_t applied = 0;
  };
  auto batch = std::make_shared<Batch>();
  // Copies of the pointers: the queue may grow while the pool works.
  batch->mutations.assign(waiting_.begin(), waiting_.begin() + static_cast<ptrdiff_t>(count));
  const InPool& in_pool = urgency_ == Urgency::kLast ? hooks_.in_bulk_pool : hooks_.in_disk_pool;
  in_pool(
      [engine = engine_, batch] {
        for (const MutationPtr& mutation : batch->mutations) {
          RETURN_IF_ERROR(ApplyTo(*engine, *mutation, Place::kPool));
          ++batch->applied;
        }
        return absl::OkStatus();
      },
      [self = weak_from_this(), batch](const absl::Status& status) {
        if (const auto queue = self.lock()) queue->OnAppliedInPool(batch->applied, status);
      });
}

void ApplyQueue::OnAppliedInPool(size_t applied, const absl::Status& status) {
  // The engine may be exchanged by now, and waiting_ is empty.
  if (is_abandoned_) return;
  Decree last = kInvalidDecree;
  for (; applied > 0; --applied) {
    last = waiting_.front()->decree;
    PopFirst();
  }
  // While it was held nothing else was applied, so the content still stands at `last`.
  if (last != kInvalidDecree && view_.take != nullptr) OfferView(last);
  is_held_ = !status.ok();  // before the hook, which may come back with more
  if (last != kInvalidDecree) {
    pause_ = kPauseMin;
    hooks_.on_applied(last);
    if (is_abandoned_) return;
  }
  if (IsRefusal(status)) hooks_.on_no_space(status);
  // Unavailable in a pool: the engine does not take it now, so pause as for a want of space.
  if (IsRefusal(status) || absl::IsUnavailable(status)) return Pause();
  if (!status.ok()) return Fail(status);
  if (!is_held_) Pump();
}

void ApplyQueue::ViewAt(Decree decree, const std::shared_ptr<Engine>& engine, TakeView take) {
  CHECK_ON_STRAND(strand_);
  view_ = {.at = decree, .take = std::move(take)};
  if (is_abandoned_) return;
  // Lent for the moment of the offer: the engine is not kept by an idle queue.
  if (waiting_.empty()) {
    engine_ = engine;
    OfferView(engine->last_applied());
    engine_ = nullptr;
  } else if (const Decree next = waiting_.front()->decree; decree < next) {
    OfferView(next);  // a pool may be at it
  }
}

// The engine holds what is up to `applied`. Behind the wanted decree the view would be of another
// content, so null is offered.
void ApplyQueue::OfferView(Decree applied) {
  if (applied < view_.at) return;
  const TakeView take = std::exchange(view_.take, nullptr);
  take(applied == view_.at ? engine_->View() : nullptr);
}

void ApplyQueue::Pause() {
  timer_ = strand_->PostAfter(pause_, [self = weak_from_this()] {
    const auto queue = self.lock();
    if (queue == nullptr || queue->is_abandoned_) return;
    queue->timer_ = kNoTimer;
    // One is enough to see whether there is room again.
    queue->ApplyInPool(1);
  });
  pause_ = std::min(2 * pause_, kPauseMax);
}

void ApplyQueue::Fail(const absl::Status& status) {
  const Decree decree = waiting_.front()->decree;
  // Before the hook, which closes the replica: it must not find work that goes on.
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
  view_.take = nullptr;
}

}  // namespace arion
