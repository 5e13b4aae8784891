// ReplicaCompaction: one replica's compaction on request: when it begins, its steps in the disk's
// pool, its end.
//
// Shapes    kIdle -> kQueuing -> kRunning -> kIdle; kFinished is what is told of kIdle where the
//           last one that was asked for has run. What the table's environments wish is looked at
//           when they change, and each 10 s while they wish anything.
// Errors    What lacks space, or gave way to an exchange of the engine, is tried again. Any other
//           error ends it; the next checkpoint tells, and fences.
// Threads   Strand-bound; the steps run in the disk's pool.
// Lifetime  A part of a replica, beside its DiskWork, which outlives it.
// Promises  replica_compaction/M1  A step begins only while nobody waits for the disk to be quiet,
//               and Hurry ends the one under way soon.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "data_api/compaction_wishes.h"
#include "engine/engine.h"
#include "env/clock.h"
#include "messages/configuration.h"
#include "pacifica/effects.h"
#include "replica/compaction_slots.h"

namespace arion {

class DiskWork;

class ReplicaCompaction {
 public:
  struct Hooks {
    std::function<const CompactionWishes&()> wishes;
    std::function<bool()> is_member;   // primary or secondary
    std::function<std::string()> tag;  // for the log
  };
  // `disk`: of the data. `engine`: the owner's; null while it is exchanged.
  ReplicaCompaction(const Clock& clock, PartitionId pid, size_t disk,
                    std::shared_ptr<CompactionSlots> slots, DiskWork& work,
                    const std::shared_ptr<Engine>& engine, Hooks hooks);

  // Begins what is due, and looks again where the clock may make something due.
  void Consider();
  // What waits for quiet does not wait for the rest of a step.
  void Hurry();
  void Close();

  ManualCompactStatus Status(const CompactionWishes& wishes) const;
  std::string Text() const;  // for people

 private:
  int64_t UnixMillis() const { return AgreedWallMicros(clock_) / 1000; }
  bool IsWanted();
  void SetStatus(ManualCompactStatus status);
  void CompactOrWait();
  void Step(std::string from);
  void NoteCompacted();
  void End();

  const Clock& clock_;
  const PartitionId pid_;
  const size_t disk_;
  const std::shared_ptr<CompactionSlots> slots_;
  DiskWork& work_;
  const std::shared_ptr<Engine>& engine_;
  const Hooks hooks_;
  bool is_closed_ = false;
  bool is_looked_for_ = false;  // by a timer
  struct {
    ManualCompactStatus status = ManualCompactStatus::kIdle;  // never kFinished
    Engine::CompactionTerms terms;
    int64_t queued_ms = 0, begun_ms = 0;  // since 1970
    int steps = 0;
    std::shared_ptr<void> place;                   // in the queue, or among those that run
    std::shared_ptr<std::atomic<bool>> cancelled;  // of the step in the pool
    int64_t took_ms = 0;                           // the last one
  } now_;
};

}  // namespace arion
