// ServedPartition: what admission, reads and writes of one partition's clients use of its replica.
//
// Threads   Strand-bound; `clock`, `pid`, `server`, `stats` and `engine`'s copies also in the pool.
// Lifetime  The replica's; outlives the parts that it is given to. `owner` tells whether they are
//           still there.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/functional/any_invocable.h>
#include <absl/status/status.h>

#include <functional>
#include <memory>
#include <string>

#include "base/ids.h"
#include "engine/engine.h"
#include "env/clock.h"
#include "env/strand.h"
#include "stats/request_stats.h"

namespace arion {

class Office;

// One for each replica, made with it. It gives its parts only what they need, so that they can be
// tested without a replica.
struct ServedPartition {
  // Runs `work` in the disk's pool, then `then` on the strand; the parts stay as long.
  using InPool = std::function<void(absl::AnyInvocable<absl::Status()> work,
                                    absl::AnyInvocable<void(absl::Status)> then)>;

  const Clock& clock;
  const StrandPtr strand;
  const PartitionId pid;
  // This server's address, as answers name it.
  const std::string server;
  const std::shared_ptr<RequestStats> stats;
  const Office& office;
  // Null while it is exchanged.
  const std::shared_ptr<Engine>& engine;
  // Work that comes back later locks it first, and does nothing where it is gone.
  std::function<std::weak_ptr<void>()> owner;
  InPool in_pool;
  // Takes the replica out of service, because what its disk or engine said can't be trusted any
  // more.
  std::function<void(const std::string& why)> fence;
  // Applies what a secondary has gathered, before it answers a read.
  std::function<void()> catch_up;
  // Names the replica in the log.
  std::function<std::string()> tag;

  bool IsTooLate(Instant deadline) const { return clock.Now() >= deadline; }
  ReplicaFigures& figures() const { return stats->figures(); }
  void NoteKey(KeyUse use, std::string_view hash_key, Instant now) const {
    stats->hot_keys().Note(use, hash_key, now);
  }
};

}  // namespace arion
