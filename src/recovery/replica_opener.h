// Opening and creating a replica's directory: engine, .init-info and private log become what a
// Replica starts from.
//
// Errors    DataLoss: the directory can't be understood or is incomplete; it shall be set aside.
//           Others: the disk.
// Threads   Waits for the disk: in its DiskPool. The log is bound to the strand given.
// Promises  replica_opener/O1  What was replayed and is known committed is applied when Open
//               returns, and durable in the log or in a checkpoint; what is above it is in
//               `recovered.logged`, durable in the log.
//           replica_opener/O2  A log with a hole never makes up for it: the replica stands before
//               the hole and can only learn.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/status/statusor.h>

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "disks/disk_layout.h"
#include "disks/init_info.h"
#include "disks/replica_directory.h"
#include "engine/engine.h"
#include "env/clock.h"
#include "env/environment.h"
#include "legacy/take_over_planner.h"
#include "pacifica/core_options.h"
#include "recovery/log_replay_stats.h"
#include "recovery/recovery_progress.h"
#include "wal/log_opener.h"
#include "wal/private_log.h"

namespace arion {

// What all openings of one server share. It outlives them.
struct OpeningHost {
  std::shared_ptr<const ServerDisks> disks;
  EngineFactory& engines;
  LogOpener open_log;
  // Of each log; its own place, partition and offsets are filled in.
  PrivateLogOptions log;
  std::shared_ptr<RecoveryProgress> progress = std::make_shared<RecoveryProgress>();
  std::shared_ptr<LogReplayStats> replay = std::make_shared<LogReplayStats>();
  // The global offset behind an older version's shared log; 0: there is none (any more).
  std::shared_ptr<std::atomic<int64_t>> shared_log_end = std::make_shared<std::atomic<int64_t>>(0);

  // What a replica's .init-info says of the shared log when its life begins anew: all of it is
  // void.
  int64_t SharedLogEnd() const { return shared_log_end->load(); }
};

// What a Replica starts from. It owns the engine and the log.
struct OpenedReplica {
  PartitionId pid;
  std::string directory;
  // Position among the server's data directories.
  size_t disk = 0;
  AppInfo app;
  InitInfo info;
  std::shared_ptr<Engine> engine;
  std::unique_ptr<PrivateLog> log;
  // The protocol's state: watermarks, and what the log holds above the engine.
  RecoveredState recovered;
  // `info` says already that the log is void: call StartAnew before anything is appended.
  bool log_is_void = false;
};

// The folders of the engine and of a copy under way in a replica's directory.
std::string DataPathOf(const std::string& replica_directory);
std::string LearnPathOf(const std::string& replica_directory);

// What a replica begins with that does not begin with nothing.
struct FirstContent {
  // Of a split's child: its parent's data. Of a follower cluster's first primary: the master's.
  enum class From { kParent, kMaster };
  From from = From::kParent;
  // A checkpoint at `decree` on the same disk; it stays as it is. Empty: `decree` is 0.
  std::string checkpoint;
  Decree decree;
  Ballot ballot;
};
// Makes the directory of a new replica. It is whole and durable, or it is not there. Without
// `content` an empty one that may be a member; with it a split's child, which is unborn, or one
// whose data are foreign (disks/init_info.h).
absl::Status CreateReplicaDirectory(const OpeningHost& host, const FoundReplica& replica,
                                    const FirstContent* content = nullptr);

// Whether the directory was found at the start or has just been made by CreateReplicaDirectory.
enum class Origin { kFound, kJustCreated };
// Begin and Finish of a ReplicaOpening with nothing between, for a server without a shared log.
// `strand`: the replica's.
absl::StatusOr<OpenedReplica> OpenReplica(const OpeningHost& host, StrandPtr strand,
                                          const FoundReplica& found, Origin origin);

// A replica between two steps of its opening: engine and private log are open and replayed; what an
// older version's shared log has of it is still to come (shared_log_take_over.h).
//
// Threads   Each call in the disk's pool, one at a time; what `log` does stays strand-bound.
class ReplicaOpening {
 public:
  // Opens the engine and replays the private log.
  static absl::StatusOr<std::unique_ptr<ReplicaOpening>> Begin(const OpeningHost& host,
                                                               StrandPtr strand,
                                                               const FoundReplica& found,
                                                               Origin origin);
  ~ReplicaOpening();

  // Takes records of the shared log, in its order. What is to be appended to the private log goes
  // to *append, in this order; it is replayed already.
  absl::Status TakeOver(const std::vector<MutationPtr>& records, std::vector<MutationPtr>* append);
  // Ends the opening; to be called once everything appended is durable.
  absl::StatusOr<OpenedReplica> Finish();

  PartitionId pid() const { return opened_.pid; }
  const std::string& directory() const { return opened_.directory; }
  const StrandPtr& strand() const { return strand_; }
  PrivateLog& log() { return *opened_.log; }
  const TakeOverPlanner& planner() const { return planner_; }
  int64_t valid_start_in_shared_log() const { return opened_.info.offset_in_shared_log; }
  // Records of this replica may be missing in the shared log: it comes back as after an unclean
  // stop.
  void MarkIncomplete() { is_incomplete_ = true; }

 private:
  // Applies what the private log, and then the shared log, prove committed.
  class Replay;
  ReplicaOpening(const OpeningHost& host, StrandPtr strand, OpenedReplica opened, Origin origin,
                 std::shared_ptr<RecoveryTicket> ticket);
  void Enter(RecoveryStep step) { ticket_->Enter(step, host_.disks->env.clock().Now()); }
  absl::Status ReplayPrivateLog();

  const OpeningHost& host_;
  const StrandPtr strand_;
  const Origin origin_;
  OpenedReplica opened_;
  TakeOverPlanner planner_;
  std::shared_ptr<RecoveryTicket> ticket_;
  std::unique_ptr<Replay> replay_;
  ReplaySummary summary_;
  // Records from the shared log.
  int64_t taken_ = 0;
  bool is_incomplete_ = false;
};

}  // namespace arion
