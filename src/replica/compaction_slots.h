// CompactionSlots: how many replicas of one server may compact at a time: kPerDisk of a disk, and
// as many of a table as its environments allow.
//
// Threads   Thread-safe.
// Lifetime  Held by shared_ptr; what TryTake and Queue return keeps it alive.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <utility>

#include "base/mutex.h"

namespace arion {

// One for a server. Both results are handles: whoever drops them gives the place back.
class CompactionSlots : public std::enable_shared_from_this<CompactionSlots> {
 public:
  static constexpr int kPerDisk = 1;
  struct Counts {
    int queued = 0;
    int running = 0;
  };

  // Held while it runs; null: not now.
  std::shared_ptr<void> TryTake(size_t disk, int32_t app_id, int32_t table_max);
  // Held while it waits for its turn.
  std::shared_ptr<void> Queue();
  // For displays.
  Counts Now() const;
  // What servers report of a replica changed. Set before the first replica opens.
  void OnChanged(std::function<void()> changed) { on_changed_ = std::move(changed); }
  void Changed() const {
    if (on_changed_) on_changed_();
  }

 private:
  std::function<void()> on_changed_;
  mutable Mutex mutex_;
  std::map<size_t, int> of_disk_ ABSL_GUARDED_BY(mutex_);
  std::map<int32_t, int> of_table_ ABSL_GUARDED_BY(mutex_);
  Counts counts_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace arion
