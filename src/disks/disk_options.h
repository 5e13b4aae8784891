// What the operator decides of each disk, beside where it lies (disk_layout.h).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/time/time.h>

#include <cstdint>

namespace arion {

// When a disk takes no writes, or is slow (disk_health.h). Bytes and ratios are of the whole disk,
// whoever uses it.
struct DiskHealthOptions {
  // Below this the disk takes no new writes. 0 (and a ratio of 0): only a write that fails counts.
  uint64_t available_bytes_min = 256 << 20;
  // The same as a share of the disk, 0 to 1. The larger of the two bounds counts.
  double available_ratio_min = 0;
  // The wanted size of the reserve file; 0: none is kept.
  uint64_t reserve_bytes = 64 << 20;
  // The p99 of a second's flushes above which that second is late.
  absl::Duration sync_p99_max = absl::Milliseconds(500);
};

// How long each kind of garbage is kept (garbage_collector.h), and how often the disks are
// searched.
struct GarbageOptions {
  absl::Duration interval = absl::Minutes(10);
  absl::Duration keep_failed = absl::Hours(7 * 24);
  absl::Duration keep_unneeded = absl::Hours(24);
  absl::Duration keep_move_target = absl::Hours(24);
  absl::Duration keep_move_source = absl::Hours(7 * 24);
};

}  // namespace arion
