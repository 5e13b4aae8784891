// LearnedFiles: log files of an older version's primary, copied to a directory, read piece by piece
// (LT_LOG with files): what of them a learner may take.
//
//   LearnedFiles files(fs, directory, pid, terms, names, buffered);
//   for (bool more = true; more;) {
//     ASSIGN_OR_RETURN(LearnedFiles::Piece piece, files.Next());
//     Take(std::move(piece.mutations));
//     more = piece.has_more;
//   }
//
// Shapes    The names say which file follows which. Each but the last must hold everything up to
//           where the next one begins. What lies behind that in it is dead. The last one may end in
//           the midst of a block: it was growing. Records before the largest valid start offset in
//           a header are void, and are left out. Reading ends once everything that was committed at
//           the answer is known.
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
#include "wal/log_format.h"
#include "wal/log_index.h"

namespace arion {

class FileSystem;
class LogReader;
class ReadableFile;

// One copy of one primary's log. Next is called until `has_more` is false or it fails.
class LearnedFiles {
 public:
  // How large a piece is meant to be. Who applies it keeps its loop for as long as that takes.
  static constexpr uint64_t kPieceBytes = 256 << 10;

  // `names` in any order; `buffered` as in learn_state.meta. The FileSystem outlives it. Names that
  // can't be right are the error of the first Next.
  LearnedFiles(FileSystem& files, std::string directory, PartitionId pid, const LogTerms& terms,
               std::vector<std::string> names, std::string buffered);

  // Whether `names` can be those of one log, without a hole. Unavailable: the reason if not.
  static absl::Status CheckNames(const std::vector<std::string>& names);

  struct Piece {
    // Consecutive decrees, each committed by the primary.
    std::vector<MutationPtr> mutations;
    bool has_more = true;
  };
  // The next piece. It may be empty only if it is the last one.
  absl::StatusOr<Piece> Next();

 private:
  // One log file as it was copied.
  struct File {
    LogFileName name;
    uint64_t size = 0;
  };
  // Learns each file's size and what the headers call void, before anything is given out.
  absl::Status Survey();
  // Reads on until the piece is full or this file's content ends.
  absl::Status ReadOn(Piece* piece);
  // The file's content ends here: is that right?
  absl::Status EndFile(const ReadableFile& file, const LogReader& reader);
  absl::Status TakeBuffered(Piece* piece);
  absl::Status Damaged(const File& file, std::string_view what) const;

  FileSystem& files_;
  const std::string directory_;
  const PartitionId pid_;
  // By index.
  std::vector<File> logs_;
  std::string buffered_;
  LearnedLog judgement_;
  bool is_surveyed_ = false;
  // Global offset. What is before it is void.
  int64_t valid_from_ = 0;
  // The file that is being read.
  size_t file_ = 0;
  // Where in it.
  LogIndex::Entry at_;
  uint64_t piece_bytes_ = 0;
  absl::Status error_;
  bool has_ended_ = false;
};

}  // namespace arion
