// Recently<T>: what all families of one reading of /metrics need, asked for once and kept for a
// moment.
//
// Threads   Thread-safe.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/time/time.h>

#include <functional>
#include <memory>
#include <utility>

#include "base/mutex.h"
#include "env/clock.h"

namespace arion {

// A value that is at most a tenth of a second old. Families that are read one after the other then
// agree with each other, and the question is asked once.
//
//   Recently<Rows> rows(clock, [&book] { return book.Read(level); });
//   std::shared_ptr<const Rows> now = rows.Read();
template <class T>
class Recently {
 public:
  // `ask` is called with a lock held: one call at a time. The clock outlives this.
  Recently(const Clock& clock, std::function<T()> ask) : clock_(clock), ask_(std::move(ask)) {}

  // Never null. Asks where the last value is older than that; meanwhile other readers wait. What
  // was returned stays valid, and does not change, however long it is held.
  std::shared_ptr<const T> Read() {
    constexpr absl::Duration kMoment = absl::Milliseconds(100);
    const MutexLock lock(mutex_);
    const Instant now = clock_.Now();
    if (value_ == nullptr || now - asked_at_ > kMoment) {
      value_ = std::make_shared<const T>(ask_());
      asked_at_ = now;
    }
    return value_;
  }

 private:
  const Clock& clock_;
  const std::function<T()> ask_;
  Mutex mutex_;
  // Guarded by mutex_, as value_.
  Instant asked_at_ ABSL_GUARDED_BY(mutex_);
  std::shared_ptr<const T> value_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace arion
