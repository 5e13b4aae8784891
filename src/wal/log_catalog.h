// LogCatalog: which files a log has, as far as they are durable, and where in them decrees begin;
// shared by its writer and its readers.
//
// Shapes    log_catalog/C1  Files follow each other: each has the next index, and starts where the
//               content of the one before ends.
//           log_catalog/C2  A file's blocks are added in order, without a gap; only the newest
//               file's.
//           log_catalog/C3  An index does not reach beyond its file's content.
//           log_catalog/C4  valid_start_offset only rises, and voids all that is durable then.
//           log_catalog/C5  The newest file stays.
// Threads   Thread-safe; the lock is this log's own and held for a few comparisons: nothing is
//           copied but one file's name.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/status/statusor.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/mutex.h"
#include "env/clock.h"
#include "wal/log_gauges.h"
#include "wal/log_index.h"
#include "wal/log_retention.h"
#include "wal/replay_estimate.h"

namespace arion {

class LogCatalog {
 public:
  struct Content {
    std::vector<LogFileEntry> files;  // oldest first
    int64_t valid_start_offset = 0;   // records below are void
    Decree max_decree;                // largest decree ever appended (or given to StartAnew)
  };
  LogCatalog(Content content, const Clock& clock);

  // ---- the writer, on its strand ----
  struct DurableBlock {
    LogFileName file;
    Decree header_max_decree;  // of a file's first block
    LogIndex::Entry at;
    uint64_t end = 0;  // in the file
    Decree max_decree;
  };
  void Add(const DurableBlock& block);
  void StartAnew(int64_t valid_start_offset, Decree max_decree);
  // Names of the oldest `count` files, which are no longer part of the log.
  std::vector<std::string> DropOldest(size_t count);

  // ---- anyone ----
  // Every decree >= first that was ever appended is in these files.
  bool Covers(Decree first) const;
  // CountDroppable of these files, now.
  size_t CountUnneeded(const LogNeeds& needs, const LogReserve& reserve) const;
  // What a replay above `applied` would have to do.
  ReplayWork WorkAbove(Decree applied) const;
  // Keeps its last values when this is gone.
  std::shared_ptr<const LogGauges> gauges() const { return gauges_; }
  bool Holds(const LogFileName& file) const;
  // The newest file; nullopt: there is none.
  std::optional<LogFileEntry> Newest() const;
  std::vector<std::string> FileNames() const;

  // A file to read, and from where.
  struct Piece {
    LogFileName name;
    std::string file_name;
    uint64_t content_bytes = 0;
    LogIndex::Entry from;
    bool is_indexed = false;         // whole
    int64_t valid_start_offset = 0;  // records below are void
    int64_t last_file = 0;           // the log ended in this file when reading began
  };
  // Where every mutation with decree >= first is found from. nullopt: there is none. OutOfRange:
  // some were dropped.
  absl::StatusOr<std::optional<Piece>> Begin(Decree first) const;
  // The file behind. nullopt: `piece` was the last. OutOfRange: it was dropped meanwhile.
  absl::StatusOr<std::optional<Piece>> After(const Piece& piece) const;
  // What a reader found out about a file that was not indexed whole.
  LogIndex IndexOf(const LogFileName& file) const;
  void SetIndex(const LogFileName& file, LogIndex index);

 private:
  // Of what `block` adds: log_catalog/C1 and log_catalog/C2.
  void CheckIsNext(const DurableBlock& block) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Of the newest file; gauges.
  void Check() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Where the file with this index of its name is in files; files.size(): it is not there.
  size_t Find(int64_t index) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Index in files of where decrees >= first begin; files.size(): nowhere.
  size_t FirstFileFor(Decree first) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Piece PieceOf(const LogFileEntry& file, LogIndex::Entry from, int64_t valid_start_offset,
                int64_t last_file) const;

  const Clock& clock_;
  mutable Mutex mutex_;
  Content content_ ABSL_GUARDED_BY(mutex_);
  const std::shared_ptr<LogGauges> gauges_ = std::make_shared<LogGauges>();
};

}  // namespace arion
