// A replica's checkpoints, its cache after a restart, and its end.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "base/log.h"
#include "base/status.h"
#include "client_requests/hot_reads.h"
#include "replica/replica.h"

namespace arion {
namespace {

constexpr absl::Duration kReplayWatchPeriod = absl::Seconds(1);
// A cache is warmed by so many reads, then so long by none: little beside what clients read.
constexpr size_t kWarmedAtOnce = 16;
constexpr absl::Duration kWarmPause = absl::Milliseconds(100);

void KeepHotReads(FileSystem& files, const std::string& directory,
                  const std::vector<std::string>& keys) {
  if (keys.empty()) return;
  const absl::Status stored = StoreHotReads(files, directory, keys);
  LOG_IF(WARNING, !stored.ok()) << "the next start's cache stays cold: " << stored;
}

}  // namespace

// ---- checkpoints ----

void Replica::ScheduleCheckpoint(absl::Duration delay) {
  if (checkpoint_timer_ != kNoTimer) strand_->Cancel(checkpoint_timer_);
  checkpoint_timer_ = strand_->PostAfter(delay, [self = weak_from_this()] {
    const auto replica = self.lock();
    if (replica == nullptr || replica->office_.IsClosed()) return;
    replica->checkpoint_timer_ = kNoTimer;
    replica->CheckpointIfNeeded();
    replica->verifying_.Consider();
    replica->ScheduleCheckpoint(replica->host_->options.checkpoint_interval);
  });
}

// Only while something is appended: an idle replica keeps no timer.
void Replica::WatchReplay() {
  if (is_replay_watched_) return;
  is_replay_watched_ = true;
  After(kReplayWatchPeriod, [](Replica& r) {
    r.is_replay_watched_ = false;
    if (r.log_->EstimatedReplay(r.core_->marks().last_durable) > r.host_->options.replay_max)
      r.CheckpointIfNeeded();
  });
}

void Replica::CheckpointNow() {
  CHECK_ON_STRAND(strand_);
  if (!office_.IsClosed()) CheckpointIfNeeded();
}

void Replica::CheckpointIfNeeded() {
  if (!office_.IsMember()) return;
  if (holds_ > 0 || is_checkpointing_) return;
  // Without a new write too the log may go: whom it was kept for is gone, or too long away.
  if (engine_->last_applied() <= engine_->last_durable())
    return DropUnneededLog(engine_->last_durable());
  is_checkpointing_ = true;
  Maintain(
      [keys = reads_.HotKeys(), host = host_, directory = directory_](Engine& engine) {
        KeepHotReads(host->env.files(), directory, keys);
        return engine.Checkpoint().status();
      },
      [this](const absl::Status& status) {
        is_checkpointing_ = false;
        if (status.ok()) return OnDurable(engine_->last_durable());
        if (IsRefusal(status)) {
          OnNoSpace("a checkpoint", status);
          return ScheduleCheckpoint(kCheckpointAgain);
        }
        const std::string why = absl::StrCat("checkpoint: ", status.ToString());
        host_->disks->watch->OnIoError(disk_, why);
        Fence(why);
      });
}

void Replica::FlushReplayed(std::shared_ptr<void> until_flushed) {
  CHECK_ON_STRAND(strand_);
  if (office_.IsClosed()) return;
  Maintain([](Engine& engine) { return engine.Flush(); },
           [this, until_flushed = std::move(until_flushed)](const absl::Status& status) {
             // A disk that is full or broken is told of by the next checkpoint.
             LOG_IF(WARNING, !status.ok()) << Tag() << " flush after the replay: " << status;
           });
}

// ---- the cache after a restart ----

void Replica::WarmFromHotReads() {
  auto keys = std::make_shared<std::vector<std::string>>();
  InPool(
      [keys, host = host_, directory = directory_]() -> absl::Status {
        ASSIGN_OR_RETURN(*keys, LoadHotReads(host->env.files(), directory));
        return absl::OkStatus();
      },
      [this, keys](const absl::Status& status) {
        if (status.ok()) return WarmCache(keys, 0);
        LOG_IF(WARNING, !absl::IsNotFound(status)) << Tag() << " the cache stays cold: " << status;
      });
}

void Replica::WarmCache(std::shared_ptr<const std::vector<std::string>> keys, size_t from) {
  if (office_.IsClosed() || from >= keys->size()) return;
  After(kWarmPause, [keys = std::move(keys), from](Replica& replica) {
    if (replica.engine_ == nullptr) return;
    const size_t end = std::min(keys->size(), from + kWarmedAtOnce);
    replica.InPool(
        [keys, from, end, engine = replica.engine_, host = replica.host_] {
          const uint32_t now = ExpiryNow(host->env.clock());
          for (size_t i = from; i < end; ++i)
            if (engine->Get((*keys)[i], now, ReadTier::kAll).ok())
              host->opening->replay->warmed_keys.Add();
          return absl::OkStatus();
        },
        [&replica, keys, end](const absl::Status&) { replica.WarmCache(keys, end); });
  });
}

void Replica::OnDurable(Decree decree) {
  // An apply in the pool may have reached the engine and not the core.
  Step(DurableAdvanced{std::min(decree, core_->marks().last_applied)});
  if (!office_.IsClosed()) DropUnneededLog(decree);
}

void Replica::DropUnneededLog(Decree durable) {
  // An older version left this table duplicated: how far its target is is not known here.
  if (core_->app().duplicating && host_->options.log_keep_duplicated) return;
  LogNeeds needs{.checkpoint = std::min(durable, core_->marks().last_applied),
                 .for_member = host_->options.log_for_member};
  // Neither when a learner, or a member that comes back, gets a checkpoint anyway.
  const Decree first = core_->FirstLogDecreeNeeded();
  if (!core_->learners().empty() && CoverageFrom(first) == LogCoverage::kCovered)
    needs.learner = first - 1;
  // Its copy may stand still: before the log outgrows the data, another copy is the lesser evil.
  needs.for_learner.bytes_max =
      std::max(needs.for_member.bytes_max, engine_ != nullptr ? engine_->size_bytes() : 0);
  const std::optional<Decree> known = core_->KnownToAllMembers();
  if (known && CoverageFrom(*known + 1) == LogCoverage::kCovered) needs.member = known;
  log_->DropUnneeded(needs);
}

// ---- closing ----

void Replica::StepDown() {
  CHECK_ON_STRAND(strand_);
  if (office_.IsClosed() || has_stepped_down_ || !office_.IsPrimaryOfOthers()) return;
  has_stepped_down_ = true;
  Step(ProposalReceived{{.info = core_->app(),
                         .config = core_->configuration(),
                         .type = ConfigType::kDowngradeToSecondary,
                         .node = host_->self}});
}

bool Replica::HoldsOffice() const {
  CHECK_ON_STRAND(strand_);
  return office_.IsHeld();
}

void Replica::Close(CloseMode mode, absl::AnyInvocable<void(absl::Status)> done) {
  CHECK_ON_STRAND(strand_);
  office_.Close();
  on_close_ = nullptr;
  if (wakeup_timer_ != kNoTimer) strand_->Cancel(wakeup_timer_);
  if (checkpoint_timer_ != kNoTimer) strand_->Cancel(checkpoint_timer_);
  if (fetcher_ != nullptr) fetcher_->Cancel();
  effects_.clear();
  work_.Close();
  compaction_.Close();
  applies_->Abandon();
  writes_.Close();
  admission_.Close();
  reads_.Close();
  verifying_.Close();
  host_->verifications->NotPrimaryAnyMore(pid_);
  // A primary goes on without a member that refuses; for one that is silent its writes would wait.
  for (auto& [token, responder] : std::exchange(peers_, {}))
    responder.Reply(ErrorCode::kInvalidState);
  source_.KeepOnly({});
  // First the log: what waits there for space must not be waited for.
  log_->Drain([self = shared_from_this(), mode, done = std::move(done)]() mutable {
    self->work_.WhenQuiet([self = self.get(), mode, done = std::move(done)]() mutable {
      self->FinishClose(mode, std::move(done));
    });
  });
}

void Replica::FinishClose(CloseMode mode, absl::AnyInvocable<void(absl::Status)> done) {
  InPool(
      [mode, engine = std::move(engine_), log = log_, keys = reads_.HotKeys(), host = host_,
       directory = directory_]() mutable -> absl::Status {
        if (mode == CloseMode::kAsIs) return absl::OkStatus();
        KeepHotReads(host->env.files(), directory, keys);
        absl::Status closed = engine == nullptr ? absl::OkStatus() : engine->Close();
        // What a full disk did not let the engine write is in the log.
        if (closed.ok() || IsRefusal(closed)) closed.Update(log->Close());
        return closed;
      },
      [self = shared_from_this(), done = std::move(done)](const absl::Status& status) mutable {
        self->log_.reset();
        done(status);
      });
}

}  // namespace arion
