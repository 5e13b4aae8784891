// CopyThrottle: when the next piece of a file may be copied for a learner. There is a token bucket
// for each disk and one for the server, and a pace for each disk that falls while those who read
// and write there wait longer than they did without copies.
//
// Shapes    A disk is named by its position among the data directories. Take may run into debt: who
//           took waits until it is paid off, so a piece larger than a bucket passes too. A bucket
//           holds what comes in in 100 ms. Where somebody reads or writes, copies begin at
//           kPaceAtFirst, and return to it when the first client comes to a copy that was alone.
//           The pace is looked at once a second of copying. A second is long when one of the
//           foreground's waits was above kUnhurried (flushes: 5 ms) and above kPatience times what
//           it was without copies. After one long second the pace stays, for it may be chance.
//           After two in a row it becomes half of what was copied, at least kPaceMin. After a
//           second that was not long it grows by a quarter where clients wait, and doubles where
//           none do, until the limit is reached again. What is waited without copies is averaged
//           while there are none, and learned slowly at the least pace, where they hardly count.
// Units     Rates: bytes a second; 0: no limit.
// Threads   Thread-safe. Pure otherwise: time comes by argument, the wait by the function given.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/time/time.h>

#include <cstdint>
#include <functional>
#include <vector>

#include "base/instant.h"
#include "base/mutex.h"

namespace arion {

// What the operator allows: of one disk, and of all disks together.
struct CopyLimits {
  uint64_t disk = 0;
  uint64_t server = 0;
};

// One for a server. Both sides use it: the server that reads a file for a learner, and the learner
// that writes it.
class CopyThrottle {
 public:
  // The pace never falls below this.
  static constexpr double kPaceMin = 4 << 20;
  static constexpr double kPaceAtFirst = 16 << 20;
  static constexpr double kPatience = 1.5;
  static constexpr absl::Duration kUnhurried = absl::Milliseconds(1);

  // How long the foreground waits: p99 of the last second; 0: nothing was waiting.
  struct Waits {
    // For a flush of this disk.
    absl::Duration flush;
    // Clients for their answers.
    absl::Duration read, write;
  };
  // Called on the thread that calls Take or OnSecond, without locks.
  using ForegroundWait = std::function<Waits(size_t disk)>;

  CopyThrottle(CopyLimits limits, size_t disks, ForegroundWait foreground_wait);

  // Takes room for `bytes`, and says how long to wait before they may be copied.
  absl::Duration Take(size_t disk, uint64_t bytes, Instant now);

  // From now on. Each pace begins anew at the limit.
  void SetLimits(CopyLimits limits);
  // To be called once a second: learns what is waited where nothing is copied.
  void OnSecond(Instant now);

  // The disk's present pace; 0: no limit.
  double PaceOf(size_t disk) const;
  // Bytes copied since the start.
  int64_t BytesOf(size_t disk) const;

 private:
  // A token bucket. `tokens_` is below 0 while a debt is paid off.
  class Bucket {
   public:
    void SetRate(double bytes_per_second) { rate_ = bytes_per_second; }
    double rate() const { return rate_; }
    absl::Duration Take(double bytes, Instant now);

   private:
    double rate_ = 0;
    double tokens_ = 0;
    Instant at_{0};
  };
  // What is known of one disk. All but `bytes` describes the copies under way, or the last ones.
  struct Disk {
    Bucket bucket;
    // What is waited without copies.
    Waits calm;
    // Whether `calm` was averaged since the last copies.
    bool has_calm = false;
    // The second before was long.
    bool was_long = false;
    // No client waited in the second before.
    bool is_alone = false;
    Instant second_began{0};
    // In this second.
    double copied = 0;
    int64_t bytes = 0;
    // When the last piece was allowed. After a pause from here on copies begin anew.
    Instant granted_until{0};
  };
  // Starts a run of copies after a pause: chooses the first pace.
  void Begin(Disk& disk, const Waits& waits, Instant now) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Judges the second that has ended, and sets the pace of the next.
  void Reconsider(Disk& disk, const Waits& waits, Instant now) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const ForegroundWait foreground_wait_;
  const size_t disk_count_;
  mutable Mutex mutex_;
  CopyLimits limits_ ABSL_GUARDED_BY(mutex_);
  Bucket server_ ABSL_GUARDED_BY(mutex_);
  std::vector<Disk> disks_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace arion
