// SPDX-License-Identifier: Apache-2.0
#include "recovery/replica_opener.h"

#include <algorithm>
#include <optional>

#include "base/log.h"
#include "base/status.h"
#include "data_api/mutation_batch.h"
#include "decrees/log_replay.h"
#include "disks/app_info_file.h"
#include "disks/disk_watch.h"
#include "disks/log_place.h"

namespace arion {
namespace {

// Reports a log's wait to the disk's watch, for as long as it lasts.
// One wait is held at a time: a log reports each wait once, and its end once (private_log.h).
std::function<void(const absl::Status&)> WaitReporter(std::shared_ptr<DiskWatch> disks,
                                                      size_t disk) {
  return [disks = std::move(disks), disk,
          wait = std::shared_ptr<void>()](const absl::Status& why) mutable {
    wait = why.ok() ? nullptr : disks->LogWaits(disk, why);
  };
}

}  // namespace

// Replays a log into an engine: what a later mutation proves committed is applied soon, a few
// together, so that memory holds only those and the tail whose fate is open.
class ReplicaOpening::Replay {
 public:
  Replay(PartitionId pid, Engine& engine)
      : engine_(engine), judgement_(pid, engine.last_applied()) {}

  absl::Status Take(MutationPtr mutation) {
    // Nothing behind a hole may be applied.
    if (has_hole_) return absl::OkStatus();
    const Ballot ballot = mutation->ballot;
    const Decree committed = mutation->last_committed;
    committed_.clear();
    const absl::Status judged = judgement_.Add(std::move(mutation), &committed_);
    for (const MutationPtr& m : committed_) {
      // Before a hole only mutations of the same ballot count: others may have been replaced by
      // mutations that are missing (pacifica/PROTOCOL.md 10.2).
      if (!judged.ok() && m->ballot != ballot) break;
      RETURN_IF_ERROR(Gather(*m));
    }
    if (judged.ok()) return judged;
    // An error that proves nothing more committed is no hole: the opening fails.
    if (committed <= judgement_.last_committed()) return judged;
    RETURN_IF_ERROR(ApplyGathered());
    LOG(ERROR) << judged.message() << "; the replica stands at decree " << engine_.last_applied();
    has_hole_ = true;
    return absl::OkStatus();
  }
  // Once the log ends.
  absl::Status ApplyGathered() {
    const absl::Status applied = engine_.ApplyAll(gathered_.mutations());
    gathered_.Clear();
    return applied;
  }
  bool has_hole() const { return has_hole_; }
  Ballot max_ballot() const { return judgement_.max_ballot(); }
  Ballot last_committed_ballot() const { return judgement_.last_committed_ballot(); }
  std::vector<MutationPtr> Uncommitted() const {
    return has_hole_ ? std::vector<MutationPtr>() : judgement_.Uncommitted();
  }

 private:
  absl::Status Gather(const Mutation& m) {
    if (!gathered_.MayTake(m)) RETURN_IF_ERROR(ApplyGathered());
    return gathered_.Add(m, engine_, ReadTier::kAll);
  }

  Engine& engine_;
  // Judges the order of the log and what it proves committed. It outlives the sink's calls.
  LogReplay judgement_;
  std::vector<MutationPtr> committed_;
  MutationBatch gathered_;  // committed, in order, not in the engine yet
  bool has_hole_ = false;
};

std::string DataPathOf(const std::string& replica_directory) {
  return JoinPath(replica_directory, "data");
}
std::string LearnPathOf(const std::string& replica_directory) {
  return JoinPath(replica_directory, "learn");
}

namespace {

// Removes what a failed creation left under the final name, when its name could be neither synced
// nor taken back. Such a directory has no ballot and no opened engine. Whatever else is in the way
// stays, and the creation then fails with a message.
absl::Status TakeBack(FileSystem& files, const std::string& path, const std::string& temporary) {
  ASSIGN_OR_RETURN(const bool was_opened, IsThere(files, DataPathOf(path)));
  const absl::StatusOr<InitInfo> info = LoadInitInfo(files, path);
  // A read that was refused proves nothing: the directory stays, and this attempt ends.
  if (IsRefusal(info.status())) return info.status();  // else it would be in the way
  if (was_opened || !info.ok() || info->ballot != Ballot(0)) return absl::OkStatus();
  RETURN_IF_ERROR(files.Rename(path, temporary));
  return files.RemoveAll(temporary);
}

}  // namespace

absl::Status CreateReplicaDirectory(const OpeningHost& host, const FoundReplica& replica,
                                    const FirstContent* content) {
  FileSystem& files = host.disks->env.files();
  // Under a name that no scan loads, until it is whole.
  const std::string temporary = replica.path + ".tmp";
  RETURN_IF_ERROR(files.RemoveAll(temporary));
  RETURN_IF_ERROR(TakeBack(files, replica.path, temporary));
  RETURN_IF_ERROR(files.CreateDirectories(temporary));
  RETURN_IF_ERROR(StoreAppInfo(files, temporary, replica.app));
  // A new replica has nothing in an older version's shared log: all of that log is void for it.
  InitInfo info{.offset_in_shared_log = host.SharedLogEnd()};
  if (content != nullptr) {
    info.ballot = content->ballot;
    info.durable = content->decree;
    info.is_unborn = content->from == FirstContent::From::kParent;
    info.is_foreign = content->from == FirstContent::From::kMaster && !content->checkpoint.empty();
    if (!content->checkpoint.empty())
      RETURN_IF_ERROR(host.engines.InstallCheckpoint(content->checkpoint, content->decree,
                                                     DataPathOf(temporary)));
  }
  // After the content: storing it syncs the directory, so that the content's name outlives a crash.
  RETURN_IF_ERROR(StoreInitInfo(files, temporary, info));
  RETURN_IF_ERROR(NoteReplaced(files, temporary, replica.replaces));
  // Before the final name, so that a replica is never found whose log has no place.
  RETURN_IF_ERROR(PrepareLogPlace(files, host.disks->env.clock(),
                                  host.disks->layout.log_home_directory, replica.path, temporary));
  RETURN_IF_ERROR(files.Rename(temporary, replica.path));
  absl::Status synced = files.SyncDirectory(ParentDirectory(replica.path));
  // The name may not survive a crash, so the replica must not be used. A later attempt finds it by
  // TakeBack if this renaming fails, too.
  if (!synced.ok()) files.Rename(replica.path, temporary).IgnoreError();
  return synced;
}

ReplicaOpening::ReplicaOpening(const OpeningHost& host, StrandPtr strand, OpenedReplica opened,
                               Origin origin, std::shared_ptr<RecoveryTicket> ticket)
    : host_(host),
      strand_(std::move(strand)),
      origin_(origin),
      opened_(std::move(opened)),
      planner_(opened_.info.offset_in_shared_log),
      ticket_(std::move(ticket)),
      replay_(std::make_unique<Replay>(opened_.pid, *opened_.engine)) {}

ReplicaOpening::~ReplicaOpening() = default;

absl::StatusOr<std::unique_ptr<ReplicaOpening>> ReplicaOpening::Begin(const OpeningHost& host,
                                                                      StrandPtr strand,
                                                                      const FoundReplica& found,
                                                                      Origin origin) {
  FileSystem& files = host.disks->env.files();
  const std::string& replica_directory = found.path;
  auto ticket = host.progress->TicketOf(found.pid);
  ticket->Enter(RecoveryStep::kEngine, host.disks->env.clock().Now());
  OpenedReplica opened{
      .pid = found.pid, .directory = replica_directory, .disk = found.data_directory};
  // First of all: an open with the wrong place would begin an empty log.
  RETURN_IF_ERROR(CheckLogPlace(files, host.disks->layout.log_home_directory, replica_directory));
  ASSIGN_OR_RETURN(opened.app, LoadAppInfo(files, replica_directory));
  ASSIGN_OR_RETURN(opened.info, LoadInitInfo(files, replica_directory));
  ASSIGN_OR_RETURN(std::unique_ptr<Engine> engine,
                   host.engines.Open(DataPathOf(replica_directory)));
  opened.engine = std::move(engine);
  // A checkpoint that was durable is gone, so data were lost: the replica must learn anew.
  if (opened.engine->last_durable() < opened.info.durable)
    return absl::DataLossError(
        absl::StrCat("the engine stands at decree ", opened.engine->last_durable().value(),
                     ", but ", kInitInfoName, " demands ", opened.info.durable.value()));
  std::unique_ptr<ReplicaOpening> opening(
      new ReplicaOpening(host, std::move(strand), std::move(opened), origin, std::move(ticket)));
  RETURN_IF_ERROR(opening->ReplayPrivateLog());
  return opening;
}

absl::Status ReplicaOpening::ReplayPrivateLog() {
  const LogPlace place = LogPlaceOf(host_.disks->layout.log_home_directory, opened_.directory);
  const bool compares = host_.SharedLogEnd() != 0;  // with what the shared log has
  PrivateLogOptions options = host_.log;
  options.directory = place.directory;
  options.identity_path = place.identity_path;
  options.pid = opened_.pid;
  options.on_no_space =
      WaitReporter(host_.disks->watch, host_.disks->layout.LogDiskOf(opened_.disk));
  options.applied = opened_.engine->last_applied();
  // The take-over compares the private log with the shared one, so it needs all of the newest file.
  options.reads_newest_whole = compares;
  options.valid_start_offset = opened_.info.offset_in_private_log;
  const Instant replay_started = host_.disks->env.clock().Now();
  std::optional<int64_t> first_offset;
  Enter(RecoveryStep::kReplay);
  ASSIGN_OR_RETURN(
      opened_.log,
      host_.open_log(
          host_.disks->env, strand_, std::move(options),
          [this, &first_offset, compares](MutationPtr m) {
            // Progress in bytes, by offsets: they are global, so the first one counts as 0.
            if (!first_offset) first_offset = m->log_offset;
            ticket_->SetBytesRead(static_cast<uint64_t>(m->log_offset - *first_offset));
            if (compares)
              planner_.OnPrivate(m->ballot, m->decree, m->last_committed, RecordMark(*m));
            return replay_->Take(std::move(m));
          },
          &summary_));
  RETURN_IF_ERROR(replay_->ApplyGathered());
  host_.replay->logs.Add();
  host_.replay->mutations.Add(summary_.mutations);
  host_.replay->bytes.Add(static_cast<int64_t>(summary_.bytes));
  host_.replay->nanos.Add(
      absl::ToInt64Nanoseconds(host_.disks->env.clock().Now() - replay_started));
  return absl::OkStatus();
}

absl::Status ReplicaOpening::TakeOver(const std::vector<MutationPtr>& records,
                                      std::vector<MutationPtr>* append) {
  for (const MutationPtr& m : records) {
    const auto verdict = planner_.OnShared(m->ballot, m->decree, m->last_committed, m->log_offset,
                                           [&m] { return RecordMark(*m); });
    // The caller sees the contradiction and refuses the start.
    if (verdict == TakeOverPlanner::Verdict::kForeign)
      return absl::AbortedError("the shared log is not this replica's");
    if (verdict != TakeOverPlanner::Verdict::kTake) continue;
    RETURN_IF_ERROR(replay_->Take(m));
    // A hole is not carried into the private log: the next start would stop there again.
    if (replay_->has_hole()) continue;
    append->push_back(m);
    ++taken_;
  }
  return replay_->ApplyGathered();
}

absl::StatusOr<OpenedReplica> ReplicaOpening::Finish() {
  OpenedReplica& opened = opened_;
  Enter(RecoveryStep::kCheckpoint);
  // Otherwise the log holds what the engine's files lack, and nobody has to wait for a flush. The
  // shared log can be removed only once there are checkpoints.
  const bool log_may_go =
      replay_->has_hole() || opened.info.is_learner || host_.SharedLogEnd() != 0;
  if (log_may_go && opened.engine->last_applied() > opened.engine->last_durable())
    RETURN_IF_ERROR(opened.engine->Checkpoint().status());
  opened.recovered.logged = replay_->Uncommitted();

  InitInfo info = opened.info;
  // The largest ballot that anything here bears: the replica must not go back behind it.
  info.ballot =
      std::max({info.ballot, summary_.max_ballot, replay_->max_ballot(), planner_.max_ballot()});
  // Behind a hole the next start could not read what is appended. So the log begins anew; its files
  // stay.
  opened.log_is_void = replay_->has_hole();
  if (opened.log_is_void) {
    info.offset_in_private_log = opened.log->end_offset();
    info.is_learner = true;  // what is missing stays missing at the next start
  }
  // A shared log that appears later has offsets of its own, which begin at 0.
  if (host_.SharedLogEnd() == 0) info.offset_in_shared_log = 0;
  // Durable before the replica takes part in anything.
  RETURN_IF_ERROR(SettleInitInfo(host_.disks->env.files(), opened.directory, info));
  opened.info = info;

  // Anything that may have lost the log's end makes the stop unclean.
  const bool was_clean =
      origin_ == Origin::kJustCreated || (summary_.was_clean && !summary_.cut_tail && taken_ == 0 &&
                                          !is_incomplete_ && !opened.log_is_void);
  opened.recovered.ballot = info.ballot;
  // Ballots of void records do not count: other mutations came in their place.
  opened.recovered.last_mutation_ballot = replay_->max_ballot();
  // A learner's state can't be a member's; it only learns.
  if (info.is_learner) opened.recovered.inactivity = Inactivity::kRemoved;
  opened.recovered.is_foreign = info.is_foreign;
  opened.recovered.last_applied = opened.engine->last_applied();
  opened.recovered.last_applied_ballot = replay_->last_committed_ballot();
  opened.recovered.last_durable = opened.engine->last_durable();
  opened.recovered.last_stop = was_clean ? LastStop::kClean : LastStop::kUnclean;
  LOG(INFO) << "[" << opened.pid << " " << info.ballot << " " << opened.engine->last_applied()
            << "] opened " << opened.directory << ": " << summary_.mutations
            << " mutations replayed, " << opened.recovered.logged.size() << " uncommitted"
            << (taken_ > 0 ? absl::StrCat(", ", taken_, " taken from the shared log") : "")
            << (was_clean ? "" : ", the last stop was not clean")
            << (replay_->has_hole() ? ", with a hole: it can only learn" : "");
  return std::move(opened_);
}

absl::StatusOr<OpenedReplica> OpenReplica(const OpeningHost& host, StrandPtr strand,
                                          const FoundReplica& found, Origin origin) {
  ASSIGN_OR_RETURN(const auto opening,
                   ReplicaOpening::Begin(host, std::move(strand), found, origin));
  return opening->Finish();
}

}  // namespace arion
