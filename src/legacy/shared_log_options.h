// SharedLogOptions: what the operator decides about an older version's shared log.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/time/time.h>

#include <cstdint>

namespace arion {

// What is done about a shared log that can't be read to its end. The operator's choice: nobody else
// can say whether what is missing is in other copies.
enum class DamagedSharedLog : uint8_t {
  // The server does not start.
  kRefuse,
  // What can be read counts; the damaged files are kept under another name.
  kSetAside,
};

// Settings of the take-over and the collection; main/ fills it from the configuration, and it stays
// fixed while the server runs.
struct SharedLogOptions {
  DamagedSharedLog damaged = DamagedSharedLog::kRefuse;
  // gc_interval_ms of older versions.
  absl::Duration collection_interval = absl::Seconds(30);
  // Forced at a time; 0: no limit.
  int32_t flushes_max = 64;
  // How long files are kept for replicas that are in no data directory (decision 11).
  absl::Duration missing_wait_max = absl::InfiniteDuration();
};

}  // namespace arion
