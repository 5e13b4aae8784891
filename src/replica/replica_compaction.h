// ReplicaCompaction: one replica's compaction on request, or after a split: when it begins, its
// steps in the disk's pool, its end.
//
// Shapes    kIdle -> kQueuing -> kRunning -> kIdle; reports say kFinished instead of kIdle where
//           the last one that was asked for has run. What the table's environments wish is looked
//           at when they change, and each 10 s while they wish anything. After a split all files
//           are rewritten once, with rests between the steps; tools do not see that as one on
//           request.
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

#include "engine/engine.h"
#include "env/clock.h"
#include "messages/configuration.h"
#include "pacifica/effects.h"

namespace arion {

class CompactionSlots;
struct CompactionWishes;
class DiskWork;

// Consider when the environments change; the rest follows by timers until Close.
class ReplicaCompaction {
 public:
  struct Hooks {
    std::function<const CompactionWishes&()> wishes;
    // The partition count for which a split makes one due; 0: none (client_requests/owned_keys.h).
    std::function<int32_t()> after_split;
    // After so many bytes: how long to rest before more.
    std::function<absl::Duration(uint64_t bytes)> pace;
    // Primary or secondary.
    std::function<bool()> is_member;
    // The content's files are others than they were.
    std::function<void()> on_compacted;
    // Names the replica in the log.
    std::function<std::string()> tag;
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
  // For people.
  std::string Text() const;

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
  // A timer will look again.
  bool is_looked_for_ = false;
  struct {
    // Never kFinished, which only reports say.
    ManualCompactStatus status = ManualCompactStatus::kIdle;
    Engine::CompactionTerms terms;
    // After a split: the partition count, and the content that is rewritten; 0: on request.
    int32_t split_count = 0;
    std::weak_ptr<const Engine> engine;
    // Since 1970.
    int64_t queued_ms = 0, begun_ms = 0;
    int steps = 0;
    // The place in the queue, or among those that run.
    std::shared_ptr<void> place;
    // Tells the step in the pool to end early.
    std::shared_ptr<std::atomic<bool>> cancelled;
    // Of the last compaction.
    int64_t took_ms = 0;
  } now_;
};

}  // namespace arion
