// LogGauges: how large one log is, for displays.
//
// Threads   Thread-safe: the log's catalog changes the values, anybody may read them.
// Lifetime  Shared. They keep their last values when the log is gone.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/counter.h"

namespace arion {

// Each value is right by itself; the two may be read between two changes that belong together.
struct LogGauges {
  // Files with content, dropped ones excluded.
  Gauge files;
  // Of their content, in bytes; space that was written ahead is not counted.
  Gauge bytes;
};

}  // namespace arion
