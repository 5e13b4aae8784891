// SPDX-License-Identifier: Apache-2.0
#include "replica/disk_work.h"

#include <utility>

#include "base/log.h"
#include "base/status.h"
#include "disks/disk_watch.h"
#include "engine/engine.h"
#include "replica/replica_host.h"

namespace arion {

DiskWork::DiskWork(std::shared_ptr<const ReplicaHost> host, StrandPtr strand, std::string directory,
                   size_t disk, const std::shared_ptr<Engine>& engine, Hooks hooks)
    : host_(std::move(host)),
      strand_(std::move(strand)),
      directory_(std::move(directory)),
      disk_(disk),
      engine_(engine),
      hooks_(std::move(hooks)) {}

void DiskWork::InPool(PoolWork work, Then then) {
  RunIn(host_->env.disk_pool(directory_), std::move(work), std::move(then));
}

void DiskWork::InBulkPool(PoolWork work, Then then) {
  RunIn(host_->env.bulk_pool(directory_), std::move(work), std::move(then));
}

void DiskWork::RunIn(DiskPool& pool, PoolWork work, Then then) {
  // Holds the owner: work in a pool may use what the owner owns.
  ++jobs_;
  std::shared_ptr<void> owner = hooks_.owner().lock();
  CHECK(owner != nullptr) << hooks_.tag();
  pool.Submit(
      [this, owner = std::move(owner), work = std::move(work), then = std::move(then)]() mutable {
        absl::Status status = work();
        work = nullptr;  // lets go of the engine here, not on the strand
        StrandPtr strand = strand_;
        strand->Post([this, owner = std::move(owner), status = std::move(status),
                      then = std::move(then)]() mutable {
          --jobs_;
          then(std::move(status));
          CheckQuiet();
        });
      });
}

void DiskWork::InPoolOnceThereIsRoom(std::shared_ptr<PoolWork> work, Then then) {
  InPool([work] { return (*work)(); },
         [this, work, then = std::move(then)](const absl::Status& status) mutable {
           // A refusal passes: the same work is done again, so it must be repeatable.
           if (!IsRefusal(status)) return then(status);
           if (is_closed_) return;
           OnNoSpace("the replica's state", status);
           After(kNoSpacePause, [this, work, then = std::move(then)]() mutable {
             InPoolOnceThereIsRoom(work, std::move(then));
           });
         });
}

void DiskWork::OnNoSpace(std::string_view what, const absl::Status& status) {
  LOG_EVERY_N(WARNING, 20) << hooks_.tag() << " no " << NameOf(WantOf(status)) << " for " << what
                           << ", tried again: " << status;
  host_->disks->watch->OnNoSpace(disk_, status);
}

void DiskWork::After(absl::Duration delay, absl::AnyInvocable<void()> task) {
  strand_->PostAfter(delay, [this, weak = hooks_.owner(), task = std::move(task)]() mutable {
    const std::shared_ptr<void> owner = weak.lock();
    if (owner != nullptr && !is_closed_) task();
  });
}

void DiskWork::Maintain(EngineWork work, Then then) {
  MaintainIn(host_->env.flush_pool(directory_), std::move(work), std::move(then));
}

void DiskWork::MaintainInBulkPool(EngineWork work, Then then) {
  MaintainIn(host_->env.bulk_pool(directory_), std::move(work), std::move(then));
}

void DiskWork::MaintainIn(DiskPool& pool, EngineWork work, Then then) {
  hooks_.catch_up();
  maintenance_.push_back({pool, std::move(work), std::move(then)});
  StartMaintenance();
}

void DiskWork::StartMaintenance() {
  // Not while somebody waits for quiet: maintenance may take long, and comes again after it.
  if (is_maintaining_ || maintenance_.empty() || !when_quiet_.empty() || engine_ == nullptr) return;
  is_maintaining_ = true;
  Maintenance next = std::move(maintenance_.front());
  maintenance_.pop_front();
  // The engine as it is now, not as it was when the work was asked for.
  RunIn(
      next.pool,
      [engine = engine_, work = std::move(next.work)]() mutable { return work(*engine); },
      [this, then = std::move(next.then)](const absl::Status& status) mutable {
        is_maintaining_ = false;
        then(status);
        StartMaintenance();
      });
}

void DiskWork::WhenQuiet(absl::AnyInvocable<void()> then) {
  when_quiet_.push_back(std::move(then));
  // Long jobs end early, so that the wish does not wait for a whole compaction.
  hooks_.on_quiet_wish();
  hooks_.catch_up();
  CheckQuiet();
}

void DiskWork::CheckQuiet() {
  // One at a time: `then` may start work, or close.
  while (!when_quiet_.empty() && jobs_ == 0 && hooks_.is_quiet()) {
    absl::AnyInvocable<void()> then = std::move(when_quiet_.front());
    when_quiet_.pop_front();
    then();
  }
  if (!is_closed_) StartMaintenance();
}

void DiskWork::Close() {
  // Jobs that are under way finish; their `then` runs, and finds the replica closed.
  is_closed_ = true;
  maintenance_.clear();
  when_quiet_.clear();
}

}  // namespace arion
