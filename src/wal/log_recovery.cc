// SPDX-License-Identifier: Apache-2.0
#include "wal/log_recovery.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <iterator>
#include <memory>
#include <optional>
#include <utility>

#include "base/log.h"
#include "base/status.h"
#include "wal/log_format.h"
#include "wal/log_reader.h"
#include "wal/log_repair.h"
#include "wal/set_aside.h"
#include "wal/uncommitted_tail.h"

namespace arion {
namespace {

// What a file's first write reaches at least, and what is erased when a dropped file is used again.
constexpr uint64_t kFirstPageBytes = 4096;
// Read at once where only the first block is wanted.
constexpr size_t kFirstChunkBytes = 4096;
constexpr std::string_view kSparePrefix = "spare.";
// No log ever comes near this number, and what is appended behind it can still be counted.
constexpr int64_t kCountMax = int64_t{1} << 62;
constexpr char kMoveItAway[] = ": not this log's; move it out of the folder to go on";

// One run over one folder: list, judge, replay. What is judged here is carried out by LogRepair.
class Recovery {
 public:
  Recovery(FileSystem& files, const PrivateLogOptions& options, PrivateLog::ReplaySink sink,
           ReplaySummary* summary)
      : files_(files),
        options_(options),
        sink_(sink),
        summary_(*summary),
        uncommitted_(options.applied) {}

  absl::StatusOr<RecoveredLog> Run() {
    if (options_.valid_start_offset > kCountMax)
      return absl::FailedPreconditionError(
          absl::StrCat(options_.directory, ": said to be valid from ", options_.valid_start_offset,
                       ", beyond 2^62: the replica's info is wrong"));
    RETURN_IF_ERROR(List());
    RETURN_IF_ERROR(ReadFirstBlocks());
    RETURN_IF_ERROR(CheckIndexes());
    RETURN_IF_ERROR(Replay());
    CompareEndWithCleanStop();
    // Every file is judged: from here on the folder is changed.
    RETURN_IF_ERROR(LogRepair(files_, options_, &summary_)
                        .Run({.files = std::move(logs_),
                              .outdated = std::move(outdated_),
                              .spares = std::move(spares_),
                              .uncommitted = std::move(uncommitted_)},
                             &log_));
    Check();
    return std::move(log_);
  }

 private:
  using File = JudgedFile;

  void Check() const {
    CheckJoined(log_.files);  // log_recovery/V1
    CHECK_GE(log_.next_index, 1) << "log_recovery/V1";
    CHECK_GE(log_.end_offset, options_.valid_start_offset)
        << "log_recovery/V1: what comes would be void";
    CHECK_GE(log_.max_decree, options_.applied);
    CHECK_LE(summary_.bytes_above_applied, summary_.bytes);
    CHECK(summary_.lost.empty() || !summary_.was_clean) << "a clean stop that lost something";
    CHECK_LE(log_.identity.files.size(), log_.files.size());
    CHECK_LE(summary_.mutations_above_applied, summary_.mutations);
    if (log_.files.empty()) return;
    CHECK_EQ(log_.next_index, log_.files.back().name.index + 1) << "log_recovery/V1";
    CHECK_EQ(log_.end_offset, log_.files.back().end_offset()) << "log_recovery/V1";
  }

  std::string PathOf(const std::string& name) const { return JoinPath(options_.directory, name); }
  std::string PathOf(const File& file) const { return PathOf(file.entry.file_name); }
  absl::Status Damaged(const File& file, std::string_view what) const {
    return absl::DataLossError(
        absl::StrCat(PathOf(file), ": ", Text(what),
                     " (arion_log verify tells more; the replica is learned anew from another"
                     " member unless it can be repaired)"));
  }

  absl::Status List() {
    ASSIGN_OR_RETURN(log_.identity, ReadLogIdentity(files_, options_.identity_path));
    summary_.was_clean = log_.identity.clean;
    ASSIGN_OR_RETURN(const std::vector<std::string> names, files_.List(options_.directory));
    for (const std::string& name : names) {
      if (IsSpareName(name)) spares_.push_back(name);
      auto parsed = ParseLogFileName(name);
      if (!parsed.ok())
        return absl::FailedPreconditionError(
            absl::StrCat(options_.directory, ": ", parsed.status().message(), kMoveItAway));
      // Any other name is not this log's, and is left alone.
      if (!parsed->has_value()) continue;
      ASSIGN_OR_RETURN(const FileStatus status, files_.Stat(PathOf(name)));
      if (status.is_directory || status.is_symlink)
        return absl::FailedPreconditionError(
            absl::StrCat(PathOf(name), ": a log's name, but not a regular file", kMoveItAway));
      File file;
      file.entry.name = **parsed;
      file.entry.file_name = name;
      file.size = status.size;
      file.status = status;
      file.entry.last_write_unix_s = status.modified_unix_nanos / 1000000000;
      if (file.entry.name.index > kCountMax || file.entry.name.start_offset > kCountMax ||
          status.size > static_cast<uint64_t>(kCountMax - file.entry.name.start_offset))
        return absl::FailedPreconditionError(
            absl::StrCat(PathOf(name), ": index or offsets beyond 2^62", kMoveItAway));
      logs_.push_back(std::move(file));
    }
    // By index, not by name: as text log.10 comes before log.9.
    std::sort(logs_.begin(), logs_.end(),
              [](const File& a, const File& b) { return a.entry.name < b.entry.name; });
    RETURN_IF_ERROR(FindOwn());
    CompareNamesWithCleanStop();
    for (size_t i = 1; i < logs_.size(); ++i)
      if (logs_[i].entry.name.index == logs_[i - 1].entry.name.index)
        return Damaged(logs_[i], absl::StrCat("same index as ", logs_[i - 1].entry.file_name));
    return absl::OkStatus();
  }

  // Says of each file whether we wrote it, and how.
  absl::Status FindOwn() {
    ASSIGN_OR_RETURN(const FileStatus folder, files_.Stat(options_.directory));
    std::vector<LogIdentity::Log> logs;
    for (const File& file : logs_) logs.push_back({file.status, file.entry.name.index});
    if (log_.identity.SetFolder(folder, logs))
      LOG(WARNING) << "[" << options_.pid << "] " << options_.directory
                   << " is a copy, made after a stop that was not clean: its " << logs_.size()
                   << " log files count as written here";
    for (File& file : logs_) file.written_as = log_.identity.Find(file.status);
    return absl::OkStatus();
  }

  // A clean stop names exactly the files that are there; a copy has as many. An older version that
  // wrote on since then began a file behind them, and dropped what its engine held. How that one
  // ended is not known.
  void CompareNamesWithCleanStop() {
    if (!summary_.was_clean) return;
    const std::optional<LogIdentity::LastFile>& told = log_.identity.last_file;
    if (told && !logs_.empty() && logs_.back().entry.name.index > told->index) {
      summary_.was_clean = false;
    } else if (logs_.size() < log_.identity.files.size()) {
      SayLost(absl::StrCat("holds ", logs_.size(), " log files, but the last clean stop left ",
                           log_.identity.files.size()));
    }
  }

  // A clean stop also tells how far the newest file reached. What is missing of that looks like a
  // torn tail, but was durable. The file itself may have been dropped by an older version that
  // wrote on behind it.
  void CompareEndWithCleanStop() {
    const std::optional<LogIdentity::LastFile>& told = log_.identity.last_file;
    if (!log_.identity.clean || !told || !summary_.lost.empty()) return;
    for (const File& file : logs_) {
      if (file.entry.name.index < told->index) continue;
      if (file.entry.name.index == told->index && file.entry.content_bytes < told->content_bytes)
        SayLost(absl::StrCat("holds ", file.entry.content_bytes, " bytes in ", file.entry.file_name,
                             ", but the last clean stop left ", told->content_bytes));
      return;
    }
    SayLost(absl::StrCat("lacks log.", told->index, ", of which the last clean stop left ",
                         told->content_bytes, " bytes"));
  }

  void SayLost(std::string_view what) {
    summary_.was_clean = false;
    summary_.lost = absl::StrCat(options_.directory, " ", Text(what));
    LOG(ERROR) << "[" << options_.pid << "] " << summary_.lost << ": the rest is lost here";
  }

  absl::Status ReadFirstBlocks() {
    std::vector<File> kept;
    for (size_t i = 0; i < logs_.size(); ++i) {
      File& file = logs_[i];
      auto opened = files_.OpenForRead(PathOf(file));
      RETURN_IF_ERROR(opened.status());
      LogReader reader(**opened, file.size, file.entry.name.start_offset, {}, kFirstChunkBytes);
      LogBlock block;
      const auto read = reader.Next(&block);
      if (read.ok() && *read) {
        RETURN_IF_ERROR(TakeHeader(*block.header, &file));
        kept.push_back(std::move(file));
        continue;
      }
      // A file that cannot be read now may be read later: nothing is renamed.
      if (!read.ok()) return Damaged(file, View(read.status().message()));
      if (file.is_ours()) {
        RETURN_IF_ERROR(JudgeOwnWithoutFirstBlock(**opened, reader, i + 1 == logs_.size(), &file));
        kept.push_back(std::move(file));
        continue;
      }
      // It is set aside (wal/FORMAT.md 7.2). A hole that this makes is refused by CheckIndexes.
      const std::string& why = reader.reason();
      LOG(WARNING) << "[" << options_.pid << "] " << PathOf(file)
                   << " of other origin has no first block (" << why << "): renamed to .removed";
      RETURN_IF_ERROR(RenameToRemoved(files_, PathOf(file)));
      if (reader.end() != LogEnd::kEof && reader.end() != LogEnd::kTruncated)
        return Damaged(file, why);
    }
    logs_ = std::move(kept);
    return absl::OkStatus();
  }

  absl::Status TakeHeader(const LogFileHeader& header, File* file) {
    file->has_first_block = true;
    const LogFileHeader::Entry* ours = header.Find(options_.pid);
    if (ours == nullptr && !header.entries.empty())
      return absl::FailedPreconditionError(
          absl::StrCat(PathOf(*file), ": a log of ", header.entries.front().pid.ToString(),
                       ", not of ", options_.pid.ToString(), kMoveItAway));
    if (ours != nullptr) {
      file->header_names_us = true;
      file->entry.header_max_decree = ours->max_decree;
    }
    return absl::OkStatus();
  }

  // A file without a first block holds nothing. That is legal at the end of the log: it was named,
  // and its first write never became durable. Anywhere else bytes that were durable are gone.
  absl::Status JudgeOwnWithoutFirstBlock(const ReadableFile& bytes, const LogReader& reader,
                                         bool is_last, File* file) {
    if (file->is_durable()) {
      if (!is_last) return Damaged(*file, absl::StrCat("no first block, ", reader.reason()));
      if (reader.end() == LogEnd::kUnreadable) return Damaged(*file, reader.reason());
      ASSIGN_OR_RETURN(
          const auto later,
          FindValidBlock(bytes, 0, file->size, file->entry.name.start_offset, options_.pid));
      if (later) return Damaged(*file, absl::StrCat("no first block, but a valid one at ", *later));
    }
    file->fate = File::Fate::kSetAside;
    // Nobody was told of its only write. Of that the first page is kept: behind it the bytes of an
    // older log may lie.
    const uint64_t written =
        file->is_durable() ? std::min(file->size, kFirstPageBytes) : file->size;
    ASSIGN_OR_RETURN(file->cut_end, EndOfNonZeroBytes(bytes, 0, written));
    return absl::OkStatus();
  }

  absl::Status CheckIndexes() {
    for (size_t i = 1; i < logs_.size(); ++i)
      if (logs_[i].entry.name.index != logs_[i - 1].entry.name.index + 1)
        return Damaged(logs_[i], absl::StrCat("the file before it is ",
                                              logs_[i - 1].entry.file_name, ": a hole"));
    return absl::OkStatus();
  }

  // The newest file such that its header, and that of every file before it, says a max_decree no
  // larger than `applied`: the engine holds everything that lies before it.
  size_t FirstToRead() const {
    size_t first = 0;
    for (size_t i = 0; i < logs_.size(); ++i) {
      if (!logs_[i].header_names_us || logs_[i].entry.header_max_decree > options_.applied) break;
      first = i;
    }
    return first;
  }

  absl::Status Replay() {
    size_t first = FirstToRead();
    RETURN_IF_ERROR(JudgeUnreadFiles(&first));
    CHECK(logs_.empty() || first < logs_.size()) << "nothing is left to read";
    log_.max_decree = Decree(0);
    for (size_t i = first; i < logs_.size(); ++i) {
      if (logs_[i].fate == File::Fate::kSetAside) {
        if (i + 1 < logs_.size() && !IsPageCacheOnlyFrom(i))
          return Damaged(logs_[i], "holds nothing, yet files that were written durably follow");
        SetAsideFrom(i);
        break;
      }
      if (i > first && logs_[i].entry.name.start_offset != logs_[i - 1].entry.end_offset()) {
        RETURN_IF_ERROR(JudgeGap(i));
        SetAsideFrom(i);
        break;
      }
      Decree& header_max_decree = logs_[i].entry.header_max_decree;
      if (logs_[i].header_names_us) {
        log_.max_decree = header_max_decree;
      } else {
        header_max_decree = log_.max_decree;  // what was read of the files before
      }
      RETURN_IF_ERROR(ReplayFile(&logs_[i]));
      // If the first file does not say which decrees lie before it, and some file was dropped, they
      // are not known.
      if (i == 0 && !logs_[i].header_names_us && logs_[i].entry.name.index > 1)
        header_max_decree = log_.max_decree;
    }
    log_.max_ballot = summary_.max_ballot;
    // What the engine holds was appended once, though the files of it may be gone.
    log_.max_decree = std::max(log_.max_decree, options_.applied);
    return absl::OkStatus();
  }

  // A file that is not read was judged when the next one was made: its content ends where that one
  // begins. A file that was only in the page cache may have lost its end since. The engine holds
  // all of it, so what lies before such a gap is removed.
  absl::Status JudgeUnreadFiles(size_t* first) {
    CHECK(logs_.empty() || *first < logs_.size()) << "every file is left out";
    size_t lost = 0;
    for (size_t i = 0; i < *first; ++i) {
      const int64_t next_start = logs_[i + 1].entry.name.start_offset;
      if (!Reaches(logs_[i], next_start) && IsPageCacheOnlyFrom(i)) {
        lost = i + 1;
      } else {
        RETURN_IF_ERROR(JudgeUnread(next_start, &logs_[i]));
      }
    }
    const auto end = logs_.begin() + static_cast<ptrdiff_t>(lost);
    outdated_.assign(std::make_move_iterator(logs_.begin()), std::make_move_iterator(end));
    CHECK(outdated_.empty() || outdated_.back().written_as == Durability::kOs) << "log_recovery/V3";
    logs_.erase(logs_.begin(), end);
    CHECK_LE(lost, *first) << "log_recovery/V3: a file that is to be read";
    *first -= lost;
    return absl::OkStatus();
  }

  static bool Reaches(const File& file, int64_t next_start) {
    return next_start >= file.entry.name.start_offset &&
           next_start <= file.entry.name.start_offset + static_cast<int64_t>(file.size);
  }

  absl::Status JudgeUnread(int64_t next_start, File* file) {
    if (!Reaches(*file, next_start))
      return Damaged(
          *file, absl::StrCat("the next file starts at ", next_start, ", which it does not reach"));
    file->entry.content_bytes = static_cast<uint64_t>(next_start - file->entry.name.start_offset);
    file->cut_end = file->entry.content_bytes;
    CHECK_LE(file->cut_end, file->size) << "log_recovery/V2";
    if (!file->is_ours() || file->size == file->entry.content_bytes) return absl::OkStatus();
    ASSIGN_OR_RETURN(auto bytes, files_.OpenForRead(PathOf(*file)));
    ASSIGN_OR_RETURN(file->cut_end, EndOfTornBytes(*bytes, file->entry.content_bytes, file->size,
                                                   file->entry.name.start_offset, options_.pid));
    return absl::OkStatus();
  }

  bool IsPageCacheOnlyFrom(size_t i) const {
    return std::all_of(logs_.begin() + static_cast<ptrdiff_t>(i), logs_.end(),
                       [](const File& f) { return f.written_as == Durability::kOs; });
  }

  // logs_[i] does not start where the one before it ended. Files that were written to the page
  // cache only may lose anything; in all others it is damage.
  absl::Status JudgeGap(size_t i) const {
    CHECK(i > 0 && i < logs_.size()) << "a gap before the first file";
    if (IsPageCacheOnlyFrom(i - 1)) return absl::OkStatus();
    return Damaged(logs_[i], absl::StrCat("starts at ", logs_[i].entry.name.start_offset,
                                          ", but the content of ", logs_[i - 1].entry.file_name,
                                          " ends at ", logs_[i - 1].entry.end_offset()));
  }

  void SetAsideFrom(size_t i) {
    CHECK_LT(i, logs_.size()) << "nothing is set aside";
    for (; i < logs_.size(); ++i) {
      if (logs_[i].has_first_block) logs_[i].cut_end = logs_[i].size;
      logs_[i].fate = File::Fate::kSetAside;
    }
  }

  // Where replay begins in this file. After a clean stop that is the last of its marks that the
  // engine is beyond. What lies behind that mark is read twice, first to see that it is as it was
  // then; if not, the whole file is read.
  absl::StatusOr<LogIndex::Entry> WhereToBegin(const File& file, const ReadableFile& bytes) {
    const std::optional<LogIdentity::LastFile>& known = log_.identity.last_file;
    if (options_.reads_newest_whole || !known || !summary_.was_clean || &file != &logs_.back() ||
        !file.is_ours() || !file.header_names_us || known->index != file.entry.name.index ||
        known->content_bytes != file.size ||
        options_.valid_start_offset > file.entry.name.start_offset)
      return LogIndex::Entry{};
    LogIndex::Entry from;
    for (const LogIndex::Entry& mark : known->marks)
      if (mark.max_decree < options_.applied) from = mark;
    if (from.position == 0) return from;
    LogReader reader(bytes, file.size, file.entry.name.start_offset, from);
    LogBlockView block;
    while (true) {
      ASSIGN_OR_RETURN(const bool more, reader.Next(&block));
      if (!more) break;
    }
    if (reader.end() != LogEnd::kEof) return LogIndex::Entry{};
    CHECK_LT(from.position, file.size) << "a mark behind the file";
    CHECK_LT(from.max_decree, options_.applied) << "the engine lacks what lies before it";
    summary_.max_ballot = std::max(summary_.max_ballot, known->max_ballot);
    summary_.max_decree = std::max(summary_.max_decree, from.max_decree);
    return from;
  }

  absl::Status ReplayFile(File* file) {
    CHECK(file->has_first_block && file->fate == File::Fate::kKeep) << "log_recovery/V4";
    ASSIGN_OR_RETURN(auto bytes, files_.OpenForRead(PathOf(*file)));
    ASSIGN_OR_RETURN(const LogIndex::Entry from, WhereToBegin(*file, *bytes));
    log_.max_decree = std::max(log_.max_decree, from.max_decree);
    LogReader reader(*bytes, file->size, file->entry.name.start_offset, from);
    LogBlockView block;
    while (true) {
      ASSIGN_OR_RETURN(const bool more, reader.Next(&block));
      if (!more) break;
      summary_.bytes += block.size;
      file->last_block = block.position;
      file->entry.index.Add({block.position, block.crc_before, log_.max_decree},
                            block.position + block.size);
      for (const MutationView& mutation : block.mutations)
        RETURN_IF_ERROR(Deliver(*file, mutation));
    }
    CHECK_LE(reader.position(), file->size);
    CHECK_LE(file->last_block, reader.position()) << "a block behind the content";
    file->entry.content_bytes = reader.position();
    file->cut_end = reader.position();
    if (reader.end() == LogEnd::kEof) return absl::OkStatus();
    if (!file->is_ours()) {
      // Legal if the next file starts here, or if there is none: JudgeGap sees to that.
      if (reader.end() == LogEnd::kTruncated) {
        summary_.cut_tail = summary_.cut_tail || file == &logs_.back();
        return absl::OkStatus();
      }
      return Damaged(*file, absl::StrCat(Text(LogEndName(reader.end())), " ", reader.reason()));
    }
    if (reader.end() == LogEnd::kUnreadable) return Damaged(*file, reader.reason());
    if (file->is_durable()) {
      ASSIGN_OR_RETURN(const auto later,
                       FindValidBlock(*bytes, reader.position() + 1, file->size,
                                      file->entry.name.start_offset, options_.pid));
      if (later)
        return Damaged(*file, absl::StrCat("damaged ", reader.reason(),
                                           ", but a valid block lies at ", *later));
    }
    ASSIGN_OR_RETURN(file->cut_end, EndOfTornBytes(*bytes, reader.position(), file->size,
                                                   file->entry.name.start_offset, options_.pid));
    return absl::OkStatus();
  }

  absl::Status Deliver(const File& file, const MutationView& view) {
    if (view.pid() != options_.pid)
      return absl::FailedPreconditionError(absl::StrCat(PathOf(file), ": holds a mutation of ",
                                                        view.pid().ToString(), ", not of ",
                                                        options_.pid.ToString()));
    CHECK(file.fate == File::Fate::kKeep) << "log_recovery/V4";
    // The reader has compared each mutation's offset with its place.
    CHECK_GE(view.log_offset(), file.entry.name.start_offset);
    // Ballots count even in void records: elections rely on the largest one seen.
    summary_.max_ballot = std::max(summary_.max_ballot, view.ballot());
    if (view.log_offset() < options_.valid_start_offset) return absl::OkStatus();
    ++summary_.mutations;
    summary_.max_decree = std::max(summary_.max_decree, view.decree());
    if (view.decree() > options_.applied) {
      ++summary_.mutations_above_applied;
      summary_.bytes_above_applied += view.size();
    }
    log_.max_decree = std::max(log_.max_decree, view.decree());
    uncommitted_.Add(view, static_cast<size_t>(&file - logs_.data()),
                     static_cast<uint64_t>(view.log_offset() - file.entry.name.start_offset));
    return sink_(MutationOf(view));
  }

  // An object that the sink has let go is used again, so that replay allocates nothing per record.
  MutationPtr MutationOf(const MutationView& view) {
    std::shared_ptr<Mutation>& mutation = recent_[next_recent_++ % recent_.size()];
    if (mutation == nullptr || mutation.use_count() > 1) mutation = std::make_shared<Mutation>();
#ifdef __SANITIZE_THREAD__
    mutation = std::make_shared<Mutation>();  // ThreadSanitizer knows no fences
#else
    // Whoever held the object last, maybe on another thread, is done with it before it is written
    // again.
    std::atomic_thread_fence(std::memory_order_acquire);
#endif
    view.CopyTo(mutation.get());
    return mutation;
  }

  FileSystem& files_;
  const PrivateLogOptions& options_;
  const PrivateLog::ReplaySink sink_;
  ReplaySummary& summary_;

  // By index.
  std::vector<File> logs_;
  // Files before those that are not needed, and lost their end.
  std::vector<File> outdated_;
  std::vector<std::string> spares_;
  UncommittedTail uncommitted_;
  // The mutations that were given to the sink last.
  std::array<std::shared_ptr<Mutation>, 4> recent_;
  size_t next_recent_ = 0;
  RecoveredLog log_;
};

}  // namespace

std::string SpareName(int64_t index) {
  CHECK_GT(index, 0) << "indexes begin at 1";
  return absl::StrCat(Text(kSparePrefix), index);
}

bool IsSpareName(std::string_view name) {
  if (name.substr(0, kSparePrefix.size()) != kSparePrefix) return false;
  const std::string_view number = name.substr(kSparePrefix.size());
  return !number.empty() &&
         std::all_of(number.begin(), number.end(), [](char c) { return c >= '0' && c <= '9'; });
}

absl::StatusOr<RecoveredLog> RecoverLog(FileSystem& files, const PrivateLogOptions& options,
                                        PrivateLog::ReplaySink sink, ReplaySummary* summary) {
  CHECK(summary != nullptr);
  CHECK(!options.directory.empty() && !options.identity_path.empty());
  CHECK_GE(options.applied, Decree(0)) << "what the engine holds is not known";
  *summary = ReplaySummary{};
  auto recovered = Recovery(files, options, sink, summary).Run();
  if (absl::IsPermissionDenied(recovered.status()))
    return absl::PermissionDeniedError(
        absl::StrCat(recovered.status().message(),
                     ": recovery must write here; make the folder writable for this server"));
  return recovered;
}

}  // namespace arion
