// DiskHealth: what one disk can be trusted with, judged from what is seen of it. Pure: events and
// time in, state out.
//
// Shapes    NORMAL -> SPACE_INSUFFICIENT at once when something met "no space", when a log's write
//           waits for space, or when the usable space falls under the bound; back after
//           kGoodSightings looks in a row, each a quarter (and some) above the bound, with nobody
//           waiting. Usable is what is available without what the reserve still lacks. IO_ERROR is
//           sticky. Slow stands beside: the p99 of a second's answers (flush_watch.h) above the
//           limit, or writes queued and none answered, in kSlowSeconds seconds in a row. It is over
//           after kCalmSeconds good ones in a row, twice as many after each relapse; one in which
//           nothing was asked is none.
// Threads   Not thread-safe; DiskWatch locks.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/time/time.h>

#include <cstdint>

#include "base/histogram.h"
#include "base/instant.h"
#include "env/file_system.h"
#include "messages/replication_messages.h"

namespace arion {

struct DiskHealthOptions {
  uint64_t available_bytes_min = 256 << 20;  // 0: only a write that fails counts
  double available_ratio_min = 0;            // of the whole disk; the larger bound counts
  uint64_t reserve_bytes = 64 << 20;         // wanted size of the reserve file; 0: none
  absl::Duration sync_p99_max = absl::Milliseconds(500);
};

class DiskHealth {
 public:
  static constexpr int kGoodSightings = 2;
  static constexpr int kSlowSeconds = 4;
  static constexpr int kCalmSeconds = 8;
  static constexpr int kCalmSecondsMax = 512;
  static constexpr absl::Duration kRelapse = absl::Minutes(10);

  explicit DiskHealth(DiskHealthOptions options) : options_(options) {}

  // ---- events ----
  void OnSpace(FileSystem::Space space);
  void OnReserve(uint64_t bytes) { reserve_bytes_ = bytes; }  // its size now
  void OnNoSpace();                                           // a write failed for want of space
  void OnLogWaits() {
    ++logs_waiting_;
    OnNoSpace();
  }
  void OnLogGoesOn() { --logs_waiting_; }
  void OnIoError() { ++io_errors_; }
  // Once a second: how long its flushes took, and how many writes were queued at its end.
  void OnSecond(Instant now, const Histogram::Snapshot& answers, int64_t queued);

  // ---- state ----
  DiskStatus state() const {
    if (io_errors_ > 0) return DiskStatus::kIoError;
    return has_space_ ? DiskStatus::kNormal : DiskStatus::kSpaceInsufficient;
  }
  bool has_space() const { return has_space_; }
  bool is_slow() const { return is_slow_; }
  Instant slow_since() const { return slow_since_; }  // while is_slow
  uint64_t sync_p99_nanos() const { return sync_p99_nanos_; }
  FileSystem::Space space() const { return space_; }
  uint64_t reserve_bytes() const { return reserve_bytes_; }
  int64_t io_errors() const { return io_errors_; }
  int64_t logs_waiting() const { return logs_waiting_; }
  uint64_t available_bytes_min() const;
  // What the reserve file shall have: the wish, at most 1 % of the disk.
  uint64_t reserve_bytes_wanted() const;
  // The reserve may grow by as much now.
  uint64_t ReserveGrowth() const;

 private:
  uint64_t UsableBytes() const;

  const DiskHealthOptions options_;
  bool has_space_ = true;
  int good_sightings_ = 0;
  int64_t logs_waiting_ = 0;
  int64_t io_errors_ = 0;
  FileSystem::Space space_;
  uint64_t reserve_bytes_ = 0;
  bool is_slow_ = false;
  int late_seconds_ = 0;  // in a row
  int good_seconds_ = 0;  // in a row, while slow
  int calm_seconds_ = kCalmSeconds;
  Instant slow_since_{0};
  Instant calm_since_{0};
  uint64_t sync_p99_nanos_ = 0;
};

}  // namespace arion
