// Clock: monotonic time for every decision; wall time only for what users see (expiry, file ages,
// timestamps), and where that matters, the one that the cluster agrees on.
//
// Which     `WallMicros`: names, displays. `AgreedWallMicros`, `ExpiryNow`: what a reader sees as
//           expired, expiry times that this server computes, and times of writes, which are never
//           less than those before. `WallForGood`, `ExpiredForGood`: what may be destroyed.
// Threads   Thread-safe.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "base/instant.h"
#include "env/agreed_time.h"

namespace arion {

// One server's clocks; its Environment owns them. The simulator makes its own, with drift and
// jumps, so nobody else reads the system's.
//
//   const Instant began = clock.Now();
//   if (IsExpired(record.expire_ts, ExpiryNow(clock))) ...        // what a reader sees
//   if (IsExpired(record.expire_ts, ExpiredForGood(clock))) ...   // what a compaction drops
class Clock {
 public:
  virtual ~Clock() = default;
  // Monotonic: never falls in one life of a process.
  virtual Instant Now() const = 0;
  // This machine's wall clock, in microseconds since 1970. It may jump.
  virtual int64_t WallMicros() const = 0;

  // What the cluster agreed on, for the functions below.
  AgreedTime& agreed() const { return agreed_; }

 private:
  mutable AgreedTime agreed_;
};

// Expiry times count seconds since 2016-01-01 UTC (engine/FORMAT.md 6).
constexpr int64_t kExpiryEpochUnixSeconds = 1451606400;
// Clocks that agree may lie so far apart. What expired so recently is kept.
constexpr int64_t kMarginMicros = 5'000'000;

// Microseconds since 1970, as the cluster agrees; before it has agreed, as this machine says.
inline int64_t AgreedWallMicros(const Clock& clock) {
  const std::optional<int64_t> agreed = clock.agreed().WallMicros(clock.Now());
  return agreed ? *agreed : clock.WallMicros();
}
// The same in seconds since 2016: a record with an expiry up to this is expired.
inline uint32_t ExpiryNow(const Clock& clock) {
  return static_cast<uint32_t>(AgreedWallMicros(clock) / 1000000 - kExpiryEpochUnixSeconds);
}

// Microseconds since 1970: what was to go by then may be destroyed, by this clock and by most
// others. nullopt: nothing may.
inline std::optional<int64_t> WallForGood(const Clock& clock) {
  const Instant now = clock.Now();
  const std::optional<int64_t> agreed = clock.agreed().WallMicros(now);
  if (!agreed || !clock.agreed().IsFresh(now)) return std::nullopt;
  return std::min(*agreed, clock.WallMicros()) - kMarginMicros;
}
// Records whose expiry is at most this; 0: none.
inline uint32_t ExpiredForGood(const Clock& clock) {
  const int64_t seconds = WallForGood(clock).value_or(0) / 1000000 - kExpiryEpochUnixSeconds;
  return static_cast<uint32_t>(std::max<int64_t>(seconds, 0));
}

}  // namespace arion
