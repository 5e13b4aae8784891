// SPDX-License-Identifier: Apache-2.0
#include "sim/sim_environment.h"

#include <algorithm>
#include <deque>
#include <utility>

#include "base/log.h"
#include "sim/sim_file_system.h"
#include "sim/sim_log_device.h"

namespace arion::sim {
namespace {

// More than one, so that tasks of a pool overlap and finish in another order.
constexpr int kPoolThreads = 4;
constexpr absl::Duration kLateMin = absl::Milliseconds(10);

class SimStrand : public Strand {
 public:
  SimStrand(SimNode& node, std::shared_ptr<const SimLife> life, size_t number)
      : node_(node), life_(std::move(life)), number_(number) {}
  size_t number() const { return number_; }

  void Post(Task task) override {
    // A crash is complete: what the dying task still posts goes nowhere.
    if (!life_->alive) return;
    SimWorld& world = node_.world();
    // Strands of one loop interleave freely, but what is posted to one runs in order (strand/S1).
    // A drawn delay, so that seeds try different interleavings of strands.
    Instant at = world.now() + absl::Nanoseconds(500 + world.random().Below(8000));
    last_ = std::max(last_, at);
    world.Schedule(last_, EventKind::kPost, &node_, life_->number, this, std::move(task));
  }
  TimerId PostAfter(absl::Duration delay, Task task) override {
    if (!life_->alive) return kNoTimer;
    SimWorld& world = node_.world();
    // World time counts nanoseconds in 64 bits: an endless timer must not overflow it.
    delay = std::clamp(delay, absl::ZeroDuration(), absl::Hours(24 * 365));
    return world.Schedule(
        world.now() + node_.ToWorld(delay) + absl::Nanoseconds(1000 + world.random().Below(50000)),
        EventKind::kTimer, &node_, life_->number, this, std::move(task));
  }
  void Cancel(TimerId timer) override { node_.world().Cancel(timer); }
  bool IsCurrent() const override { return node_.world().current_strand() == this; }

 private:
  SimNode& node_;
  std::shared_ptr<const SimLife> life_;
  const size_t number_;
  Instant last_{0};
};

class SimDiskPool : public DiskPool {
 public:
  SimDiskPool(SimNode& node, std::shared_ptr<const SimLife> life)
      : node_(node), life_(std::move(life)) {}

  void Submit(Task work) override {
    if (!life_->alive) return;
    waiting_.push_back(std::move(work));
    StartWork();
  }

 private:
  void StartWork() {
    // Tasks begin in their order and end as their drawn times say.
    while (busy_ < kPoolThreads && !waiting_.empty()) {
      ++busy_;
      SimRandom& random = node_.world().random();
      // Most tasks are short, a few take as long as a flush of a busy disk.
      int64_t micros = random.Percent(2) ? random.Between(2000, 30000) : random.Between(20, 800);
      Instant at = node_.world().now() + absl::Microseconds(micros * node_.disk().slowness());
      node_.world().Schedule(at, EventKind::kPool, &node_, life_->number, nullptr,
                             [this, work = std::move(waiting_.front())]() mutable {
                               work();
                               // What the task holds goes before the next one begins, as on a real
                               // thread.
                               work = nullptr;
                               --busy_;
                               StartWork();
                             });
      waiting_.pop_front();
    }
  }

  SimNode& node_;
  std::shared_ptr<const SimLife> life_;
  std::deque<Task> waiting_;
  int busy_ = 0;
};

}  // namespace

SimNode::SimNode(SimWorld& world, uint32_t index, std::string name)
    : world_(world),
      index_(index),
      name_(std::move(name)),
      life_(std::make_shared<SimLife>()),
      anchor_world_(world.now()),
      // Each node's monotonic clock has another origin: two of them must never be compared.
      anchor_local_(Instant(1000000000000) + absl::Seconds(1000) * index),
      wall_offset_micros_(kWallStartMicros +
                          world.random().Between(-kWallErrorMicros, kWallErrorMicros)),
      disk_(world.random().Next(), [this] { return WallMicros() * 1000; }) {}

SimNode::~SimNode() { EndLife(); }

SimEnvironment& SimNode::Start() {
  CHECK(!life_->alive) << name_ << " lives already";
  uint32_t number = life_->number + 1;
  life_ = std::make_shared<SimLife>();
  // What the cluster's clocks say was in the former process's memory.
  agreed().Forget();
  life_->number = number;
  life_->alive = true;
  PauseFor(absl::ZeroDuration());
  reaches_ = {};
  disk_.Revive();
  // The former ones stay: objects of a dead life may still refer to theirs.
  environments_.push_back(std::make_unique<SimEnvironment>(*this));
  return *environments_.back();
}

void SimNode::EndLife() {
  if (!life_->alive) return;
  // Before the life ends: afterwards the device refuses.
  environments_.back()->SpillLogWrites();
  life_->alive = false;
  world_.DropTasksOf(this, life_->number);
}

void SimNode::Crash(CrashMode mode) {
  EndLife();
  disk_.Revive();
  disk_.Crash(mode);
}

void SimNode::CrashAfterChanges(int64_t changes, CrashMode mode, std::function<void()> crashed) {
  disk_.DieAfterChanges(
      changes, [this, mode, crashed = std::move(crashed), number = life_->number]() mutable {
        if (!IsLife(number)) return;
        // The task that was running goes on to its end, but nothing of it reaches disk, net or
        // strands.
        environments_.back()->SpillLogWrites();
        life_->alive = false;
        disk_.Crash(mode);
        world_.After(absl::ZeroDuration(), EventKind::kFault,
                     [this, number, crashed = std::move(crashed)] {
                       world_.DropTasksOf(this, number);
                       crashed();
                     });
      });
}

void SimNode::LagFor(absl::Duration length, SimLag lag) {
  lag_ = lag;
  lag_end_ = world_.now() + length;
  lags_until_ = std::max(lags_until_, lag_end_);
  latest_task_ = absl::ZeroDuration();
}

size_t SimNode::LoopOf(const Strand* strand) {
  return strand == nullptr ? 0 : static_cast<const SimStrand*>(strand)->number() % kLoops;
}

Instant SimNode::WhenReached(Instant due, EventKind kind, size_t loop) {
  // Pool tasks lag one by one, since they have threads of their own; a loop's queue behind each
  // other.
  const bool is_pools = kind == EventKind::kPool;
  // Also where it is due at the same instant: it comes behind what is there already.
  if (!is_pools && reaches_[loop] >= due) return reaches_[loop];
  const bool is_meant = lag_.where == SimLag::Where::kEverywhere ||
                        (lag_.where == SimLag::Where::kDiskPool
                             ? is_pools
                             : !is_pools && (lag_.where == SimLag::Where::kLoops || loop == 0));
  if (!is_meant || due >= lag_end_ || !world_.random().Percent(lag_.percent)) return due;
  const absl::Duration late = world_.random().Between(kLateMin, std::max(kLateMin, lag_.late_max));
  const Instant reached = due + late;
  latest_task_ = std::max(latest_task_, late);
  lags_until_ = std::max(lags_until_, reached);
  if (!is_pools) reaches_[loop] = reached;
  return reached;
}

void SimNode::PauseFor(absl::Duration duration) {
  // A shorter pause replaces a longer one: healing ends all of them.
  const Instant until = std::exchange(paused_until_, world_.now() + duration);
  // Its events wait in the queue for the former end.
  if (paused_until_ < until) world_.WakeEarlier(*this);
  anchor_world_ = std::min(anchor_world_, world_.now());
}

void SimNode::StandStillFor(absl::Duration duration) {
  PauseFor(duration);
  anchor_local_ = Now();
  anchor_world_ = paused_until_;
  has_stood_still_ = true;
}

Instant SimNode::Now() const { return NowAt(world_.now()); }

Instant SimNode::NowAt(Instant world) const {
  // Before the anchor the clock stands still (StandStillFor).
  const int64_t passed = std::max(int64_t{0}, world.nanos() - anchor_world_.nanos());
  if (rate_ == 1.0) return Instant(anchor_local_.nanos() + passed);
  const auto elapsed = static_cast<double>(passed);
  return Instant(anchor_local_.nanos() + static_cast<int64_t>(elapsed * rate_));
}

int64_t SimNode::WallMicros() const {
  return wall_offset_micros_ +
         static_cast<int64_t>(static_cast<double>(world_.now().nanos() / 1000) * wall_rate_);
}

void SimNode::SetClockRate(double rate) {
  anchor_local_ = Now();
  anchor_world_ = world_.now();
  rate_ = rate;
}

absl::Duration SimNode::ToWorld(absl::Duration local) const {
  // Exact where nothing is to be scaled: nanoseconds as doubles lose their last digits.
  if (rate_ == 1.0) return local;
  return absl::Nanoseconds(
      static_cast<int64_t>(static_cast<double>(absl::ToInt64Nanoseconds(local)) / rate_));
}

SimEnvironment::SimEnvironment(SimNode& node)
    : node_(node),
      life_(node.life_state()),
      random_(node.world().random().Next()),
      files_(std::make_unique<SimFileSystem>(node.disk(), life_)),
      pool_(std::make_unique<SimDiskPool>(node, life_)) {}

SimEnvironment::~SimEnvironment() = default;

FileSystem& SimEnvironment::files() { return *files_; }

StrandPtr SimEnvironment::NewStrand(std::string_view) {
  return std::make_shared<SimStrand>(node_, life_, strands_++);
}

DiskPool& SimEnvironment::disk_pool(const std::string&) { return *pool_; }

LogDevice& SimEnvironment::log_device(const std::string&) {
  if (log_device_ == nullptr) log_device_ = std::make_unique<SimLogDevice>(node_, life_);
  return *log_device_;
}

void SimEnvironment::RunOn(const StrandPtr& strand, absl::FunctionRef<void()> task) {
  bool ran = false;
  strand->Post([&] {
    task();
    ran = true;
  });
  CHECK(node_.world().RunUntil([&] { return ran; }, absl::Hours(1)))
      << "the strand's life has ended";
}

void SimEnvironment::RunInPool(absl::FunctionRef<void()> task) {
  bool ran = false;
  pool_->Submit([&] {
    task();
    ran = true;
  });
  CHECK(node_.world().RunUntil([&] { return ran; }, absl::Hours(1))) << "the pool's life has ended";
}

void SimEnvironment::SpillLogWrites() {
  if (log_device_ != nullptr) log_device_->Spill();
}

}  // namespace arion::sim
