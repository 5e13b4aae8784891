// SimNode: one machine of the simulated world: its disk and clock, and its lives one after the
// other. SimEnvironment: what a server sees of it during one life.
//
//   SimWorld world(seed);
//   SimNode& node = world.AddNode("r1");
//   Environment& env = node.Start();          // a life
//   ... world.RunFor(absl::Seconds(3)); ...
//   node.Crash(CrashMode::kPowerRandom);      // no task of that life runs any more
//   server.reset();
//   Environment& next = node.Start();
//
// Shapes   A node has one device: every path has the same pool and log device.
// Lifetime An Environment stays valid (though dead) until the world is gone, so objects of a dead
//          life may be destroyed whenever the owner likes, best right after the crash and before
//          the next Start.
// Promises sim_environment/N1  A task of an ended life never runs; what it still holds is destroyed
//              at the crash.
//          sim_environment/N2  The monotonic clock never goes back, within a life or after; the
//              wall clock may jump, and run at another rate.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/functional/function_ref.h>

#include <array>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "env/clock.h"
#include "env/environment.h"
#include "sim/sim_disk.h"
#include "sim/sim_world.h"

namespace arion {
class FileSystem;
class LogDevice;
}  // namespace arion

namespace arion::sim {

// What a wall clock that is right says at the world's time 0: 2026-09-21.
constexpr int64_t kWallStartMicros = 1790000000000000;
// How far one may be off before it runs fast or slow, or leaps.
constexpr int64_t kWallErrorMicros = 2000000;

// One life of a node. Whatever belongs to a life holds it, and asks before it acts.
struct SimLife {
  uint32_t number = 0;
  bool alive = false;
};

// A node whose processors others want, too: it lives, its clocks, timers and devices go on, but now
// and then what is due on an event loop or in the disk pool waits.
struct SimLag {
  // The share of tasks that are late; of a loop's tasks only those count that find it free.
  double percent = 0;
  absl::Duration late_max;
  enum class Where : uint8_t { kEverywhere, kLoops, kOneLoop, kDiskPool };
  Where where = Where::kEverywhere;
};

class SimEnvironment;

// One machine. SimWorld::AddNode makes it and the world owns it. It is the clock of all its lives.
class SimNode : public Clock {
 public:
  SimNode(SimWorld& world, uint32_t index, std::string name);
  ~SimNode() override;

  uint32_t index() const { return index_; }
  const std::string& name() const { return name_; }
  SimWorld& world() const { return world_; }
  SimDisk& disk() { return disk_; }

  // Begins a life. The former one, if any, must have ended.
  SimEnvironment& Start();
  // Ends the life; the disk keeps what `mode` says.
  void Crash(CrashMode mode);
  // As Crash, but after `changes` more changes reached the disk: between two steps of whatever is
  // running then. `crashed` runs once as an event of the world right after; by then the node is
  // dead.
  void CrashAfterChanges(int64_t changes, CrashMode mode, std::function<void()> crashed);
  bool alive() const { return life_->alive; }
  bool IsLife(uint32_t number) const { return life_->alive && life_->number == number; }
  uint32_t life() const { return life_->number; }
  const std::shared_ptr<SimLife>& life_state() const { return life_; }
  SimEnvironment& environment() { return *environments_.back(); }

  // Frozen: no event of this node runs before (SIGSTOP; time and devices go on).
  void PauseFor(absl::Duration duration);
  Instant paused_until() const { return paused_until_; }
  // Frozen together with its monotonic clock: a virtual machine that is paused from outside. What
  // is left of its timers is left afterwards too; time in the world and devices go on.
  void StandStillFor(absl::Duration duration);
  bool has_stood_still() const { return has_stood_still_; }

  // For that long tasks are late, each by a drawn time. What is behind one on its loop waits with
  // it, and then all of it runs in its order.
  void LagFor(absl::Duration length, SimLag lag);
  // Whether a task that is due then may be late.
  bool Lags(Instant due) const { return due <= lags_until_; }
  // When it runs.
  Instant WhenReached(Instant due, EventKind kind, size_t loop);
  // The loop that runs what is posted to it; null: what comes over the network, the first loop's.
  static size_t LoopOf(const Strand* strand);
  // The longest that one waited, since LagFor; when one did last.
  absl::Duration latest_task() const { return latest_task_; }
  Instant lags_until() const { return lags_until_; }

  // The node's own clocks, each at its own rate: one of 1.01 runs 1 % fast.
  Instant Now() const override;
  // Unless it stands still until then.
  Instant NowAt(Instant world) const;
  int64_t WallMicros() const override;
  void SetClockRate(double rate);
  void SetWallRate(double rate) { wall_rate_ = rate; }
  // Somebody set it, and it keeps time from now on.
  void SetWallRight() {
    wall_rate_ = 1;
    wall_offset_micros_ = kWallStartMicros;
  }
  void JumpWall(absl::Duration jump) { wall_offset_micros_ += absl::ToInt64Microseconds(jump); }
  // What `local` of this node's time is in the world's.
  absl::Duration ToWorld(absl::Duration local) const;

 private:
  friend class SimWorld;
  void EndLife();

  SimWorld& world_;
  uint32_t index_;
  std::string name_;
  std::shared_ptr<SimLife> life_;
  Instant paused_until_{0};
  SimLag lag_;
  Instant lag_end_{0};
  // lag_end_, or later: a loop has not reached what is due.
  Instant lags_until_{0};
  absl::Duration latest_task_;
  static constexpr size_t kLoops = 2;
  // By loop: when its last late task runs.
  std::array<Instant, kLoops> reaches_{};
  double rate_ = 1.0;
  // anchor_world_ to come: it stands still until then.
  Instant anchor_world_, anchor_local_;
  bool has_stood_still_ = false;
  double wall_rate_ = 1.0;
  int64_t wall_offset_micros_;
  SimDisk disk_;
  std::vector<std::unique_ptr<SimEnvironment>> environments_;
};

// What one life of a node is given. SimNode::Start makes it; it stays valid, though dead, until the
// world ends.
class SimEnvironment : public Environment {
 public:
  explicit SimEnvironment(SimNode& node);
  ~SimEnvironment() override;

  const Clock& clock() const override { return node_; }
  FileSystem& files() override;
  Random& random() override { return random_; }
  StrandPtr NewStrand(std::string_view name) override;
  DiskPool& disk_pool(const std::string& path) override;
  LogDevice& log_device(const std::string& path) override;

  SimNode& node() { return node_; }
  // For tests: runs `task` on `strand` and the world until it ran.
  void RunOn(const StrandPtr& strand, absl::FunctionRef<void()> task);
  // For tests: runs `task` in the disk pool and the world until it ran.
  void RunInPool(absl::FunctionRef<void()> task);
  // In-flight log writes reach the disk (or a crash's coin): called at the end of the life.
  void SpillLogWrites();

 private:
  SimNode& node_;
  const std::shared_ptr<const SimLife> life_;
  size_t strands_ = 0;
  SimRandom random_;
  std::unique_ptr<FileSystem> files_;
  std::unique_ptr<DiskPool> pool_;
  // Made when it is first asked for: clients have no log.
  std::unique_ptr<class SimLogDevice> log_device_;
};

}  // namespace arion::sim
