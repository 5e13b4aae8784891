// UncommittedTail: which mutations of a log nothing in it says are committed, and where they lie.
// Recovery writes them anew (decision 9): what was only read may sit in a cache whose write-back
// failed before.
//
// Shapes    Of two versions of a decree the larger ballot counts, of equal ones the later. Places,
//           not mutations: a log in which nothing is ever committed may not fill the memory (a
//           record is larger than its place).
// Promises  uncommitted_tail/U1  What is kept is committed by nothing that was added, nor applied.
// Threads   WriteFile waits for the disk.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/status/statusor.h>
#include <absl/types/span.h>

#include <cstdint>
#include <map>
#include <string>

#include "base/ids.h"
#include "base/mutation_view.h"
#include "env/file_system.h"
#include "wal/log_format.h"

namespace arion {

class UncommittedTail {
 public:
  // What is up to `applied` is committed.
  explicit UncommittedTail(Decree applied) : applied_(applied) {}

  // The log's next mutation, at `position` of the file with this number.
  void Add(const MutationView& mutation, size_t file, uint64_t position);
  bool empty() const { return places_.empty(); }

  // Makes the log file `path` of it, synced: a first block with `header`, then the tail in decree
  // order, read from `files_by_number`. Returns its size.
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

  const Decree applied_;
  Decree committed_;  // largest last_committed seen
  std::map<Decree, Place> places_;
  std::map<Decree, Place>::node_type free_place_;
};

}  // namespace arion
