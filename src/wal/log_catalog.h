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
// Errors    What a reader asks for and was dropped is OutOfRange. A writer that breaks a promise is
//           a CHECK failure.
// Threads   Thread-safe. The lock is this log's own, and no disk is waited for under it.
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
#include "wal/log_gauges.h"
#include "wal/log_index.h"
#include "wal/log_retention.h"

namespace arion {

class Clock;
struct LogNeeds;
struct LogReserve;
struct ReplayWork;

// Shared by the writer, which changes it on its strand, and by readers in any thread.
//
//   catalog->Add(block);                                           // the writer: the block is
//   durable ASSIGN_OR_RETURN(auto piece, catalog->Begin(first));           // a reader
//   while (piece) {
//     RETURN_IF_ERROR(Read(*piece));
//     ASSIGN_OR_RETURN(piece, catalog->After(*piece));
//   }
class LogCatalog {
 public:
  // What a log holds, as recovery found it.
  struct Content {
    // Oldest first.
    std::vector<LogFileEntry> files;
    // Records at smaller global offsets are void.
    int64_t valid_start_offset = 0;
    // The largest decree that was ever appended, or that StartAnew was given since.
    Decree max_decree;
  };
  // `clock` outlives it; it tells when a file was last written.
  LogCatalog(Content content, const Clock& clock);

  // ---- the writer, on its strand ----

  // A block that was written and flushed.
  struct DurableBlock {
    LogFileName file;
    // What the file's header says; has a meaning for a file's first block.
    Decree header_max_decree;
    // Where the block begins, and the position behind it.
    LogIndex::Entry at;
    uint64_t end = 0;
    // The largest decree of all records, those that are not durable yet included.
    Decree max_decree;
  };
  // The next block of the newest file, or the first of a new one (position 0).
  void Add(const DurableBlock& block);
  // Everything below `valid_start_offset` is void. That is at or behind the end of what is durable.
  void StartAnew(int64_t valid_start_offset, Decree max_decree);
  // Takes the oldest `count` files out of the log, fewer than there are, and returns their names.
  // Files that a reader has begun are not waited for: it asks Holds.
  std::vector<std::string> DropOldest(size_t count);

  // ---- anyone ----

  // Every decree >= first that was ever appended is in these files, or will be in the next.
  bool Covers(Decree first) const;
  Decree Begins() const;
  // CountDroppable (log_retention.h) of these files, now.
  size_t CountUnneeded(const LogNeeds& needs, const LogReserve& reserve) const;
  // What a replay above `applied` would have to do. Mutations are counted by decrees, so it is an
  // estimate.
  ReplayWork WorkAbove(Decree applied) const;
  // Never null. They keep their last values when this is gone.
  std::shared_ptr<const LogGauges> gauges() const { return gauges_; }
  // Whether a file with this index is part of the log.
  bool Holds(const LogFileName& file) const;
  // The newest file with content. nullopt: there is none.
  std::optional<LogFileEntry> Newest() const;
  // Oldest first.
  std::vector<std::string> FileNames() const;

  // A file to read, and from where.
  struct Piece {
    LogFileName name;
    std::string file_name;
    // What is durable in it; nothing behind that may be read.
    uint64_t content_bytes = 0;
    LogIndex::Entry from;
    // All of the content is indexed: the reader has nothing to add.
    bool is_indexed = false;
    // Records at smaller global offsets are void.
    int64_t valid_start_offset = 0;
    // The index of the file in which the log ended when reading began.
    int64_t last_file = 0;
  };
  // Where to begin in order to find every durable mutation with decree >= first. nullopt: there is
  // none. OutOfRange: some of them were dropped.
  absl::StatusOr<std::optional<Piece>> Begin(Decree first) const;
  // The file behind `piece`. nullopt: that was the last one. OutOfRange: it was dropped meanwhile.
  absl::StatusOr<std::optional<Piece>> After(const Piece& piece) const;
  // The index of a file; empty if the file was dropped.
  LogIndex IndexOf(const LogFileName& file) const;
  // What a reader found out about a file that was not indexed whole. Counts if it reaches further
  // than what is known; ignored if the file was dropped.
  void SetIndex(const LogFileName& file, LogIndex index);

 private:
  // CHECKs log_catalog/C1 and log_catalog/C2 of what `block` adds.
  void CheckIsNext(const DurableBlock& block) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // CHECKs log_catalog/C1 and log_catalog/C3 of the newest files, and the gauges.
  void Check() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The place in content_.files of the file whose name has this index. files.size(): it is not
  // there.
  size_t Find(int64_t index) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The place in content_.files where decrees >= first begin. files.size(): nowhere.
  size_t FirstFileFor(Decree first) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Piece PieceOf(const LogFileEntry& file, LogIndex::Entry from, int64_t valid_start_offset,
                int64_t last_file) const;

  const Clock& clock_;
  mutable Mutex mutex_;
  Content content_ ABSL_GUARDED_BY(mutex_);
  const std::shared_ptr<LogGauges> gauges_ = std::make_shared<LogGauges>();
};

}  // namespace arion
