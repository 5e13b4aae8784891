// SimWorld: one thread, one seed, one queue of events. Everything a simulation does is an event of
// this queue, so equal seeds give equal runs, event by event.
//
// Shapes   An event belongs to a node's life (it runs only while that life lasts, not before a
//          pause of the node ends, and later where the node lags) or to the world (node 0, never
//          refused). Equal times run in the order scheduled.
// Units    World time starts at 1 s. Nodes see it through their own clocks (sim_environment.h).
// Threads  One. Nothing here reads real time, an address or a hash's order to decide anything.
// Promises sim_world/W1  trace_hash() names the run: it folds in time, node, life and kind of every
//              executed event.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/functional/function_ref.h>
#include <absl/time/time.h>

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <queue>
#include <string>
#include <string_view>
#include <vector>

#include "base/instant.h"
#include "env/strand.h"
#include "sim/sim_random.h"

namespace arion::sim {

class SimNode;

// What an event is. It goes into the trace, and decides which events a lag of a node delays.
enum class EventKind : uint8_t {
  kPost = 1,
  kTimer,
  kPool,
  kDisk,
  kMessage,
  kFault,
  kClient,
  kCheck
};

// One world. Declare it before everything that lives in it, and destroy it last.
//
//   SimWorld world(seed);
//   world.After(absl::Seconds(1), EventKind::kFault, [&] { node.Crash(CrashMode::kPowerNone); });
//   world.RunFor(absl::Seconds(5));
//   EXPECT_EQ(world.trace_hash(), former_hash);   // the same seed gave the same run
class SimWorld {
 public:
  explicit SimWorld(uint64_t seed);
  ~SimWorld();
  SimWorld(const SimWorld&) = delete;
  SimWorld& operator=(const SimWorld&) = delete;

  uint64_t seed() const { return seed_; }
  Instant now() const { return now_; }
  SimRandom& random() { return random_; }
  uint64_t trace_hash() const { return trace_hash_; }
  uint64_t events_run() const { return events_run_; }
  void FoldIntoTrace(uint64_t value);

  // A node with an empty disk; it lives as long as the world. See sim_environment.h.
  SimNode& AddNode(std::string name);
  const std::vector<std::unique_ptr<SimNode>>& nodes() const { return nodes_; }

  // Runs the next event; false when there is none.
  bool RunOne();
  void RunFor(absl::Duration duration);
  // Until `done` holds (checked after each event); false when `limit` passed first or nothing is
  // left to run.
  bool RunUntil(absl::FunctionRef<bool()> done, absl::Duration limit);

  // An event of the world itself.
  TimerId After(absl::Duration delay, EventKind kind, Task&& task);

  // For nodes, strands, disks and transports.
  TimerId Schedule(Instant at, EventKind kind, SimNode* node, uint32_t life, const Strand* strand,
                   Task&& task);
  void Cancel(TimerId id);
  // What waits for the end of a pause of this node, which now ends earlier.
  void WakeEarlier(const SimNode& node);
  // Destroys the tasks of a life that ended.
  void DropTasksOf(const SimNode* node, uint32_t life);
  const Strand* current_strand() const { return current_strand_; }
  size_t events_waiting() const { return slots_.size() - free_slots_.size(); }
  // Whose event is running; null: the world's own, or none.
  const SimNode* current_node() const { return current_node_; }

 private:
  struct Event {
    Task task;
    // Only compared: it may be gone before its tasks run.
    const Strand* strand = nullptr;
    size_t loop = 0;
    SimNode* node = nullptr;
    uint32_t life = 0;
    uint32_t generation = 1;
    EventKind kind = EventKind::kPost;
    // Its time is when its node gets to it.
    bool has_lagged = false;
    // It waits for its node's pause to end.
    bool is_paused = false;
    // The sequence number of the queue entry that counts; others of this slot are void.
    uint64_t sequence = 0;
    // Of a node's timer: by the node's clock.
    Instant due{0};
  };
  struct Entry {
    int64_t at;
    uint64_t sequence;
    uint32_t slot;
    bool operator>(const Entry& other) const {
      return at != other.at ? at > other.at : sequence > other.sequence;
    }
  };
  void Enqueue(Instant at, uint32_t slot);
  void Enqueue(const Entry& entry);
  // Moves the next later events that are still wanted to where they are put in order.
  void BringNearer();
  void BringNearer(const std::vector<Entry>& entries);
  int64_t NextStretch();
  // How much longer a node whose clock stood still meanwhile waits for a timer that is reached now.
  static absl::Duration LeftOf(const Event& event, Instant now);
  void Free(uint32_t slot);

  uint64_t seed_;
  SimRandom random_;
  Instant now_{1000000000};
  uint64_t next_sequence_ = 1;
  uint64_t trace_hash_ = 0;
  uint64_t events_run_ = 0;
  const Strand* current_strand_ = nullptr;
  const SimNode* current_node_ = nullptr;
  std::vector<std::unique_ptr<SimNode>> nodes_;
  std::vector<Event> slots_;
  std::vector<uint32_t> free_slots_;
  // What is due soon, in order; and what comes later, by its stretch of time: most of it are
  // timeouts that are cancelled long before, and never cost a place in the order.
  std::priority_queue<Entry, std::vector<Entry>, std::greater<Entry>> near_;
  // The last stretch of which everything is in near_.
  int64_t near_stretch_ = 0;
  // The next kRingStretches - 1 stretches behind it, each at its number modulo that; and what is
  // farther off, which stays there until its stretch comes.
  static constexpr int64_t kRingStretches = 1024;
  std::vector<Entry>& RingAt(int64_t stretch) {
    return ring_[static_cast<size_t>(stretch % kRingStretches)];
  }
  std::array<std::vector<Entry>, kRingStretches> ring_;
  size_t ring_entries_ = 0;
  std::map<int64_t, std::vector<Entry>> far_;
};

}  // namespace arion::sim
