// SPDX-License-Identifier: Apache-2.0
#include "replica/replica_checkpoints.h"

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "base/status.h"
#include "client_requests/hot_reads.h"
#include "copies/learn_source.h"
#include "disks/disk_watch.h"
#include "env/clock.h"
#include "pacifica/invariants.h"
#include "recovery/replica_opener.h"
#include "replica/replica_office.h"

namespace arion {
namespace {

constexpr absl::Duration kAgain = absl::Seconds(5);  // after one that lacked space, or something
constexpr absl::Duration kReplayWatchPeriod = absl::Seconds(1);
// A cache is warmed by so many reads, then so long by none: little beside what clients read.
constexpr size_t kWarmedAtOnce = 16;
constexpr absl::Duration kWarmPause = absl::Milliseconds(100);

}  // namespace

void KeepHotReads(FileSystem& files, const std::string& directory,
                  const std::vector<std::string>& keys) {
  if (keys.empty()) return;
  const absl::Status stored = StoreHotReads(files, directory, keys);
  LOG_IF(WARNING, !stored.ok()) << "the next start's cache stays cold: " << stored;
}

ReplicaCheckpoints::ReplicaCheckpoints(std::shared_ptr<const ReplicaHost> host, StrandPtr strand,
                                       std::string directory, size_t disk, size_t log_disk,
                                       const ReplicaCore& core, const ReplicaOffice& office,
                                       DiskWork& work, const std::shared_ptr<Engine>& engine,
                                       const std::shared_ptr<PrivateLog>& log, Hooks hooks)
    : host_(std::move(host)),
      strand_(std::move(strand)),
      directory_(std::move(directory)),
      disk_(disk),
      log_disk_(log_disk),
      core_(core),
      office_(office),
      work_(work),
      engine_(engine),
      log_(log),
      hooks_(std::move(hooks)) {}

void ReplicaCheckpoints::Start() {
  // Spread over the interval, so that the replicas of a server don't flush all at once.
  const int64_t interval_ms = absl::ToInt64Milliseconds(host_->options.checkpoint_interval);
  Schedule(absl::Milliseconds(interval_ms / 2 + static_cast<int64_t>(host_->env.random().Below(
                                                    static_cast<uint64_t>(interval_ms / 2 + 1)))));
}

void ReplicaCheckpoints::Close() {
  if (timer_ != kNoTimer) strand_->Cancel(timer_);
}

void ReplicaCheckpoints::Schedule(absl::Duration delay) {
  if (timer_ != kNoTimer) strand_->Cancel(timer_);
  timer_ = strand_->PostAfter(delay, [this, weak = hooks_.owner()] {
    const std::shared_ptr<void> owner = weak.lock();
    if (owner == nullptr || office_.IsClosed()) return;
    timer_ = kNoTimer;
    MakeIfNeeded();
    hooks_.on_interval();
    Schedule(host_->options.checkpoint_interval);
  });
}

// Only while something is appended: an idle replica keeps no timer.
void ReplicaCheckpoints::WatchReplay() {
  if (is_replay_watched_) return;
  is_replay_watched_ = true;
  work_.After(kReplayWatchPeriod, [this] {
    is_replay_watched_ = false;
    if (log_->EstimatedReplay(core_.marks().last_durable) > host_->options.replay_max)
      MakeIfNeeded();
  });
}

void ReplicaCheckpoints::Renew() {
  is_to_be_renewed_ = true;
  MakeIfNeeded();
}

void ReplicaCheckpoints::MakeIfNeeded() {
  if (!office_.IsMember()) return;
  // Effects that wait for the disk must not find a checkpoint of a content that they replace.
  if (hooks_.is_holding() || is_under_way_) return;
  // Without a new write the log may shrink, too: whoever it was kept for may be gone, or too long
  // away.
  if (!is_to_be_renewed_ && engine_->last_applied() <= engine_->last_durable())
    return DropUnneededLog(engine_->last_durable());
  is_under_way_ = true;
  const auto is_renewed = std::make_shared<bool>(false);
  work_.Maintain(
      [keys = hooks_.hot_keys(), host = host_, directory = directory_, renews = is_to_be_renewed_,
       is_renewed](Engine& engine) -> absl::Status {
        // With each checkpoint, so that a killed server warms its cache as well.
        KeepHotReads(host->env.files(), directory, keys);
        if (!renews) return engine.Checkpoint().status();
        ASSIGN_OR_RETURN(*is_renewed, engine.RenewCheckpoints());
        // Somebody copies from the newest one: the next time, then.
        return *is_renewed ? absl::OkStatus() : engine.Checkpoint().status();
      },
      [this, is_renewed](const absl::Status& status) {
        is_under_way_ = false;
        if (*is_renewed) is_to_be_renewed_ = false;
        if (status.ok()) return OnDurable(engine_->last_durable());
        if (IsRefusal(status)) {
          work_.OnNoSpace("a checkpoint", status);
          return Schedule(kAgain);
        }
        const std::string why = absl::StrCat("checkpoint: ", status.ToString());
        host_->disks->watch->OnIoError(disk_, why);
        hooks_.fence(why);
      });
}

void ReplicaCheckpoints::FlushReplayed(std::shared_ptr<void> until_flushed) {
  work_.Maintain([](Engine& engine) { return engine.Flush(); },
                 [this, until_flushed = std::move(until_flushed)](const absl::Status& status) {
                   // If the disk is full or broken, the next checkpoint reports it.
                   LOG_IF(WARNING, !status.ok())
                       << hooks_.tag() << " flush after the replay: " << status;
                 });
}

void ReplicaCheckpoints::OnDurable(Decree decree) {
  // An apply in the pool may have reached the engine and not the core.
  hooks_.step(DurableAdvanced{std::min(decree, core_.marks().last_applied)});
  if (!office_.IsClosed()) DropUnneededLog(decree);
}

// ---- the log ----

bool ReplicaCheckpoints::CanReadFrom(Decree start) const {
  return log_->Covers(start) && start > log_damaged_through_;
}

LogCoverage ReplicaCheckpoints::CoverageFrom(Decree start) const {
  if (!CanReadFrom(start)) return LogCoverage::kDropped;
  // A checkpoint that does not reach `start` can't replace the log.
  const bool has_checkpoint = engine_ != nullptr && start <= engine_->last_durable();
  return has_checkpoint &&
                 CheckpointIsCheaper(log_->EstimatedReplay(start - 1), engine_->size_bytes())
             ? LogCoverage::kDropped
             : LogCoverage::kCovered;
}

void ReplicaCheckpoints::DropUnneededLog(Decree durable) {
  // What the directory remembers may be from before the table was duplicated.
  if (core_.app_serial() == kAppRemembered) return;
  const std::optional<Decree> duplicated = hooks_.duplicated();
  // How far other clusters have come is not known here, or not yet.
  if (core_.app().duplicating && !duplicated && host_->options.log_keep_duplicated) return;
  // Not beyond what the core knows to be applied (see OnDurable).
  LogNeeds needs{.checkpoint = std::min(durable, core_.marks().last_applied),
                 .for_member = host_->options.log_for_member,
                 .for_other_cluster = host_->options.log_for_other_cluster};
  // A learner, or a member that comes back, holds nothing of the log if it gets a checkpoint
  // anyway.
  const Decree first = core_.FirstLogDecreeNeeded();
  if (!core_.learners().empty() && CoverageFrom(first) == LogCoverage::kCovered)
    needs.learner = first - 1;
  if (const std::optional<Decree> child = hooks_.needed_by_child())
    needs.learner = std::min(needs.learner.value_or(*child), *child);
  // A learner's copy may stand still. Before the log outgrows the data, a new copy is the lesser
  // evil.
  needs.for_learner.bytes_max =
      std::max(needs.for_member.bytes_max, engine_ != nullptr ? engine_->size_bytes() : 0);
  needs.other_cluster = duplicated;
  const std::optional<Decree> known = core_.KnownToAllMembers();
  if (known && CoverageFrom(*known + 1) == LogCoverage::kCovered) needs.member = known;
  log_->DropUnneeded(needs);
}

// Fencing would cost the group a member that serves well: it has applied, or holds in its prepare
// list, whatever can't be read. What needs that piece of the log is a start before the next write,
// which is made here, and the checkpoint behind it, and learners, who get checkpoints from now on.
// It goes when that is durable.
void ReplicaCheckpoints::OnLogDamaged(const absl::Status& status) {
  if (office_.IsClosed()) return;
  LOG(ERROR) << hooks_.tag()
             << " a part of the log can't be read, checkpoints take its place: " << status;
  host_->disks->watch->OnIoError(log_disk_, absl::StrCat("log read: ", status.ToString()));
  log_damaged_through_ = core_.marks().last_prepared;
  log_->LeaveFile();  // a start reads the newest file whatever a checkpoint holds
  WriteBehindDamage();
  MakeIfNeeded();
  // Again soon: for what was not committed yet, or because the checkpoint had to wait.
  Schedule(kAgain);  // of what was not committed, or where that one had to wait
}

// A table that nobody writes to gets an empty write: its record begins the next file, and says
// under which ballot this replica was a member.
void ReplicaCheckpoints::WriteBehindDamage() {
  if (core_.marks().last_prepared > log_damaged_through_) return;
  if (core_.WriteGate() == ErrorCode::kOk) hooks_.write_nothing();
  work_.After(kAgain, [this] { WriteBehindDamage(); });
}

// ---- the cache after a restart ----

void ReplicaCheckpoints::WarmCache() {
  auto keys = std::make_shared<std::vector<std::string>>();
  work_.InPool(
      [keys, host = host_, directory = directory_]() -> absl::Status {
        ASSIGN_OR_RETURN(*keys, LoadHotReads(host->env.files(), directory));
        return absl::OkStatus();
      },
      [this, keys](const absl::Status& status) {
        if (status.ok()) return WarmCache(keys, 0);
        LOG_IF(WARNING, !absl::IsNotFound(status))
            << hooks_.tag() << " the cache stays cold: " << status;
      });
}

void ReplicaCheckpoints::WarmCache(std::shared_ptr<const std::vector<std::string>> keys,
                                   size_t from) {
  if (office_.IsClosed() || from >= keys->size()) return;
  work_.After(kWarmPause, [this, keys = std::move(keys), from] {
    // The engine is being exchanged; the new one gets a warm cache from its readers.
    if (engine_ == nullptr) return;
    const size_t end = std::min(keys->size(), from + kWarmedAtOnce);
    work_.InPool(
        [keys, from, end, engine = engine_, host = host_] {
          const uint32_t now = ExpiryNow(host->env.clock());
          for (size_t i = from; i < end; ++i)
            if (engine->Get((*keys)[i], now, ReadTier::kAll).ok())
              host->opening->replay->warmed_keys.Add();
          return absl::OkStatus();
        },
        [this, keys, end](const absl::Status&) { WarmCache(keys, end); });
  });
}

}  // namespace arion
