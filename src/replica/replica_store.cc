// SPDX-License-Identifier: Apache-2.0
#include "replica/replica_store.h"

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "base/status.h"
#include "disks/app_info_file.h"
#include "disks/disk_watch.h"
#include "replica/replica_checkpoints.h"

namespace arion {

ReplicaStore::ReplicaStore(std::shared_ptr<const ReplicaHost> host, OpenedReplica& opened,
                           DiskWork& work, ReplicaFigures& figures, Hooks hooks)
    : host_(std::move(host)),
      directory_(opened.directory),
      disk_(opened.disk),
      info_(opened.info),
      engine_(std::move(opened.engine)),
      log_(std::move(opened.log)),
      work_(work),
      figures_(figures),
      hooks_(std::move(hooks)) {
  // Displays show the place and the engine from here on.
  figures_.SetPlace(host_->disks->layout.data_directories[disk_].tag,
                    log_ == nullptr ? nullptr : log_->gauges());
  figures_.SetEngine(engine_ == nullptr ? nullptr : engine_->meter());
}

void ReplicaStore::StoreHeld(const char* what, DiskWork::PoolWork store,
                             absl::AnyInvocable<void()> then) {
  hooks_.hold();
  work_.InPoolOnceThereIsRoom(
      std::make_shared<DiskWork::PoolWork>(std::move(store)),
      [this, what, then = std::move(then)](const absl::Status& status) mutable {
        if (is_closed_) return;
        if (!status.ok()) {
          hooks_.drop_held();
          // Without its state on disk a replica can't be a member any more.
          const std::string why = absl::StrCat("store ", what, ": ", status.ToString());
          host_->disks->watch->OnIoError(disk_, why);
          return hooks_.fence(why);
        }
        then();
        hooks_.release();
      });
}

void ReplicaStore::StoreInfo(InitInfo info, absl::AnyInvocable<void()> then) {
  StoreHeld(
      kInitInfoName,
      [&files = host_->env.files(), directory = directory_, info] {
        return StoreInitInfo(files, directory, info);
      },
      // The value that later changes start from is always the one on disk.
      [this, info, then = std::move(then)]() mutable {
        info_ = info;
        then();
      });
}

void ReplicaStore::StoreApp(const AppInfo& app) {
  StoreHeld(
      "the table's description",
      [&files = host_->env.files(), directory = directory_, app] {
        return StoreAppInfo(files, directory, app);
      },
      [] {});
}

void ReplicaStore::StoreBallot(Ballot ballot, std::optional<Standing> standing) {
  InitInfo info = info_;
  if (standing) info.is_learner = *standing == Standing::kLearner;
  if (standing == Standing::kMember) info.is_foreign = false;
  // No ballot but its parent's was known to it before.
  if (ballot > info.ballot) info.is_unborn = false;
  // Neither falls: a former value may have been promised already.
  info.ballot = std::max(info.ballot, ballot);
  info.durable = std::max(info.durable, engine_->last_durable());
  StoreInfo(info, [] {});
}

void ReplicaStore::ForgetSharedLog() {
  InitInfo info = info_;
  info.offset_in_shared_log = 0;
  StoreInfo(info, [] {});
}

void ReplicaStore::RestartLogAt(Decree applied, Decree behind) {
  hooks_.hold();
  // What is under way still belongs to the old content.
  work_.WhenQuiet([this, applied, behind] {
    InitInfo info = info_;
    info.durable = std::max(info.durable, applied);
    // All that a shared log has of this replica is void with the own log.
    info.offset_in_shared_log = host_->opening->SharedLogEnd();
    info.offset_in_private_log = log_->end_offset();
    info.is_learner = true;
    StoreHeld(
        kInitInfoName,
        [&files = host_->env.files(), directory = directory_, engine = engine_, info] {
          // Before it is said: no log brings it back.
          RETURN_IF_ERROR(engine->Flush());
          return StoreInitInfo(files, directory, info);
        },
        [this, info, behind] {
          info_ = info;
          log_->StartAnew(behind);
        });
    hooks_.release();
  });
}

void ReplicaStore::ExchangeEngine(uint64_t serial, Decree expected, DiskWork::PoolWork exchange) {
  if (hooks_.is_holding())  // .init-info may be about to be stored
    return work_.After(DiskWork::kNoSpacePause,
                       [this, serial, expected, exchange = std::move(exchange)]() mutable {
                         ExchangeEngine(serial, expected, std::move(exchange));
                       });
  // Held before views end: no read may open a new one in between.
  hooks_.hold();
  hooks_.end_views();
  work_.WhenQuiet([this, serial, expected, exchange = std::move(exchange)]() mutable {
    InitInfo info = info_;
    // What lies in data/ from here on is a learner's until the core says otherwise.
    info.is_learner = true;
    // The new content may stand lower than the old one; a larger mark would make it look
    // incomplete.
    info.durable = std::min(info.durable, expected);
    info.offset_in_shared_log = host_->opening->SharedLogEnd();
    info.offset_in_private_log = log_->end_offset();
    // Each step is repeated while the disk is full, and skipped once it has succeeded.
    struct Exchange {
      std::shared_ptr<Engine> old, fresh;
      DiskWork::PoolWork install;
    };
    auto state = std::make_shared<Exchange>(
        Exchange{.old = std::move(engine_), .install = std::move(exchange)});
    work_.InPoolOnceThereIsRoom(
        std::make_shared<DiskWork::PoolWork>([this, info, expected, state]() -> absl::Status {
          // First the log is void on disk, then the engine goes (replica_store/S1).
          if (state->old != nullptr) {
            RETURN_IF_ERROR(StoreInitInfo(host_->env.files(), directory_, info));
            RETURN_IF_ERROR(state->old->Close());
            state->old = nullptr;
          }
          if (state->install) {
            RETURN_IF_ERROR(state->install());
            state->install = nullptr;
          }
          ASSIGN_OR_RETURN(state->fresh, host_->opening->engines.Open(DataPathOf(directory_)));
          if (state->fresh->last_applied() == expected) return absl::OkStatus();
          return absl::DataLossError(absl::StrCat("the new content stands at decree ",
                                                  state->fresh->last_applied().value(), ", not at ",
                                                  expected.value()));
        }),
        [this, serial, info, state](const absl::Status& status) {
          OnExchanged(serial, info, std::move(state->fresh), status);
        });
  });
}

void ReplicaStore::OnExchanged(uint64_t serial, const InitInfo& info,
                               std::shared_ptr<Engine> engine, const absl::Status& status) {
  // Whatever the result, files of the former content must not be served as checkpoints.
  hooks_.on_content();
  if (is_closed_) {
    engine_ = std::move(engine);  // for Finish, which waits for this
    return;
  }
  if (!status.ok()) {
    LOG(ERROR) << hooks_.tag() << " new content: " << status;
    hooks_.drop_held();  // there is no engine to carry them out on
    return hooks_.on_exchange_failed(serial, status);
  }
  engine_ = std::move(engine);
  figures_.SetEngine(engine_->meter());
  info_ = info;
  // The log's new beginning, at the decree of the content that was just opened.
  log_->StartAnew(engine_->last_applied());
  hooks_.on_exchanged(serial);
  hooks_.release();
}

void ReplicaStore::Finish(CloseMode mode, std::vector<std::string> hot_keys,
                          absl::AnyInvocable<void(absl::Status)> done) {
  work_.InPool(
      [mode, engine = std::move(engine_), log = log_, keys = std::move(hot_keys), host = host_,
       directory = directory_]() mutable -> absl::Status {
        if (mode == CloseMode::kAsIs) return absl::OkStatus();
        KeepHotReads(host->env.files(), directory, keys);
        absl::Status closed = engine == nullptr ? absl::OkStatus() : engine->Close();
        // What a full disk did not let the engine write is in the log.
        if (closed.ok() || IsRefusal(closed)) closed.Update(log->Close());
        return closed;
      },
      [this, done = std::move(done)](const absl::Status& status) mutable {
        log_.reset();
        done(status);
      });
}

}  // namespace arion
