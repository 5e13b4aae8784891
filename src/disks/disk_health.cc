// SPDX-License-Identifier: Apache-2.0
#include "disks/disk_health.h"

#include <algorithm>

namespace arion {
namespace {

constexpr uint64_t kReserveShare = 100;  // one part in a hundred
// With a bound of 0 a disk with a few free bytes would count as good again at once.
constexpr uint64_t kGoodBytesMin = 256 << 10;

}  // namespace

uint64_t DiskHealth::available_bytes_min() const {
  const auto by_ratio =
      static_cast<uint64_t>(static_cast<double>(space_.total_bytes) * options_.available_ratio_min);
  return std::max(options_.available_bytes_min, by_ratio);
}

uint64_t DiskHealth::reserve_bytes_wanted() const {
  return std::min(options_.reserve_bytes, space_.total_bytes / kReserveShare);
}

uint64_t DiskHealth::UsableBytes() const {
  const uint64_t wanted = reserve_bytes_wanted();
  // The reserve is given up when space is short. Its bytes must come back before space counts as
  // free, or else the reserve would be made again only to be given up.
  const uint64_t missing = wanted - std::min(wanted, reserve_bytes_);
  return space_.available_bytes - std::min(space_.available_bytes, missing);
}

uint64_t DiskHealth::ReserveGrowth() const {
  const uint64_t wanted = reserve_bytes_wanted();
  if (!has_space_ || reserve_bytes_ >= wanted) return 0;
  // The reserve must not bring the disk near its bound: twice the bound stays free beside it.
  return UsableBytes() >= 2 * available_bytes_min() + wanted ? wanted - reserve_bytes_ : 0;
}

void DiskHealth::OnNoSpace() {
  has_space_ = false;
  good_sightings_ = 0;
}

void DiskHealth::OnSpace(FileSystem::Space space) {
  space_ = space;
  const uint64_t bound = available_bytes_min();
  if (UsableBytes() < bound) return OnNoSpace();
  if (has_space_) return;
  // A margin above the bound, so that the state does not change with every file. While a log waits
  // for space the disk is not good, whatever the file system reports.
  if (logs_waiting_ > 0 || UsableBytes() < std::max(bound + bound / 4, kGoodBytesMin)) {
    good_sightings_ = 0;
    return;
  }
  has_space_ = ++good_sightings_ >= kGoodSightings;
}

void DiskHealth::OnSecond(Instant now, const Histogram::Snapshot& answers, int64_t queued) {
  sync_p99_nanos_ = answers.Quantile(0.99);
  // A device that hangs gives no answers to measure.
  const bool is_stuck = answers.count == 0 && queued > 0;
  if (is_stuck || absl::Nanoseconds(sync_p99_nanos_) > options_.sync_p99_max) {
    good_seconds_ = 0;
    if (late_seconds_++ == 0 && !is_slow_) slow_since_ = now;
    if (is_slow_ || late_seconds_ < kSlowSeconds) return;
    is_slow_ = true;
    // Slow again so soon: the disk was judged calm too early, so it must show twice as many good
    // seconds this time.
    const bool is_relapse = calm_since_ > Instant(0) && now - calm_since_ < kRelapse;
    calm_seconds_ = is_relapse ? std::min(2 * calm_seconds_, kCalmSecondsMax) : kCalmSeconds;
    return;
  }
  late_seconds_ = 0;
  // A second without answers shows nothing.
  if (!is_slow_ || answers.count == 0) return;
  if (++good_seconds_ < calm_seconds_) return;
  is_slow_ = false;
  good_seconds_ = 0;
  calm_since_ = now;
}

}  // namespace arion
