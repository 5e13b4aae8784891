// SPDX-License-Identifier: Apache-2.0
#include "copies/copy_throttle.h"

#include <algorithm>
#include <utility>

namespace arion {
namespace {

constexpr absl::Duration kSecond = absl::Seconds(1);
constexpr absl::Duration kBreak = absl::Seconds(2);  // after it copies begin anew
constexpr double kBucketSeconds = 0.1;
constexpr double kNoLimitFrom = 4e9;    // a pace nobody reaches
constexpr double kNewsOfASecond = 0.2;  // in an average
constexpr double kMoreBesideClients = 1.25;
constexpr double kMore = 2;
constexpr absl::Duration kFlushUnhurried = absl::Milliseconds(5);

using Waits = CopyThrottle::Waits;

bool IsLong(absl::Duration wait, absl::Duration calm, absl::Duration unhurried) {
  return wait > std::max(unhurried, calm * CopyThrottle::kPatience);
}

// Any of the three may be what the disk's users feel; the worst one decides.
bool AreLong(const Waits& waits, const Waits& calm) {
  return IsLong(waits.flush, calm.flush, kFlushUnhurried) ||
         IsLong(waits.read, calm.read, CopyThrottle::kUnhurried) ||
         IsLong(waits.write, calm.write, CopyThrottle::kUnhurried);
}

bool ClientsWait(const Waits& waits) {
  return std::max(waits.read, waits.write) > absl::ZeroDuration();
}

bool SomebodyWaits(const Waits& waits) {
  return ClientsWait(waits) || waits.flush > absl::ZeroDuration();
}

// A second in which nobody waited says nothing.
void Average(absl::Duration wait, absl::Duration* calm) {
  if (wait == absl::ZeroDuration()) return;
  *calm = *calm == absl::ZeroDuration() ? wait : *calm + (wait - *calm) * kNewsOfASecond;
}

void Average(const Waits& waits, Waits* calm) {
  Average(waits.flush, &calm->flush);
  Average(waits.read, &calm->read);
  Average(waits.write, &calm->write);
}

}  // namespace

absl::Duration CopyThrottle::Bucket::Take(double bytes, Instant now) {
  // No limit: nothing is saved up, so that a limit that is set later starts empty.
  if (rate_ == 0) {
    tokens_ = 0;
    at_ = now;
    return absl::ZeroDuration();
  }
  const double came_in = rate_ * absl::ToDoubleSeconds(now - at_);
  // The debt is taken on at once; the next caller waits behind it.
  tokens_ = std::min(rate_ * kBucketSeconds, tokens_ + came_in) - bytes;
  at_ = now;
  return tokens_ >= 0 ? absl::ZeroDuration() : absl::Seconds(-tokens_ / rate_);
}

CopyThrottle::CopyThrottle(CopyLimits limits, size_t disks, ForegroundWait foreground_wait)
    : foreground_wait_(std::move(foreground_wait)),
      disk_count_(disks),
      limits_(limits),
      disks_(disks) {
  server_.SetRate(static_cast<double>(limits.server));
  for (Disk& disk : disks_) disk.bucket.SetRate(static_cast<double>(limits.disk));
}

absl::Duration CopyThrottle::Take(size_t index, uint64_t bytes, Instant now) {
  // Outside the lock: the function asks others, who have locks of their own.
  const Waits waits = foreground_wait_(index);
  const MutexLock lock(mutex_);
  Disk& disk = disks_[index];
  // After a pause nothing is known of what the foreground bears now.
  if (now - disk.granted_until > kBreak)
    Begin(disk, waits, now);
  else if (now - disk.second_began >= kSecond)
    Reconsider(disk, waits, now);
  const auto amount = static_cast<double>(bytes);
  disk.copied += amount;
  const absl::Duration wait = std::max(disk.bucket.Take(amount, now), server_.Take(amount, now));
  disk.granted_until = now + wait;
  disk.bytes += static_cast<int64_t>(bytes);
  return wait;
}

void CopyThrottle::OnSecond(Instant now) {
  for (size_t i = 0; i < disk_count_; ++i) {
    const Waits waits = foreground_wait_(i);
    const MutexLock lock(mutex_);
    Disk& disk = disks_[i];
    // Copies are under way or ended just now: these waits are not those of a calm disk.
    if (now - disk.granted_until <= kBreak) continue;
    Average(waits, &disk.calm);
    disk.has_calm = true;
  }
}

void CopyThrottle::Begin(Disk& disk, const Waits& waits, Instant now) const {
  // The disk was never seen without copies. What is waited now has to serve as its calm.
  if (!std::exchange(disk.has_calm, false)) disk.calm = waits;
  disk.second_began = now;
  disk.copied = 0;
  disk.was_long = false;
  disk.is_alone = !ClientsWait(waits);
  const auto limit = static_cast<double>(limits_.disk);
  // Nobody waits for the disk, or the operator allows less anyway.
  const bool is_free = !SomebodyWaits(waits) || (limit > 0 && limit <= kPaceAtFirst);
  disk.bucket.SetRate(is_free ? limit : kPaceAtFirst);
}

void CopyThrottle::Reconsider(Disk& disk, const Waits& waits, Instant now) const {
  const double copied_per_second = disk.copied / absl::ToDoubleSeconds(now - disk.second_began);
  const auto limit = static_cast<double>(limits_.disk);
  const double pace = disk.bucket.rate();
  disk.second_began = now;
  disk.copied = 0;
  const bool was_alone = std::exchange(disk.is_alone, !ClientsWait(waits));
  // The first client has come to a disk that was copied from at full speed: its waits are not known
  // yet, so the pace falls before it suffers.
  if (was_alone && !disk.is_alone && (pace == 0 || pace > kPaceAtFirst)) {
    disk.was_long = false;
    return disk.bucket.SetRate(kPaceAtFirst);
  }
  // At the least pace copies hardly count, so what is waited now is nearly the calm. Without this a
  // disk whose load has grown would stay at the least pace for ever.
  if (pace > 0 && pace <= kPaceMin) Average(waits, &disk.calm);
  const bool is_long = AreLong(waits, disk.calm);
  const bool was_long = std::exchange(disk.was_long, is_long);
  if (is_long && was_long) {
    const double half = std::max(copied_per_second / 2, kPaceMin);
    // Half of what was copied, not of the pace: a pace that was not used up says nothing.
    disk.bucket.SetRate(pace == 0 ? half : std::min(half, pace));
  } else if (!is_long && pace != limit) {
    const double more = pace * (ClientsWait(waits) ? kMoreBesideClients : kMore);
    const bool is_free = more >= (limit == 0 ? kNoLimitFrom : limit);
    disk.bucket.SetRate(is_free ? limit : more);
  }
}

void CopyThrottle::SetLimits(CopyLimits limits) {
  const MutexLock lock(mutex_);
  limits_ = limits;
  server_.SetRate(static_cast<double>(limits.server));
  for (Disk& disk : disks_) disk.bucket.SetRate(static_cast<double>(limits.disk));
}

double CopyThrottle::PaceOf(size_t disk) const {
  const MutexLock lock(mutex_);
  return disks_[disk].bucket.rate();
}

int64_t CopyThrottle::BytesOf(size_t disk) const {
  const MutexLock lock(mutex_);
  return disks_[disk].bytes;
}

}  // namespace arion
