// SPDX-License-Identifier: Apache-2.0
#include "copies/learned_files.h"

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "base/status.h"
#include "decrees/log_shipment.h"
#include "env/file_system.h"
#include "wal/log_reader.h"

namespace arion {
namespace {

// Keeps sums of offsets and sizes in range, whatever a peer names.
constexpr int64_t kOffsetMax = int64_t{1} << 62;

absl::StatusOr<LogFileName> NameOfLog(const std::string& name) {
  const absl::StatusOr<std::optional<LogFileName>> parsed = ParseLogFileName(name);
  if (!parsed.ok() || !parsed->has_value() || (*parsed)->start_offset > kOffsetMax)
    return absl::UnavailableError(absl::StrCat("'", name, "' is no log file's name"));
  return **parsed;
}

absl::StatusOr<std::vector<LogFileName>> SortedNames(const std::vector<std::string>& names) {
  std::vector<LogFileName> sorted;
  for (const std::string& name : names) {
    ASSIGN_OR_RETURN(sorted.emplace_back(), NameOfLog(name));
  }
  std::sort(sorted.begin(), sorted.end());
  // Files follow each other by index without a gap, and their offsets do not fall.
  for (size_t i = 1; i < sorted.size(); ++i)
    if (sorted[i].index != sorted[i - 1].index + 1 ||
        sorted[i].start_offset < sorted[i - 1].start_offset)
      return absl::UnavailableError(absl::StrCat(sorted[i].ToString(), " does not follow ",
                                                 sorted[i - 1].ToString(), ": a hole"));
  return sorted;
}

}  // namespace

LearnedFiles::LearnedFiles(FileSystem& files, std::string directory, PartitionId pid,
                           const LogTerms& terms, std::vector<std::string> names,
                           std::string buffered)
    : files_(files),
      directory_(std::move(directory)),
      pid_(pid),
      buffered_(std::move(buffered)),
      judgement_(pid, terms) {
  auto sorted = SortedNames(names);
  if (sorted.ok()) {
    for (const LogFileName& name : *sorted) logs_.push_back({.name = name});
    // Reported by Next: a constructor has no status.
  } else {
    error_ = sorted.status();
  }
}

absl::Status LearnedFiles::CheckNames(const std::vector<std::string>& names) {
  return SortedNames(names).status();
}

absl::Status LearnedFiles::Damaged(const File& file, std::string_view what) const {
  return absl::UnavailableError(
      absl::StrCat("log file ", file.name.ToString(), " as it came: ", Text(what)));
}

absl::StatusOr<LearnedFiles::Piece> LearnedFiles::Next() {
  CHECK(!has_ended_) << "learned_files/Y2";
  RETURN_IF_ERROR(error_);
  Piece piece;
  piece_bytes_ = 0;
  // The headers of all files first: a later one may void what an earlier one holds.
  if (!is_surveyed_) error_ = Survey();
  while (error_.ok() && piece_bytes_ < kPieceBytes && !judgement_.IsWhole() && file_ < logs_.size())
    error_ = ReadOn(&piece);
  // All files are read and something is still lacking: it must be in what the primary had not
  // written to its log yet.
  if (error_.ok() && file_ == logs_.size() && !judgement_.IsWhole()) error_ = TakeBuffered(&piece);
  // What was read before the error is sound and goes out first. The error itself follows with the
  // next call.
  if (!error_.ok() && piece.mutations.empty()) return error_;
  piece.has_more = !error_.ok() || !judgement_.IsWhole();
  has_ended_ = !piece.has_more;
  return piece;
}

// What a later file's header calls void may lie in an earlier one.
absl::Status LearnedFiles::Survey() {
  for (File& log : logs_) {
    const std::string path = JoinPath(directory_, log.name.ToString());
    ASSIGN_OR_RETURN(const auto file, files_.OpenForRead(path));
    ASSIGN_OR_RETURN(log.size, file->Size());
    if (log.size > static_cast<uint64_t>(kOffsetMax)) return Damaged(log, "its size");
    // Only the first block is read: it holds the file's header.
    LogReader reader(*file, log.size, log.name.start_offset, {}, kFirstBlockBytes);
    LogBlockView first;
    ASSIGN_OR_RETURN(const bool has_first, reader.Next(&first));
    if (has_first) {
      const LogFileHeader::Entry* entry = first.header->Find(pid_);
      if (entry != nullptr) valid_from_ = std::max(valid_from_, entry->valid_start_offset);
      // A file without a whole first block is one that was just begun.
    } else if (reader.end() == LogEnd::kCorrupt || reader.end() == LogEnd::kUnreadable) {
      return Damaged(log, reader.reason());
    }
  }
  is_surveyed_ = true;
  return absl::OkStatus();
}

absl::Status LearnedFiles::ReadOn(Piece* piece) {
  const File& log = logs_[file_];
  // Opened anew for each piece, so that nothing stays open while the replica applies the last one.
  ASSIGN_OR_RETURN(const auto file, files_.OpenForRead(JoinPath(directory_, log.name.ToString())));
  LogReader reader(*file, log.size, log.name.start_offset, at_);
  LogBlock block;
  while (piece_bytes_ < kPieceBytes) {
    ASSIGN_OR_RETURN(const bool has_block, reader.Next(&block));
    if (!has_block) return EndFile(*file, reader);
    CHECK(reader.position() > at_.position && reader.position() <= log.size) << "learned_files/Y1";
    at_.position = reader.position();
    at_.crc = reader.crc();
    // Void records are left out even where they are newer: a new beginning replaced them.
    for (MutationPtr& mutation : block.mutations) {
      if (mutation->log_offset < valid_from_) continue;
      const size_t known = piece->mutations.size();
      const absl::Status judged = judgement_.Add(std::move(mutation), &piece->mutations);
      if (!judged.ok()) return Damaged(log, std::string(judged.message()));
      for (size_t i = known; i < piece->mutations.size(); ++i)
        piece_bytes_ += EncodedSize(*piece->mutations[i]);
    }
    if (judgement_.IsWhole()) return absl::OkStatus();
  }
  return absl::OkStatus();
}

// The last file was growing while it was copied, so its end may be torn; but only its end. Each
// other file must end exactly where the next one begins.
absl::Status LearnedFiles::EndFile(const ReadableFile& file, const LogReader& reader) {
  const File& log = logs_[file_];
  const bool is_last = file_ + 1 == logs_.size();
  const auto end = log.name.start_offset + static_cast<int64_t>(reader.position());
  if (is_last) {
    if (reader.end() == LogEnd::kCorrupt || reader.end() == LogEnd::kUnreadable)
      return Damaged(log, absl::StrCat(Text(LogEndName(reader.end())), " ", reader.reason()));
    // A valid block behind the tear means that the middle is damaged, which is no torn end.
    ASSIGN_OR_RETURN(const auto later, FindValidBlock(file, reader.position(), log.size,
                                                      log.name.start_offset, pid_));
    if (later)
      return Damaged(log, absl::StrCat(reader.reason(), ", yet a valid block follows at ", *later));
  } else if (const LogFileName& next = logs_[file_ + 1].name; next.start_offset != end) {
    return Damaged(
        log, absl::StrCat(Text(LogEndName(reader.end())), " ", reader.reason(),
                          "; its content ends at offset ", end, ", ", next.ToString(), " follows"));
  }
  ++file_;
  at_ = {};
  return absl::OkStatus();
}

// These were prepared at the primary and not in its log yet. Finish then judges whether all that
// was committed is here.
absl::Status LearnedFiles::TakeBuffered(Piece* piece) {
  const auto buffered = ParseMutations(pid_, buffered_);
  if (!buffered.ok())
    return absl::UnavailableError(
        absl::StrCat("what is not in its log files yet: ", buffered.status().message()));
  absl::Status judged;
  for (const MutationPtr& mutation : *buffered) {
    judged = judgement_.Add(mutation, &piece->mutations);
    if (!judged.ok()) break;
  }
  if (judged.ok()) judged = judgement_.Finish(&piece->mutations);
  if (judged.ok()) return judged;
  return absl::UnavailableError(absl::StrCat("log files ", logs_.front().name.ToString(), " to ",
                                             logs_.back().name.ToString(), ": ", judged.message()));
}

}  // namespace arion
