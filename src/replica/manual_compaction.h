// What a table's environments manual_compact.* ask for, and when that is due
// (messages/table_environments.h). Pure; CompactionSlots is thread-safe.
//
// Shapes    `once`: due when its trigger time is reached and the last compaction ended before that.
//           `daily`: due for an hour from each of its times on; one set in the afternoon for the
//           night begins at night.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/base/thread_annotations.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/engine.h"
#include "messages/meta_messages.h"

namespace arion {

struct CompactionWishes {
  bool is_disabled = false;
  int32_t running_max = 0;   // of the table on this server; 0: any number
  int64_t once_seconds = 0;  // since 1970; 0: never
  Engine::CompactionTerms once;
  std::vector<int> daily_minutes;  // after local midnight, in order
  Engine::CompactionTerms daily;

  static CompactionWishes From(const std::map<std::string, std::string>& envs);
  bool Any() const { return once_seconds > 0 || !daily_minutes.empty(); }
  bool operator==(const CompactionWishes&) const = default;
};

// nullopt: nothing is due. `midnight_seconds`: when this day began, local time, since 1970.
std::optional<Engine::CompactionTerms> DueCompaction(const CompactionWishes& wishes,
                                                     int64_t last_ended_ms, int64_t now_seconds,
                                                     int64_t midnight_seconds);

// How many replicas of one server may compact at a time: kPerDisk of a disk, and as many of a table
// as its environments allow.
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
  Counts Now() const;
  // What servers report of a replica changed. Set before the first replica opens.
  void OnChanged(std::function<void()> changed) { on_changed_ = std::move(changed); }
  void Changed() const {
    if (on_changed_) on_changed_();
  }

 private:
  std::function<void()> on_changed_;
  mutable std::mutex mutex_;
  std::map<size_t, int> of_disk_ ABSL_GUARDED_BY(mutex_);
  std::map<int32_t, int> of_table_ ABSL_GUARDED_BY(mutex_);
  Counts counts_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace arion
