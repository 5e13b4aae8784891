// PeerPace: which other servers' acknowledgements of prepares stay far slower than the others', as
// the primaries of this server see them.
//
// Shapes    Once a second, for each peer with kAcksMin or more since it was last judged: its p99
//           against the median of the other peers' (where there are two servers there is nothing to
//           compare). It is late when it takes kNoticed and `ratio` times as long; in order below
//           half of either. Late kLateSeconds times more often than not: slow. It is over after
//           kCalm in which it was never late (a slow one that lost its roles is asked nothing any
//           more), twice as long after each relapse within kRelapse, calm_max at most.
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

class PeerPace {
 public:
  static constexpr absl::Duration kNoticed = absl::Milliseconds(50);
  static constexpr uint64_t kAcksMin = 10;
  static constexpr int kLateSeconds = 8;
  static constexpr absl::Duration kCalm = absl::Seconds(30);
  static constexpr absl::Duration kRelapse = absl::Minutes(10);

  struct Options {
    double ratio = 5;  // 0: nobody is ever called slow
    absl::Duration calm_max = absl::Minutes(16);
  };
  explicit PeerPace(Options options) : options_(options) {}

  void OnAck(Endpoint peer, absl::Duration took);
  // Whether somebody has become slow, or is no longer.
  bool OnSecond(Instant now);
  std::vector<Endpoint> Slow() const;

 private:
  struct Peer {
    std::array<uint32_t, LatencyBuckets::kBuckets> acks{};
    uint64_t count = 0;  // of them
    int lateness = 0;
    bool is_slow = false;
    Instant late_at{0};  // the last time
    Instant calm_since{0};
    absl::Duration calm;  // of a slow one: how long to be in order before it is none
  };
  static absl::Duration TakeP99(Peer& peer);
  bool Judge(Endpoint endpoint, Peer& peer, absl::Duration p99, absl::Duration others, Instant now);

  const Options options_;
  mutable Mutex mutex_;
  std::map<Endpoint, Peer> peers_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace arion
