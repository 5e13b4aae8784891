// LearnedFiles: log files of an older version's primary, copied to a directory, read piece by piece
// (LT_LOG with files): what of them a learner may take.
//
// Shapes    The names say which file follows which; each but the last must hold everything up to
//           where the next one begins. What lies behind that in it is dead, and the last one may
//           end in the midst of a block: it was growing. Records before the largest valid start
//           offset in a header are void, and are left out. Reading ends once everything that was
//           committed at the answer is known.
// Errors    Unavailable: what the primary sent is damaged, or lacks what it committed; what was
//           given out before is sound. Others: our disk.
// Threads   In the pool, one at a time; each call waits for the disk.
// Memory    A piece, one chunk or block of LogReader, and what nothing has proven yet. No file
//           stays open between pieces.
// Invariants (CHECKs)
//           learned_files/Y1  no position falls, and none lies beyond its file's size
//           learned_files/Y2  nothing is given out after an error, or after the end
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "decrees/learned_log.h"
#include "env/file_system.h"
#include "pacifica/effects.h"
#include "wal/log_format.h"
#include "wal/log_index.h"
#include "wal/log_reader.h"

namespace arion {

class LearnedFiles {
 public:
  // What a piece is meant to have; who applies it keeps its loop for as long as it takes.
  static constexpr uint64_t kPieceBytes = 256 << 10;

  // `names` in any order, `buffered` as in learn_state.meta. The FileSystem outlives it.
  LearnedFiles(FileSystem& files, std::string directory, PartitionId pid, const LogTerms& terms,
               std::vector<std::string> names, std::string buffered);

  // Whether names can be those of one log; the reason if not.
  static absl::Status CheckNames(const std::vector<std::string>& names);

  struct Piece {
    std::vector<MutationPtr> mutations;  // consecutive decrees
    bool has_more = true;
  };
  absl::StatusOr<Piece> Next();

 private:
  struct File {
    LogFileName name;
    uint64_t size = 0;
  };
  absl::Status Survey();
  // Reads on until the piece is full or this file's content ends.
  absl::Status ReadOn(Piece* piece);
  absl::Status EndFile(const ReadableFile& file, const LogReader& reader);
  absl::Status TakeBuffered(Piece* piece);
  absl::Status Damaged(const File& file, std::string_view what) const;

  FileSystem& files_;
  const std::string directory_;
  const PartitionId pid_;
  std::vector<File> logs_;  // by index
  std::string buffered_;
  LearnedLog judgement_;
  bool is_surveyed_ = false;
  int64_t valid_from_ = 0;  // global offset
  size_t file_ = 0;         // that is read
  LogIndex::Entry at_;      // in it
  uint64_t piece_bytes_ = 0;
  absl::Status error_;
  bool has_ended_ = false;
};

}  // namespace arion
