// ReplicaCheckpoints: when one replica makes a checkpoint, what of its log may go then, and how its
// cache is warmed after a restart.
//
// Shapes    A member makes one each checkpoint_interval, sooner where the replay of its log would
//           take longer than replay_max, when somebody waits for it, and at once where a part of
//           the log can't be read.
// Errors    Want of space: again after 5 s. Any other error fences. A part of the log that can't be
//           read does not: learners get checkpoints, and an empty write begins another file.
// Threads   Strand-bound; checkpoints are made and keys are read in pools.
// Lifetime  A part of a replica, beside what it is given, which outlives it.
// Promises  replica_checkpoints/C1  Of the log nothing goes that is not durable in the engine, or
//               that a learner or a member which is away is meant to get from it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/time/time.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "env/file_system.h"
#include "replica/disk_work.h"
#include "replica/replica_host.h"
#include "wal/private_log.h"

namespace arion {

class ReplicaCore;
class ReplicaOffice;

// Start begins the interval; Close ends it. The rest asks for a checkpoint or says what the log
// lost.
class ReplicaCheckpoints {
 public:
  struct Hooks {
    std::function<std::weak_ptr<void>()> owner;
    // What lies behind this decree in the log is needed by a split's child.
    std::function<std::optional<Decree>()> needed_by_child;
    // What lies behind this decree is still to come to other clusters; nullopt: not known.
    std::function<std::optional<Decree>()> duplicated;
    // Whether effects wait for the disk; then no checkpoint is begun.
    std::function<bool()> is_holding;
    std::function<std::vector<std::string>()> hot_keys;
    // Called once each checkpoint_interval.
    std::function<void()> on_interval;
    // Makes an empty write.
    std::function<void()> write_nothing;
    std::function<void(const Event&)> step;
    std::function<void(const std::string& why)> fence;
    // Names the replica in the log.
    std::function<std::string()> tag;
  };
  // `disk` of the data, `log_disk` of the log; `engine` and `log`: the owner's.
  ReplicaCheckpoints(std::shared_ptr<const ReplicaHost> host, StrandPtr strand,
                     std::string directory, size_t disk, size_t log_disk, const ReplicaCore& core,
                     const ReplicaOffice& office, DiskWork& work,
                     const std::shared_ptr<Engine>& engine, const std::shared_ptr<PrivateLog>& log,
                     Hooks hooks);

  void Start();
  // Reads the keys that were read last before the restart.
  void WarmCache();
  // Makes a checkpoint if something is not durable, and drops what the log need not keep.
  void MakeIfNeeded();
  // A compaction has replaced files: soon no checkpoint holds them any more. Else their room would
  // not be back before new writes bring the next checkpoints.
  void Renew();
  // Has the engine write what the log held; drops `until_flushed` then.
  void FlushReplayed(std::shared_ptr<void> until_flushed);
  // To be called when something is appended: looks whether a replay would take too long.
  void WatchReplay();

  // Whether the log reaches back to `start`, and can be read from there.
  bool CanReadFrom(Decree start) const;
  // Whether the log reaches back to `start`, can be read from there, and is the shorter way.
  LogCoverage CoverageFrom(Decree start) const;
  // A part of the log can't be read: makes the log needless up to there.
  void OnLogDamaged(const absl::Status& status);
  // `durable`: what the engine would stand at after a crash.
  void DropUnneededLog(Decree durable);

  void Close();

 private:
  void Schedule(absl::Duration delay);
  void OnDurable(Decree decree);
  void WriteBehindDamage();
  void WarmCache(std::shared_ptr<const std::vector<std::string>> keys, size_t from);

  const std::shared_ptr<const ReplicaHost> host_;
  const StrandPtr strand_;
  const std::string directory_;
  const size_t disk_;
  const size_t log_disk_;
  const ReplicaCore& core_;
  const ReplicaOffice& office_;
  DiskWork& work_;
  const std::shared_ptr<Engine>& engine_;
  const std::shared_ptr<PrivateLog>& log_;
  const Hooks hooks_;
  // The log can't be read somewhere up to here, so learners get checkpoints instead. 0: it can.
  Decree log_damaged_through_;
  bool is_under_way_ = false;
  // Renew was asked for, and not done yet.
  bool is_to_be_renewed_ = false;
  bool is_replay_watched_ = false;
  TimerId timer_ = kNoTimer;
};

// Keys that were read last, for the next start; what can't be stored leaves its cache cold.
void KeepHotReads(FileSystem& files, const std::string& directory,
                  const std::vector<std::string>& keys);

}  // namespace arion
