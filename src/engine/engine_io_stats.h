// What an engine's files cost their disk. Thread-safe. SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/counter.h"
#include "base/histogram.h"

namespace arion {

struct EngineIoStats {
  Counter reads;
  Counter read_bytes;
  Counter writes;
  Counter written_bytes;
  Histogram sync_nanos;  // of files
  Counter failures;      // calls the disk failed, or that found no space
};

}  // namespace arion
