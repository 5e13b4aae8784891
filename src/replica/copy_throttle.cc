// SPDX-License-Identifier: Apache-2.0
#include "replica/copy_throttle.h"

#include <algorithm>
#include <utility>

namespace arion {
namespace {

constexpr absl::Duration kSecond = absl::Seconds(1);
constexpr absl::Duration kBreak = absl::Seconds(2);  // after it copies begin anew
constexpr double kBucketSeconds = 0.1;
constexpr double kNoLimitFrom = 4e9;  // a pace nobody reaches

}  // namespace

absl::Duration CopyThrottle::Bucket::Take(double bytes, Instant now) {
  if (rate_ == 0) {
    tokens_ = 0;
    at_ = now;
    return absl::ZeroDuration();
  }
  const double came_in = rate_ * absl::ToDoubleSeconds(now - at_);
  tokens_ = std::min(rate_ * kBucketSeconds, tokens_ + came_in) - bytes;
  at_ = now;
  return tokens_ >= 0 ? absl::ZeroDuration() : absl::Seconds(-tokens_ / rate_);
}

CopyThrottle::CopyThrottle(CopyLimits limits, size_t disks, ForegroundWait foreground_wait)
    : limits_(limits), foreground_wait_(std::move(foreground_wait)), disks_(disks) {
  server_.SetRate(static_cast<double>(limits.server));
  for (Disk& disk : disks_) disk.bucket.SetRate(static_cast<double>(limits.disk));
}

absl::Duration CopyThrottle::Take(size_t index, uint64_t bytes, Instant now) {
  const absl::Duration foreground_wait = foreground_wait_(index);
  const std::lock_guard lock(mutex_);
  Disk& disk = disks_[index];
  if (now - disk.granted_until > kBreak) {
    disk.calm_wait = foreground_wait;
    disk.second_began = now;
    disk.copied = 0;
    disk.bucket.SetRate(static_cast<double>(limits_.disk));
  } else if (now - disk.second_began >= kSecond) {
    Reconsider(disk, foreground_wait, now);
  }
  const auto amount = static_cast<double>(bytes);
  disk.copied += amount;
  const absl::Duration wait = std::max(disk.bucket.Take(amount, now), server_.Take(amount, now));
  disk.granted_until = now + wait;
  disk.bytes += static_cast<int64_t>(bytes);
  return wait;
}

void CopyThrottle::Reconsider(Disk& disk, absl::Duration wait, Instant now) const {
  const double copied_per_second = disk.copied / absl::ToDoubleSeconds(now - disk.second_began);
  const auto limit = static_cast<double>(limits_.disk);
  const double pace = disk.bucket.rate();
  disk.second_began = now;
  disk.copied = 0;
  // It waits as long almost without copies.
  if (pace > 0 && pace <= kPaceMin) disk.calm_wait = std::max(disk.calm_wait, wait);
  if (wait > std::max(kUnhurried, disk.calm_wait * kPatience)) {
    const double half = std::max(copied_per_second / 2, kPaceMin);
    disk.bucket.SetRate(pace == 0 ? half : std::min(half, pace));
  } else if (pace != limit) {
    const double more = pace * 1.25;
    const bool is_free = more >= (limit == 0 ? kNoLimitFrom : limit);
    disk.bucket.SetRate(is_free ? limit : more);
  }
}

void CopyThrottle::SetLimits(CopyLimits limits) {
  const std::lock_guard lock(mutex_);
  limits_ = limits;
  server_.SetRate(static_cast<double>(limits.server));
  for (Disk& disk : disks_) disk.bucket.SetRate(static_cast<double>(limits.disk));
}

double CopyThrottle::PaceOf(size_t disk) const {
  const std::lock_guard lock(mutex_);
  return disks_[disk].bucket.rate();
}

int64_t CopyThrottle::BytesOf(size_t disk) const {
  const std::lock_guard lock(mutex_);
  return disks_[disk].bytes;
}

}  // namespace arion
