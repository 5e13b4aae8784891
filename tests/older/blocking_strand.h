// BlockingStrand: a strand on a thread of its own, whose tasks may wait for a disk. An older version's
// stand-in does all it does on one.
//
// Threads   As Strand; Stop and destruction: one thread that is not its own.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/time/time.h>

#include <map>
#include <thread>
#include <utility>

#include "base/mutex.h"
#include "env/strand.h"

namespace arion {

class BlockingStrand : public Strand {
 public:
  BlockingStrand();
  ~BlockingStrand() override { Stop(); }

  void Post(Task task) override { (void)PostAfter(absl::ZeroDuration(), std::move(task)); }
  TimerId PostAfter(absl::Duration delay, Task task) override;
  void Cancel(TimerId timer) override;
  bool IsCurrent() const override { return std::this_thread::get_id() == thread_.get_id(); }

  // Runs `work` on it and waits for that.
  void Run(absl::AnyInvocable<void()> work);
  // What is queued is dropped, and so is what is posted later.
  void Stop();

 private:
  using Key = std::pair<absl::Time, TimerId>;  // when it is due
  void Work();

  Mutex mutex_;
  ConditionVariable changed_;
  std::map<Key, Task> queue_ ABSL_GUARDED_BY(mutex_);
  std::map<TimerId, absl::Time> due_ ABSL_GUARDED_BY(mutex_);
  TimerId last_ ABSL_GUARDED_BY(mutex_) = kNoTimer;
  absl::Time last_posted_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();
  bool is_over_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace arion
