// SharedLogReader reads a shared log once, from one file on to its end, in pieces.
//
// Shapes    A block is given out whole or not at all. The newest file may end in the middle of a
//           block (legacy/FORMAT.md 2.1): that is its end, torn_tail() says where. An older one
//           may, if the next one starts exactly there.
// Errors    DataLoss: damaged, or files that do not join; names file, offset, and the replicas
//           whose mutations may lie behind. Others: the disk. After an error only SkipDamaged goes
//           on.
// Threads   One thread; waits for the disk. Takes any bytes; holds one chunk or one block.
// Lifetime  The FileSystem outlives it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/functional/function_ref.h>
#include <absl/status/statusor.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "base/ids.h"
#include "base/mutation_view.h"
#include "legacy/shared_log_catalog.h"
#include "wal/log_reader.h"

namespace arion {

class FileSystem;
class ReadableFile;

// One pass over the log, made for the take-over. Next until it returns false or fails.
//
//   SharedLogReader reader(files, catalog, FirstFileToRead(catalog.files, reaches));
//   for (;;) {
//     ASSIGN_OR_RETURN(const bool more, reader.Next(1 << 20, [&](const MutationView& m) { ... }));
//     if (!more) break;
//   }
class SharedLogReader {
 public:
  // `first`: the position in catalog.files to begin with. chunk_bytes_max as LogReader's.
  SharedLogReader(FileSystem& files, SharedLogCatalog catalog, size_t first,
                  size_t chunk_bytes_max = 4 << 20);

  // Gets one mutation. The view lasts as long as the call.
  using Sink = absl::FunctionRef<void(const MutationView&)>;
  // Gives `sink` the mutations of the next blocks, at least one block and then up to `bytes` of
  // them. False: the log is at its end.
  absl::StatusOr<bool> Next(uint64_t bytes, Sink sink);

  // What SkipDamaged left out.
  struct Damage {
    std::string path;
    // What lies from here on in the file is left out.
    uint64_t position = 0;
    std::string reason;
    // Replicas whose mutations may be missing: after the first decree, which was seen last, up to
    // and including the second, which the next file's header says; nullopt: nobody knows.
    std::map<PartitionId, std::pair<Decree, std::optional<Decree>>> concerned;
    std::string ToString() const;
  };
  // After DataLoss: leaves the rest of the damaged file out and goes on with the next one.
  Damage SkipDamaged();

  const SharedLogCatalog& catalog() const { return catalog_; }
  // So far, as `mutations`.
  uint64_t bytes_read() const { return bytes_read_; }
  int64_t mutations() const { return mutations_; }
  // Of the content that was read, exclusive.
  int64_t end_offset() const { return end_offset_; }
  // Where the newest file ends in the middle of a block, as text; empty: it does not.
  const std::string& torn_tail() const { return torn_tail_; }
  // The largest decree of each replica in the newest file, and what its header says of earlier
  // ones.
  const std::map<PartitionId, Decree>& max_of_newest() const { return max_of_newest_; }

 private:
  absl::Status OpenFile();
  void ReadAhead();
  absl::Status EndFile();
  absl::Status Damaged(uint64_t position, const std::string& reason);
  Damage DamageAt(uint64_t position, const std::string& reason) const;
  void Count(const MutationView& mutation);

  FileSystem& files_;
  const SharedLogCatalog catalog_;
  const size_t chunk_bytes_max_;
  size_t at_;
  std::unique_ptr<ReadableFile> file_;
  std::unique_ptr<LogReader> reader_;
  // Up to here the disk was asked to read this file ahead.
  uint64_t asked_to_ = 0;
  LogBlockView block_;
  std::optional<int64_t> expected_start_;
  std::map<PartitionId, Decree> seen_;
  std::map<PartitionId, Decree> max_of_newest_;
  std::optional<Damage> damage_;
  uint64_t bytes_read_ = 0;
  int64_t mutations_ = 0;
  int64_t end_offset_ = 0;
  std::string torn_tail_;
  // The replica of the mutation before, and where it counts: runs are common.
  PartitionId last_pid_;
  Decree* last_seen_ = nullptr;
  Decree* last_newest_ = nullptr;
};

}  // namespace arion
