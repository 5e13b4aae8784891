// DiskHealth: whether one disk takes new writes, has failed, or is slow. Pure: events and time in,
// state out.
//
// Shapes    NORMAL becomes SPACE_INSUFFICIENT at once when a write met "no space", when a log's
//           write waits, or when the usable space falls under the bound. It becomes NORMAL again
//           after kGoodSightings looks in a row, each a quarter (and some) above the bound, with no
//           log waiting. Usable is what is available without what the reserve still lacks. IO_ERROR
//           is sticky. Slow is judged apart from that: in each of kSlowSeconds seconds in a row the
//           p99 of the answers (flush_watch.h) was above the limit, or writes were queued and none
//           was answered. It is over after kCalmSeconds good seconds in a row, twice as many after
//           each relapse. A second in which nothing was asked counts as neither.
// Threads   Not thread-safe; DiskWatch locks.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/time/time.h>

#include <cstdint>

#include "base/histogram.h"
#include "base/instant.h"
#include "disks/disk_options.h"
#include "env/file_system.h"
#include "messages/replication_messages.h"

namespace arion {

// One disk. It starts NORMAL, not slow, and with no space known.
class DiskHealth {
 public:
  // What makes a state change; see Shapes.
  static constexpr int kGoodSightings = 2;
  static constexpr int kSlowSeconds = 4;
  static constexpr int kCalmSeconds = 8;
  // The most good seconds that a disk with many relapses must show.
  static constexpr int kCalmSecondsMax = 512;
  // A disk that is slow again within this time of having been calm has relapsed.
  static constexpr absl::Duration kRelapse = absl::Minutes(10);

  explicit DiskHealth(DiskHealthOptions options) : options_(options) {}

  // ---- events ----
  // The disk's space, as looked at now.
  void OnSpace(FileSystem::Space space);
  // The reserve file has this many bytes now.
  void OnReserve(uint64_t bytes) { reserve_bytes_ = bytes; }
  // A write failed for want of space.
  void OnNoSpace();
  // A log's write waits for space, open files or memory, until OnLogGoesOn. Each wait is reported
  // once.
  void OnLogWaits() {
    ++logs_waiting_;
    OnNoSpace();
  }
  void OnLogGoesOn() { --logs_waiting_; }
  // A read, write or flush failed. Never forgotten.
  void OnIoError() { ++io_errors_; }
  // To be called once a second. `answers`: how long the flushes of that second took; `queued`: how
  // many writes waited at its end.
  void OnSecond(Instant now, const Histogram::Snapshot& answers, int64_t queued);

  // ---- state ----
  // IO_ERROR hides the lack of space; has_space does not.
  DiskStatus state() const {
    if (io_errors_ > 0) return DiskStatus::kIoError;
    return has_space_ ? DiskStatus::kNormal : DiskStatus::kSpaceInsufficient;
  }
  // Whether new writes may be taken.
  bool has_space() const { return has_space_; }
  bool is_slow() const { return is_slow_; }
  // When the first late second began. Meaningful while is_slow().
  Instant slow_since() const { return slow_since_; }
  // Of the last second; 0: nothing was flushed.
  uint64_t sync_p99_nanos() const { return sync_p99_nanos_; }
  FileSystem::Space space() const { return space_; }
  uint64_t reserve_bytes() const { return reserve_bytes_; }
  // Since the server's start. A directory that could not be read then counts one.
  int64_t io_errors() const { return io_errors_; }
  // Logs whose writes wait now.
  int64_t logs_waiting() const { return logs_waiting_; }
  // The bound that counts: the larger of the two options.
  uint64_t available_bytes_min() const;
  // The size the reserve file should have: the option, but at most 1 % of the disk.
  uint64_t reserve_bytes_wanted() const;
  // How many bytes the reserve file may grow by now. 0 where that would bring the disk near its
  // bound.
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
  // Both in a row; good ones are counted only while the disk is slow.
  int late_seconds_ = 0;
  int good_seconds_ = 0;
  // How many good seconds end the slowness this time.
  int calm_seconds_ = kCalmSeconds;
  Instant slow_since_{0};
  Instant calm_since_{0};
  uint64_t sync_p99_nanos_ = 0;
};

}  // namespace arion
