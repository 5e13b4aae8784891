// SPDX-License-Identifier: Apache-2.0
#include "replica/replica_opener.h"

#include <algorithm>

#include "base/log.h"
#include "base/status.h"
#include "pacifica/log_replay.h"
#include "replica/app_info_file.h"
#include "replica/log_place.h"
#include "replica/mutation_operations.h"

namespace arion {
namespace {

// Replays a log into an engine: what a later mutation proves committed is applied at once, so that
// memory holds only the tail whose fate is open.
class EngineReplay {
 public:
  EngineReplay(PartitionId pid, Engine& engine)
      : engine_(engine), judgement_(pid, engine.last_applied()) {}

  absl::Status Take(MutationPtr mutation) {
    if (has_hole_) return absl::OkStatus();  // nothing behind a hole may be applied
    const Decree committed = mutation->last_committed;
    committed_.clear();
    const absl::Status judged = judgement_.Add(std::move(mutation), &committed_);
    for (const MutationPtr& m : committed_) {
      ASSIGN_OR_RETURN(const MutationOperations operations,
                       MutationOperations::Decode(*m, engine_, ReadTier::kAll));
      RETURN_IF_ERROR(engine_.Apply(m->decree, m->timestamp_us, operations.ops()));
    }
    if (judged.ok()) return judged;
    if (committed <= judgement_.last_committed()) return judged;
    LOG(ERROR) << judged.message() << "; the replica stands at decree " << engine_.last_applied();
    has_hole_ = true;
    return absl::OkStatus();
  }
  bool has_hole() const { return has_hole_; }
  Ballot max_ballot() const { return judgement_.max_ballot(); }
  std::vector<MutationPtr> Uncommitted() const {
    return has_hole_ ? std::vector<MutationPtr>() : judgement_.Uncommitted();
  }

 private:
  Engine& engine_;
  LogReplay judgement_;
  std::vector<MutationPtr> committed_;
  bool has_hole_ = false;
};

// Tells the disk's watch that a log waits for space, for as long as it does.
std::function<void(bool)> WaitReporter(std::shared_ptr<DiskWatch> disks, size_t disk) {
  return [disks = std::move(disks), disk, wait = std::shared_ptr<void>()](bool is_waiting) mutable {
    wait = is_waiting ? disks->LogWaits(disk) : nullptr;
  };
}

}  // namespace

std::string DataPathOf(const std::string& replica_directory) {
  return JoinPath(replica_directory, "data");
}
std::string LearnPathOf(const std::string& replica_directory) {
  return JoinPath(replica_directory, "learn");
}

absl::Status CreateReplicaDirectory(const ReplicaHost& host, const std::string& replica_directory,
                                    const AppInfo& app) {
  FileSystem& files = host.env.files();
  // Under a name that no scan loads, until it is whole.
  const std::string temporary = replica_directory + ".tmp";
  RETURN_IF_ERROR(files.RemoveAll(temporary));
  RETURN_IF_ERROR(files.CreateDirectories(temporary));
  RETURN_IF_ERROR(StoreAppInfo(files, temporary, app));
  RETURN_IF_ERROR(StoreInitInfo(files, temporary, InitInfo{}));
  RETURN_IF_ERROR(PrepareLogPlace(files, host.env.clock(), host.options.log_home_directory,
                                  replica_directory, temporary));
  RETURN_IF_ERROR(files.Rename(temporary, replica_directory));
  return files.SyncDirectory(ParentDirectory(replica_directory));
}

absl::StatusOr<OpenedReplica> OpenReplica(const ReplicaHost& host, StrandPtr strand,
                                          const FoundReplica& found, Origin origin) {
  FileSystem& files = host.env.files();
  const PartitionId pid = found.pid;
  const std::string& replica_directory = found.path;
  OpenedReplica opened{.pid = pid, .directory = replica_directory, .disk = found.data_directory};
  RETURN_IF_ERROR(CheckLogPlace(files, host.options.log_home_directory, replica_directory));
  ASSIGN_OR_RETURN(opened.app, LoadAppInfo(files, replica_directory));
  ASSIGN_OR_RETURN(opened.info, LoadInitInfo(files, replica_directory));
  ASSIGN_OR_RETURN(std::unique_ptr<Engine> engine,
                   host.engines.Open(DataPathOf(replica_directory)));
  opened.engine = std::move(engine);
  if (opened.engine->last_durable() < opened.info.durable)
    return absl::DataLossError(
        absl::StrCat("the engine stands at decree ", opened.engine->last_durable().value(),
                     ", but ", kInitInfoName, " demands ", opened.info.durable.value()));
  // What an interrupted learning session copied is of no use to the next one.
  RETURN_IF_ERROR(files.RemoveAll(LearnPathOf(replica_directory)));

  EngineReplay replay(pid, *opened.engine);
  ReplaySummary summary;
  const LogPlace place = LogPlaceOf(host.options.log_home_directory, replica_directory);
  PrivateLogOptions options{
      .directory = place.directory,
      .identity_path = place.identity_path,
      .pid = pid,
      .durability = host.options.durability,
      .segment_bytes_max = host.options.log_segment_bytes,
      .reserve = host.options.log_reserve,
      .on_no_space = WaitReporter(host.disks, host.LogDiskOf(found.data_directory)),
      .preallocate = host.options.log_preallocate,
      .applied = opened.engine->last_applied(),
      .valid_start_offset = opened.info.offset_in_private_log};
  const Instant replay_started = host.env.clock().Now();
  ASSIGN_OR_RETURN(
      opened.log,
      PrivateLog::Open(
          host.env, std::move(strand), std::move(options),
          [&replay](MutationPtr mutation) { return replay.Take(std::move(mutation)); }, &summary));
  host.replay->logs.Add();
  host.replay->mutations.Add(summary.mutations);
  host.replay->bytes.Add(static_cast<int64_t>(summary.bytes));
  host.replay->nanos.Add(absl::ToInt64Nanoseconds(host.env.clock().Now() - replay_started));
  opened.recovered.logged = replay.Uncommitted();
  if (opened.engine->last_applied() > opened.engine->last_durable())
    RETURN_IF_ERROR(opened.engine->Checkpoint().status());

  InitInfo info = opened.info;
  info.ballot = std::max({info.ballot, summary.max_ballot, replay.max_ballot()});
  // A log with a hole would hide at the next start what is appended behind it: it begins anew; its
  // files stay.
  opened.log_is_void = replay.has_hole();
  if (opened.log_is_void) {
    info.offset_in_private_log = opened.log->end_offset();
    info.is_learner = true;  // what is missing stays missing at the next start
  }
  if (info != opened.info) RETURN_IF_ERROR(StoreInitInfo(files, replica_directory, info));
  opened.info = info;

  const bool was_clean = origin == Origin::kJustCreated ||
                         (summary.was_clean && !summary.cut_tail && !opened.log_is_void);
  opened.recovered.ballot = info.ballot;
  opened.recovered.last_mutation_ballot = std::max(summary.max_ballot, replay.max_ballot());
  if (info.is_learner) opened.recovered.inactivity = Inactivity::kRemoved;
  opened.recovered.last_applied = opened.engine->last_applied();
  opened.recovered.last_durable = opened.engine->last_durable();
  opened.recovered.last_stop = was_clean ? LastStop::kClean : LastStop::kUnclean;
  LOG(INFO) << "[" << pid << " " << info.ballot << " " << opened.engine->last_applied()
            << "] opened " << replica_directory << ": " << summary.mutations
            << " mutations replayed, " << opened.recovered.logged.size() << " uncommitted"
            << (was_clean ? "" : ", the last stop was not clean")
            << (replay.has_hole() ? ", with a hole: it can only learn" : "");
  return opened;
}

}  // namespace arion
