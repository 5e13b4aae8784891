// LogCatalog: which files a log has, as far as they are durable; shared by its writer and its
// readers.
//
// Threads   Thread-safe; the lock is held for a copy of a few entries and is this log's own.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "wal/log_retention.h"

namespace arion {

class LogCatalog {
 public:
  struct Snapshot {
    std::vector<LogFileEntry> files;  // oldest first
    int64_t valid_start_offset = 0;   // records below are void
    Decree max_decree;                // largest decree ever appended (or given to StartAnew)
  };

  explicit LogCatalog(Snapshot snapshot) : snapshot_(std::move(snapshot)) {}

  Snapshot Read() const {
    std::lock_guard lock(mutex_);
    return snapshot_;
  }
  template <class Change>
  auto Edit(Change change) {
    std::lock_guard lock(mutex_);
    return change(snapshot_);
  }

 private:
  mutable std::mutex mutex_;
  Snapshot snapshot_;  // guarded by mutex_
};

}  // namespace arion
