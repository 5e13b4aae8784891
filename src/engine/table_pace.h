// TablePace: how long a flush of records to a table rests between two pieces of it, so that the
// logs of the same disk do not wait behind a whole memtable.
//
// Shapes    While the disk's logs are synced: kRests times as long as the piece took to get there,
//           kRestMax at most; else not at all. Several flushes of a disk that rest so leave the
//           logs, which write the same bytes, more of the disk than they need to keep ahead.
// Threads   Thread-safe. Pure otherwise: the time and the number of syncs come by argument.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/time/time.h>

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "base/instant.h"

namespace arion {

// One for a disk; its RocksdbFileSystem owns it and asks it after each piece.
class TablePace {
 public:
  // How much is written between two rests.
  static constexpr uint64_t kPieceBytes = 256 << 10;
  static constexpr int kRests = 3;
  static constexpr absl::Duration kRestMax = absl::Milliseconds(20);
  // Logs count as being synced when the last sync was seen within this time.
  static constexpr absl::Duration kLately = absl::Milliseconds(30);

  // How long to rest after a piece that took `took`. `log_syncs`: of this disk, since the start.
  absl::Duration RestAfter(absl::Duration took, int64_t log_syncs, Instant now) {
    if (log_syncs_.exchange(log_syncs, std::memory_order_relaxed) != log_syncs)
      synced_at_nanos_.store(now.nanos(), std::memory_order_relaxed);
    const Instant synced_at(synced_at_nanos_.load(std::memory_order_relaxed));
    if (log_syncs == 0 || now - synced_at > kLately) return absl::ZeroDuration();
    return std::min(took * kRests, kRestMax);
  }

 private:
  // As the last asker saw them, and when the number last rose.
  std::atomic<int64_t> log_syncs_{0};
  std::atomic<int64_t> synced_at_nanos_{0};
};

}  // namespace arion
