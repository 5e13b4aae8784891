// StateMove: the meta server's state moves from its journal to ZooKeeper, or back, while no meta
// server runs.
//
// Shapes    The mark first, at both ends (state_mark.h); then all of it is written where it goes,
//           read back and compared, and the mark ends the move. To ZooKeeper: meta.journal becomes
//           meta.journal.moved in between. To a journal: it is written in <directory>/arriving and
//           gets its place at once; in ZooKeeper the tree stays, under the mark.
//           The lock of the meta servers (leader_lock.h) is held all the while, and so is that of
//           the directory.
// Errors    FailedPrecondition: somebody runs, or one of the two ends is not what it should be; it
//           names the node or file, and what to do. NotFound: there is nothing to move. DataLoss:
//           what is there can't be understood, or was not read back as it was written.
//           Unavailable: ZooKeeper does not answer. After an error the move may be interrupted in
//           its middle; the same command again goes on.
// Threads   Start: any thread. `done` comes on a strand.
// Lifetime  Environment and ZooKeeper outlive it. Destroyed, it ends where it is.
// Promises  state_mark/P1: interrupted anywhere, there is one place to begin from, and the same
//           move again completes it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/status/statusor.h>
#include <absl/time/time.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "meta_ensemble/state_mark.h"

namespace arion {

class Environment;
class ZooKeeper;

// Between which places.
struct StateMoveOptions {
  StateMark::To to = StateMark::To::kZooKeeper;
  // Of the journal.
  std::string directory;
  // As in MetaMemberOptions.
  std::string root = "/", lock_root;
  // The two places, for people and for the mark. The same for each attempt of a move.
  std::string journal, zookeeper;
  // Of the directory; 0: it has none.
  uint32_t cluster_id = 0;
  // The directory is to have this one from now on. In its pool.
  std::function<absl::Status(uint32_t id)> keep_cluster_id;
  // For ZooKeeper to answer, and give the lock.
  absl::Duration patience = absl::Seconds(30);
};

// What was moved, as it was read back.
struct MovedState {
  size_t entries = 0, tables = 0, partitions = 0;
  int64_t ballots = 0;
  // An earlier move had ended.
  bool was_there = false;
};

//   StateMove move(env, zookeeper, {.to = StateMark::To::kZooKeeper, ...});
//   move.Start([](absl::StatusOr<MovedState> moved) { ... });
class StateMove {
 public:
  StateMove(Environment& env, ZooKeeper& zookeeper, StateMoveOptions options);
  ~StateMove();
  void Start(std::function<void(absl::StatusOr<MovedState>)> done);

 private:
  class State;
  std::shared_ptr<State> state_;
};

}  // namespace arion
