// SPDX-License-Identifier: Apache-2.0
#include "indexes/index_upkeep.h"

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "base/status.h"
#include "env/file_system.h"
#include "indexes/index_build.h"
#include "indexes/index_set.h"

namespace arion {

std::shared_ptr<void> IndexSlots::TryTake(std::atomic<int>& left) {
  int now = left.load();
  while (now > 0 && !left.compare_exchange_weak(now, now - 1)) {
  }
  if (now <= 0) return nullptr;
  return {this, [self = shared_from_this(), &left](void*) { ++left; }};
}

IndexUpkeep::IndexUpkeep(std::shared_ptr<IndexSlots> slots, const std::shared_ptr<Engine>& engine,
                         Hooks hooks)
    : slots_(std::move(slots)), engine_(engine), hooks_(std::move(hooks)) {}

IndexUpkeep::~IndexUpkeep() = default;

void IndexUpkeep::Consider() {
  // A job that ends looks again.
  if (is_closed_ || is_busy_ || engine_ == nullptr) return;
  const std::shared_ptr<IndexSet> indexes = engine_->indexes();
  if (indexes == nullptr) return;
  if (noted_.lock() != indexes) hooks_.note(indexes);
  noted_ = indexes;
  if (hooks_.is_quiet_awaited()) return ConsiderAfter(kTryAgain);
  // index_upkeep/U2: once they are told it is called again.
  if (!hooks_.is_told() && !indexes->Progress().empty()) return;
  if (!indexes->IsDefined(hooks_.wanted())) {
    hooks_.note(indexes);
    // A build is of one list.
    if (build_ != nullptr) return EndBuild();
    slot_ = slots_->TryDefine();
    return slot_ != nullptr ? Define(engine_) : ConsiderAfter(kDefineAgain);
  }
  if (build_ != nullptr) return StepOn();
  if (!indexes->IsToBeBuilt())
    return hooks_.wanted().empty() && !indexes->HasShipped()
               ? void()
               : RenewLater(indexes->options().look_every);
  if (!hooks_.is_member()) return ConsiderAfter(kLookAgain);
  slot_ = slots_->TryBuild();
  if (slot_ == nullptr) return ConsiderAfter(kTryAgain);
  Begin(engine_);
}

void IndexUpkeep::ConsiderAfter(absl::Duration delay) {
  if (std::exchange(is_looked_for_, true)) return;
  hooks_.after(delay, [this] {
    is_looked_for_ = false;
    Consider();
  });
}

void IndexUpkeep::RenewLater(absl::Duration delay) {
  if (std::exchange(is_renewed_later_, true)) return;
  hooks_.after(delay, [this] {
    is_renewed_later_ = false;
    RenewIfOutgrown();
  });
}

void IndexUpkeep::RenewIfOutgrown() {
  // Otherwise Consider is called anyway, which comes here again.
  if (is_closed_ || is_busy_ || build_ != nullptr || engine_ == nullptr) return;
  if (engine_->indexes() == nullptr || hooks_.is_quiet_awaited()) return Consider();
  is_busy_ = true;
  hooks_.in_bulk_pool(
      [engine = engine_, tag = hooks_.tag()]() -> absl::Status {
        IndexSet& indexes = *engine->indexes();
        RETURN_IF_ERROR(indexes.RemoveShipped());
        if (!indexes.IsOutgrown(*engine)) return absl::OkStatus();
        LOG(INFO) << tag << " its indexes are built anew: entries of former fields take much room";
        return indexes.Renew(*engine);
      },
      [this](const absl::Status& status) { Returned(nullptr, status); });
}

void IndexUpkeep::Define(std::shared_ptr<Engine> engine) {
  is_busy_ = true;
  hooks_.in_bulk_pool(
      [engine = std::move(engine), wanted = hooks_.wanted()] {
        return engine->indexes()->Define(wanted, *engine);
      },
      [this](const absl::Status& status) { Returned(nullptr, status); });
}

void IndexUpkeep::Begin(std::shared_ptr<Engine> engine) {
  is_busy_ = true;
  auto begun = std::make_shared<std::unique_ptr<IndexBuild>>();
  hooks_.in_bulk_pool(
      [engine = std::move(engine), begun]() -> absl::Status {
        ASSIGN_OR_RETURN(*begun, engine->indexes()->BeginBuild(*engine));
        return absl::OkStatus();
      },
      [this, begun](const absl::Status& status) mutable {
        // What a former life has read is no debt.
        paced_bytes_ = *begun == nullptr ? 0 : (*begun)->bytes();
        Returned(std::move(*begun), status);
      });
}

void IndexUpkeep::StepOn() {
  const uint64_t read = build_->bytes() - std::min(build_->bytes(), paced_bytes_);
  paced_bytes_ = build_->bytes();
  const absl::Duration rest = read == 0 ? absl::ZeroDuration() : hooks_.pace(read);
  return rest == absl::ZeroDuration() ? Step() : ConsiderAfter(rest);
}

void IndexUpkeep::Step() {
  is_busy_ = true;
  // In the pool it is the job's: EndBuild must find none here.
  auto build = std::make_shared<std::unique_ptr<IndexBuild>>(std::move(build_));
  hooks_.in_bulk_pool(
      [build, engine = engine_] {
        const absl::Status status = (*build)->Step(engine->indexes()->options().step_records);
        const bool has_failed = !status.ok() && !IsRefusal(status) && !absl::IsUnavailable(status);
        // Whatever it holds goes here, not on the strand.
        if ((*build)->is_done() || has_failed) *build = nullptr;
        // What of it is in the store is not known: the same again might never succeed.
        if (has_failed) engine->indexes()->Abandon(status);
        return status;
      },
      [this, build](const absl::Status& status) {
        LOG_IF(INFO, *build == nullptr && status.ok()) << hooks_.tag() << " its indexes are built";
        Returned(std::move(*build), status);
      });
}

// From the pool.
void IndexUpkeep::Returned(std::unique_ptr<IndexBuild> build, const absl::Status& status) {
  is_busy_ = false;
  build_ = std::move(build);
  if (build_ == nullptr) slot_ = nullptr;
  if (std::exchange(is_ending_, false) && build_ != nullptr) return EndBuild();
  if (status.ok()) return Consider();
  if (is_closed_) return;
  LOG(WARNING) << hooks_.tag() << " indexes: " << status << ", tried again";
  ConsiderAfter(IsRefusal(status) ? kTryAgain : kLookAgain);
}

void IndexUpkeep::EndBuild() {
  if (is_busy_) {
    is_ending_ = true;
    return;
  }
  if (build_ == nullptr) return;
  is_busy_ = true;
  // What it holds is let go of in the pool: there are files to be removed. The next build uses the
  // same names, so it waits for that.
  hooks_.in_bulk_pool(
      [build = std::shared_ptr<IndexBuild>(std::move(build_))]() mutable {
        build = nullptr;
        return absl::OkStatus();
      },
      [this](const absl::Status& status) { Returned(nullptr, status); });
}

void IndexUpkeep::Close() {
  is_closed_ = true;
  EndBuild();
}

}  // namespace arion
