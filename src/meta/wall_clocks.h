// WallClocks: what beacons tell the meta server of wall clocks, and where it is shown: in
// ClusterState::clocks and Node::clock_offset, has_wrong_clock.
//
// Shapes    Judged by ClusterClock. A machine that was paused from outside has a monotonic clock
//           that stood still, and beacons that waited tell an earlier time: where our two clocks
//           went apart, what was heard is forgotten, and nothing counts for a moment.
// Threads   Strand-bound.
// Lifetime  The clock and the state outlive it.
// Promises  wall_clocks/W1  What the state shows of clocks is what ClusterClock says, after each
//               call but ForgetServer.
//           wall_clocks/W2  `on_judged` comes whenever a server's clock becomes wrong, or right
//               again.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/time/time.h>

#include <cstdint>
#include <functional>
#include <optional>

#include "env/clock.h"
#include "meta_state/cluster_clock.h"

namespace arion {

struct ClusterState;

// A member of MetaServer::State. ServerRequests calls Note for each beacon that counts.
class WallClocks {
 public:
  // `offset_max`: of a wall clock, from what most show.
  WallClocks(const Clock& clock, ClusterState& state, absl::Duration offset_max,
             std::function<void()> on_judged);

  // A beacon of `from` said that. Before `counts_from` beacons waited: their clocks don't count.
  void Note(Endpoint from, std::optional<int64_t> wall_ms, Instant counts_from);
  // It began anew.
  void ForgetServer(Endpoint server) { cluster_clock_.Forget(server); }
  void ForgetDeadServer(Endpoint server);
  // Since 1970. nullopt: most clocks do not agree.
  std::optional<int64_t> AgreedMillis() const;

 private:
  void Show();

  const Clock& clock_;
  ClusterState& state_;
  const std::function<void()> on_judged_;
  ClusterClock cluster_clock_;
  // Our wall clock minus the monotonic one.
  std::optional<absl::Duration> ours_before_;
  // From when on servers' clocks count.
  Instant counts_from_;
};

}  // namespace arion
