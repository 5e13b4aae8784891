// SharedLogOptions: what the operator decides about an older version's shared log.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/time/time.h>

#include <cstdint>

namespace arion {

// What is done about a shared log that can't be read to its end.
enum class DamagedSharedLog : uint8_t {
  kRefuse,    // the server does not start
  kSetAside,  // what can be read counts; the damaged files are kept under another name
};

struct SharedLogOptions {
  DamagedSharedLog damaged = DamagedSharedLog::kRefuse;
  absl::Duration collection_interval = absl::Seconds(30);  // gc_interval_ms
  int32_t flushes_max = 64;                                // forced at a time; 0: no limit
  // How long files are kept for replicas that are in no data directory (decision 11).
  absl::Duration missing_wait_max = absl::InfiniteDuration();
};

}  // namespace arion
