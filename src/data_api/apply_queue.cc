// SPDX-License-Identifier: Apache-2.0
#include "data_api/apply_queue.h"

#include <algorithm>
#include <utility>

#include "base/status.h"
#include "env/file_system.h"

namespace arion {
namespace {

// In a pool, where it may wait. After an error the first ones are applied.
absl::Status ApplyInBatches(Engine& engine, absl::Span<const MutationPtr> mutations) {
  MutationBatch batch;
  for (const MutationPtr& mutation : mutations) {
    if (!batch.MayTake(*mutation)) {
      RETURN_IF_ERROR(engine.ApplyAll(batch.mutations()));
      batch.Clear();
    }
    if (absl::Status added = batch.Add(*mutation, engine, ReadTier::kAll); !added.ok()) {
      RETURN_IF_ERROR(engine.ApplyAll(batch.mutations()));
      return added;
    }
  }
  return engine.ApplyAll(batch.mutations());
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

bool ApplyQueue::MayGather() const {
  return urgency_ == Urgency::kLater && view_.take == nullptr && waiting_bytes_ < kGatheredBytes &&
         waiting_.size() < MutationBatch::kMutationsMax;
}

void ApplyQueue::Pump() {
  if (waiting_.empty()) return;
  // One job for all: each job costs a change of threads, and nobody waits for a learner's applies.
  if (urgency_ == Urgency::kLast) {
    is_held_ = true;
    return ApplyInPool(waiting_.size());
  }
  if (MayGather()) return ApplyLater();
  ApplyHere();
}

void ApplyQueue::CatchUp() {
  CHECK_ON_STRAND(strand_);
  if (!is_held_ && !waiting_.empty()) ApplyHere();
}

// One timer, which is never cancelled for what was applied meanwhile: the next to be gathered are
// applied by it a little sooner.
void ApplyQueue::ApplyLater() {
  if (later_ != kNoTimer) return;
  later_ = strand_->PostAfter(kGatheredFor, [self = weak_from_this()] {
    const auto queue = self.lock();
    if (queue == nullptr || queue->is_abandoned_) return;
    queue->later_ = kNoTimer;
    queue->CatchUp();
  });
}

// One report for all that were applied in this turn.
void ApplyQueue::ApplyHere() {
  const Decree before = engine_->last_applied();
  absl::Status status;
  while (!waiting_.empty() && status.ok()) status = ApplyBatchHere();
  const Decree applied = engine_->last_applied();
  if (waiting_.empty()) engine_ = nullptr;
  is_held_ = !status.ok();  // before the hook, which may come back with more
  if (applied > before) hooks_.on_applied(applied);
  if (status.ok() || is_abandoned_) return;
  // The first one alone goes to the pool; those behind it may succeed on the strand again.
  if (absl::IsUnavailable(status) || IsRefusal(status)) return ApplyInPool(1);
  Fail(status);
}

absl::Status ApplyQueue::ApplyBatchHere() {
  absl::Status added;
  for (size_t next = 0; next < waiting_.size() && batch_.MayTake(*waiting_[next]); ++next) {
    // On the strand it must not wait, neither for a record nor for the engine.
    added = batch_.Add(*waiting_[next], *engine_, ReadTier::kCacheOnly);
    if (!added.ok()) break;
    // The next mutation would change the content.
    if (view_.take != nullptr && waiting_[next]->decree >= view_.at) break;
  }
  const absl::Status applied = engine_->TryApplyAll(batch_.mutations());
  batch_.Clear();
  const Decree last = engine_->last_applied();
  while (!waiting_.empty() && waiting_.front()->decree <= last) PopFirst();
  if (view_.take != nullptr) OfferView(last);
  return applied.ok() ? added : applied;
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
        const Decree before = engine->last_applied();
        absl::Status status = ApplyInBatches(*engine, batch->mutations);
        batch->applied = static_cast<size_t>(engine->last_applied() - before);
        return status;
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
  } else {
    CatchUp();
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
  for (TimerId* timer : {&timer_, &later_})
    if (*timer != kNoTimer) strand_->Cancel(std::exchange(*timer, kNoTimer));
  waiting_.clear();
  waiting_bytes_ = 0;
  engine_ = nullptr;
  view_.take = nullptr;
}

}  // namespace arion
