// EngineIoStats: what an engine's files cost their disk.
//
// Threads   Thread-safe.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/counter.h"
#include "base/histogram.h"

namespace arion {

// Of all engines on one disk, since the start. The factory owns it; pages read it.
struct EngineIoStats {
  Counter reads;
  Counter read_bytes;
  Counter writes;
  Counter written_bytes;
  // How long syncs of files took.
  Histogram sync_nanos;
  // Calls that the disk failed, or that found no space.
  Counter failures;
};

}  // namespace arion
