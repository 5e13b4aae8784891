// UncommittedTail: which mutations of a log nothing in it says are committed, and where they lie.
// Recovery writes them anew (decision 9): what was only read may sit in a cache whose write-back
// failed before.
//
// Shapes    Of two versions of a decree the larger ballot counts, of equal ballots the later one.
//           It keeps places, not mutations: a log in which nothing is ever committed must not fill
//           the memory, and a record is larger than its place.
// Errors    Those of reading the files again. DataLoss: a file changed since it was judged.
// Promises  uncommitted_tail/U1  What is kept is committed by nothing that was added, nor applied.
// Threads   One at a time. WriteFile waits for the disk.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/status/statusor.h>
#include <absl/types/span.h>

#include <cstdint>
#include <map>
#include <string>

#include "base/ids.h"
#include "wal/log_format.h"

namespace arion {

class FileSystem;
class MutationView;

// Filled while the log is read from front to back, then written once.
//
//   UncommittedTail tail(engine_decree);
//   tail.Add(view, file_number, position);                 // each mutation that is not void
//   if (!tail.empty()) tail.WriteFile(files, paths, path, end_offset, header);
class UncommittedTail {
 public:
  // Decrees up to `applied`, inclusive, are committed.
  explicit UncommittedTail(Decree applied) : applied_(applied) {}

  // The log's next mutation, of any content. It lies at byte `position` of the file with this
  // number; the caller chooses the numbers. The view is not kept.
  void Add(const MutationView& mutation, size_t file, uint64_t position);
  // Every mutation that was added is committed.
  bool empty() const { return places_.empty(); }

  // Makes a log file of the tail at `path`, which starts at global offset `start_offset`: a first
  // block with `header`, then the tail in decree order. The mutations are read from
  // `files_by_number`; their log offsets become those of the new places. The file is synced, its
  // name is not. Returns its size in bytes.
  absl::StatusOr<uint64_t> WriteFile(FileSystem& files,
                                     absl::Span<const std::string> files_by_number,
                                     const std::string& path, int64_t start_offset,
                                     const LogFileHeader::Entry& header) const;

 private:
  struct Place {
    size_t file = 0;
    uint64_t position = 0;
    size_t bytes = 0;
    Ballot ballot;
  };

  Decree applied_;
  // The largest last_committed of any mutation so far.
  Decree committed_;
  std::map<Decree, Place> places_;
  // A node of places_ that was taken out, to be used again.
  std::map<Decree, Place>::node_type free_place_;
};

}  // namespace arion
