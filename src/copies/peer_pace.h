// PeerPace: which other servers acknowledge prepares far more slowly than the rest, as the
// primaries of this server see them.
//
// Shapes    Once a second each peer with kAcksMin or more acknowledgements since it was last judged
//           is judged: its p99 against the median of the other peers'. (With one such peer there is
//           nothing to compare.) A peer is late when its p99 is at least kNoticed and `ratio` times
//           the median. It is in order below half of either bound. A peer that was late in
//           kLateSeconds more of its judged seconds than it was in order is slow. That is over once
//           kCalm has passed in which each judged second was in order. (A slow peer that lost its
//           roles is asked nothing any more.) The time doubles with each relapse within kRelapse,
//           up to calm_max.
// Threads   Thread-safe.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/time/time.h>

#include <array>
#include <cstdint>
#include <map>
#include <vector>

#include "base/ids.h"
#include "base/instant.h"
#include "base/latency_buckets.h"
#include "base/mutex.h"

namespace arion {

// One for a server.
class PeerPace {
 public:
  // A p99 below this is never late.
  static constexpr absl::Duration kNoticed = absl::Milliseconds(50);
  static constexpr uint64_t kAcksMin = 10;
  static constexpr int kLateSeconds = 8;
  static constexpr absl::Duration kCalm = absl::Seconds(30);
  static constexpr absl::Duration kRelapse = absl::Minutes(10);

  struct Options {
    // How many times the others' p99 is late; 0: nobody is ever called slow.
    double ratio = 5;
    absl::Duration calm_max = absl::Minutes(16);
  };
  explicit PeerPace(Options options) : options_(options) {}

  // A secondary acknowledged a prepare after `took`.
  void OnAck(Endpoint peer, absl::Duration took);
  // Judges; to be called once a second. True: somebody has become slow, or is no longer.
  bool OnSecond(Instant now);
  // Who is slow now, in the order of addresses.
  std::vector<Endpoint> Slow() const;

 private:
  // One peer as it is seen from here.
  struct Peer {
    std::array<uint32_t, LatencyBuckets::kBuckets> acks{};
    // Of `acks`.
    uint64_t count = 0;
    // Seconds late minus seconds in order, from 0 to kLateSeconds.
    int lateness = 0;
    bool is_slow = false;
    // When it was late last.
    Instant late_at{0};
    Instant calm_since{0};
    // Of a slow one: how long it must not be late to be as the others again.
    absl::Duration calm;
  };
  static absl::Duration TakeP99(Peer& peer);
  bool Judge(Endpoint endpoint, Peer& peer, absl::Duration p99, absl::Duration others, Instant now);

  const Options options_;
  mutable Mutex mutex_;
  std::map<Endpoint, Peer> peers_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace arion
