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

// A value that is at most a tenth of a second old.
template <class T>
class Recently {
 public:
  // `ask` is called with a lock held: one call at a time. The clock outlives this.
  Recently(const Clock& clock, std::function<T()> ask) : clock_(clock), ask_(std::move(ask)) {}

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
