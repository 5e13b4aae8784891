// ReplicaLearning: what one replica does as a learner: copies a checkpoint or a log from the member
// it learns from, installs the one, reads the other, flushes what it was taught.
//
// Shapes    One work of the core's at a time, ended by LearnerWorkDone. Its server copies for as
//           many replicas at a time as max_concurrent_copies; who finds no slot looks again. What
//           is copied lies in learn/ until it is installed: the next session takes over what fits.
// Errors    What the source refuses, and what lacks space, may pass: the session ends, it learns
//           again. The rest is this disk's, and the core ends the replica.
// Threads   Strand-bound; files are written and read in pools.
// Lifetime  A part of a replica, beside what it is given, which outlives it.
// Promises  replica_learning/L1  Nothing is copied while what an earlier copy left is being
//               dropped.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/functional/any_invocable.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "engine/engine.h"
#include "pacifica/effects.h"
#include "pacifica/events.h"
#include "replica/disk_work.h"
#include "replica/replica_host.h"
#include "stats/request_stats.h"
#include "wal/private_log.h"

namespace arion {

struct FetchPlan;
class FileFetcher;
class LearnedFiles;

// Begin for each work that the core asks for; it ends by the event LearnerWorkDone.
class ReplicaLearning {
 public:
  struct Hooks {
    // Changes what lies in data/ by `exchange`, with no engine on it; the new one must then stand
    // at `expected`. Finish or Fail follows.
    std::function<void(uint64_t serial, Decree expected, DiskWork::PoolWork exchange)>
        exchange_engine;
    std::function<void(const Event&)> step;
    // Names the replica in the log.
    std::function<std::string()> tag;
  };
  // `disk`: of the data. `engine` and `log`: the owner's.
  ReplicaLearning(std::shared_ptr<const ReplicaHost> host, StrandPtr strand, PartitionId pid,
                  std::string directory, size_t disk, std::shared_ptr<RequestStats> stats,
                  DiskWork& work, const std::shared_ptr<Engine>& engine,
                  const std::shared_ptr<PrivateLog>& log, Hooks hooks);

  // Counts learnings, and prepares what a learner will need.
  void NoteRole(const RoleChange& change);
  // Starts what the core asks for. Only one work is under way.
  void Begin(LearnerWork work);
  // The work is done; `serial` is its number.
  void Finish(uint64_t serial);
  // The work failed by this disk's fault.
  void FailHere(uint64_t serial, const absl::Status& why);
  // What an interrupted copy left is of no use to a member.
  void DropCopies();
  void Close();

 private:
  FetchPlan PlanOf(const LearnResponse& response);
  void InstallCheckpoint(LearnerWork work);
  void InstallCopied(uint64_t serial, const std::string& source, Decree decree);
  void CopyLog(LearnerWork work);
  void ReadLog(uint64_t serial);
  // `what` is for the log; `then` once all is here. It ends the work if that fails.
  void Fetch(uint64_t serial, FetchPlan plan, std::string what, absl::AnyInvocable<void()> then);
  void Discard(uint64_t serial);
  void Flush(uint64_t serial);
  void Fail(uint64_t serial, const absl::Status& why);
  ReplicaFigures& figures() { return stats_->figures(); }

  const std::shared_ptr<const ReplicaHost> host_;
  const StrandPtr strand_;
  const PartitionId pid_;
  const std::string directory_;
  const size_t disk_;
  const std::shared_ptr<RequestStats> stats_;
  DiskWork& work_;
  const std::shared_ptr<Engine>& engine_;
  const std::shared_ptr<PrivateLog>& log_;
  const Hooks hooks_;
  // Null: no copy is under way.
  std::shared_ptr<FileFetcher> fetcher_;
  // Null: none are read; the pool's meanwhile.
  std::shared_ptr<LearnedFiles> learned_files_;
  // In the pool.
  int copies_dropping_ = 0;
};

}  // namespace arion
