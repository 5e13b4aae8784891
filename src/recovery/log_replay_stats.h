// LogReplayStats: what was read of private logs, and applied, when replicas were opened; since the server's start.
//
// Threads   Thread-safe.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/counter.h"

namespace arion {

struct LogReplayStats {
  Counter logs;
  Counter mutations;
  Counter bytes;
  Counter nanos;
  Counter warmed_keys;  // read into the cache because they were read before the restart
};

}  // namespace arion
