// LogReplayStats: what was read of private logs, and applied, when replicas were opened; since the
// server's start.
//
// Threads   Thread-safe.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/counter.h"

namespace arion {

// One for a server; the replicas that open add to it, and metrics show it.
struct LogReplayStats {
  // Logs replayed, the mutations and bytes read from them, and the time that took.
  Counter logs;
  Counter mutations;
  Counter bytes;
  Counter nanos;
  // Records that were read into the cache because they were read before the restart.
  Counter warmed_keys;
};

}  // namespace arion
