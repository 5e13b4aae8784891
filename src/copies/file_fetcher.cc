// SPDX-License-Identifier: Apache-2.0
#include "copies/file_fetcher.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "base/crc.h"
#include "base/status.h"
#include "copies/served_files.h"
#include "env/file_system.h"

namespace arion {
namespace {

constexpr uint64_t kChunkBytes = 512 << 10;  // short enough for who shares the way with it
constexpr int kChunkAttemptsMax = 3;         // of a chunk that comes damaged
constexpr int kOutagesMax = 10;              // of a chunk that does not come
constexpr absl::Duration kOutagePause = absl::Seconds(1);
constexpr absl::Duration kTimeout = absl::Seconds(20);

// Of all files, below the target; the target first.
std::set<std::string> DirectoriesOf(const FetchPlan& plan) {
  std::set<std::string> directories = {plan.target_directory};
  for (const FileToFetch& file : plan.files)
    for (std::string path = ParentDirectory(JoinPath(plan.target_directory, file.name));
         directories.insert(path).second;)
      path = ParentDirectory(path);
  return directories;
}

// What may be the beginning of the wanted file. Without bytes where nothing is, or where no
// checksum could show that it is another file's.
absl::StatusOr<FilePiece> ReadPiece(FileSystem& files, const std::string& path,
                                    const FileToFetch& wanted, const std::atomic<bool>& cancelled) {
  const absl::StatusOr<FileStatus> status = files.Stat(path);
  if (!status.ok() || status->is_directory || status->is_symlink || !wanted.crc32c ||
      !wanted.size || status->size > *wanted.size)
    return FilePiece{};
  ASSIGN_OR_RETURN(const auto file, files.OpenForRead(path));
  FilePiece piece;
  // Its checksum has to be known to go on from its end. Large files: a cancelled copy must not hold
  // the pool.
  for (std::string bytes; piece.bytes < status->size; piece.bytes += bytes.size()) {
    if (cancelled) return absl::CancelledError();
    RETURN_IF_ERROR(file->ReadAt(piece.bytes, kChunkBytes, &bytes));
    if (bytes.empty()) break;
    piece.crc = Crc32c(bytes, piece.crc);
  }
  // Complete and wrong: to fetch it anew is all that helps. An incomplete piece shows at the end
  // only.
  if (piece.bytes == *wanted.size && piece.crc != *wanted.crc32c) return FilePiece{};
  return piece;
}

// A file that an earlier copy brought into another directory moves to where this copy wants it:
// most files of two checkpoints are the same. If it is another file after all, its checksum will
// show that.
absl::Status TakeOver(FileSystem& files, const FetchPlan& plan) {
  std::map<std::string, std::string> by_name;
  ASSIGN_OR_RETURN(const std::vector<std::string> directories, files.List(plan.target_directory));
  for (const std::string& name : directories) {
    const std::string directory = JoinPath(plan.target_directory, name);
    ASSIGN_OR_RETURN(const FileStatus status, files.Stat(directory));
    if (!status.is_directory) continue;
    ASSIGN_OR_RETURN(const std::vector<std::string> inside, files.List(directory));
    for (const std::string& file : inside) by_name[file] = JoinPath(directory, file);
  }
  for (const FileToFetch& file : plan.files) {
    const std::string path = JoinPath(plan.target_directory, file.name);
    const auto other = by_name.find(BaseName(path));
    // By the last part of the name: only the directory of the checkpoint differs.
    if (other != by_name.end() && !Exists(files, path))
      RETURN_IF_ERROR(files.Rename(other->second, path));
  }
  return absl::OkStatus();
}

// Makes the target's directories, finds what of the plan's files is there, and removes all else.
absl::StatusOr<std::vector<FilePiece>> PrepareTarget(FileSystem& files, const FetchPlan& plan,
                                                     const std::atomic<bool>& cancelled) {
  const std::set<std::string> directories = DirectoriesOf(plan);
  std::set<std::string> kept = directories;
  for (const std::string& directory : directories) {
    const absl::StatusOr<FileStatus> status = files.Stat(directory);
    // A file where a directory has to be is left from something else.
    if (status.ok() && !status->is_directory) RETURN_IF_ERROR(files.Remove(directory));
    RETURN_IF_ERROR(files.CreateDirectories(directory));
  }
  // Before pieces are read: what moves into place is then found as a piece.
  RETURN_IF_ERROR(TakeOver(files, plan));
  std::vector<FilePiece> pieces;
  for (const FileToFetch& file : plan.files) {
    const std::string path = JoinPath(plan.target_directory, file.name);
    ASSIGN_OR_RETURN(pieces.emplace_back(), ReadPiece(files, path, file, cancelled));
    if (pieces.back().bytes > 0) kept.insert(path);
  }
  // Last, when it is known what is used. What is kept is exactly what the plan will write to.
  for (const std::string& directory : directories) {
    ASSIGN_OR_RETURN(const std::vector<std::string> names, files.List(directory));
    for (const std::string& name : names)
      if (const std::string path = JoinPath(directory, name); !kept.contains(path))
        RETURN_IF_ERROR(files.RemoveAll(path));
  }
  return pieces;
}

}  // namespace

FileFetcher::FileFetcher(Environment& env, Transport& transport, StrandPtr strand, FetchPlan plan)
    : env_(env), transport_(transport), strand_(std::move(strand)), plan_(std::move(plan)) {}

FileFetcher::~FileFetcher() { LetGoOfFile(); }

void FileFetcher::InPool(absl::AnyInvocable<absl::Status()> work, absl::AnyInvocable<void()> then) {
  plan_.in_pool(
      // Asked again in the pool: a copy that was cancelled while the job waited does no work.
      [cancelled = cancelled_, work = std::move(work)]() mutable {
        return *cancelled ? absl::CancelledError() : work();
      },
      [self = weak_from_this(), then = std::move(then)](const absl::Status& status) mutable {
        const auto fetcher = self.lock();
        if (fetcher == nullptr || fetcher->is_cancelled()) return;
        if (!status.ok()) return fetcher->Finish(status);
        then();
      });
}

void FileFetcher::Start(Done done) {
  CHECK_ON_STRAND(strand_);
  done_ = std::move(done);
  for (const FileToFetch& file : plan_.files)
    // The source may be anybody: a name must not lead out of the target.
    if (!IsSafeRelativeName(file.name)) {
      NoteOddAnswer();
      return Finish(
          absl::UnavailableError(absl::StrCat("the source names a file '", file.name, "'")));
    }
  // Shared: the job writes it in the pool, the next step reads it on the strand.
  auto pieces = std::make_shared<std::vector<FilePiece>>();
  InPool(
      [self = shared_from_this(), pieces]() -> absl::Status {
        ASSIGN_OR_RETURN(*pieces,
                         PrepareTarget(self->env_.files(), self->plan_, *self->cancelled_));
        return absl::OkStatus();
      },
      [this, pieces] {
        pieces_ = std::move(*pieces);
        AskSizes();
      });
}

void FileFetcher::AskSizes() {
  GetFileSizeRequest request{.source = plan_.source,
                             .dst_dir = plan_.target_directory,
                             .source_dir = plan_.source_directory,
                             .source_disk_tag = plan_.source_disk_tag,
                             .dest_disk_tag = plan_.target_disk_tag,
                             .pid = plan_.pid};
  for (const FileToFetch& file : plan_.files) request.file_list.push_back(file.name);
  // Only this generation knows the field.
  if (plan_.generation == PeerGeneration::k26) request.hp_source = HostPort::From(plan_.source);
  transport_.Call(plan_.source,
                  {.name = kRpcGetFileSize,
                   .body = EncodeWrapped(request, plan_.generation),
                   .timeout = kTimeout,
                   .lane = Lane::kBulk},
                  strand_, [self = weak_from_this()](RpcResult result) {
                    if (const auto fetcher = self.lock(); fetcher && !fetcher->is_cancelled())
                      fetcher->OnSizes(result);
                  });
}

void FileFetcher::OnSizes(const RpcResult& result) {
  if (result.error != ErrorCode::kOk)
    // No retry here: the learner asks its primary again, which names files that are still there.
    return Finish(
        absl::UnavailableError(absl::StrCat("file sizes: ", Text(ErrorCodeName(result.error)))));
  const auto response = DecodeWrapped<GetFileSizeResponse>(result.body);
  bool same = response.ok() && response->size_list.size() == plan_.files.size();
  for (size_t i = 0; same && i < plan_.files.size(); ++i) {
    const int64_t size = response->size_list[i];
    same =
        // A size of another length than was announced: it is another file by now.
        size >= 0 && (!plan_.files[i].size || *plan_.files[i].size == static_cast<uint64_t>(size));
    sizes_.push_back(static_cast<uint64_t>(size));
  }
  if (!response.ok() || (response->error == 0 && !same)) NoteOddAnswer();
  if (!response.ok())
    return Finish(Annotate(absl::UnavailableError(response.status().message()), "file sizes"));
  if (response->error != 0 || !same)
    return Finish(absl::UnavailableError(absl::StrCat(
        plan_.source.ToString(), " no longer has the files it named, ", plan_.files.front().name,
        " and ", plan_.files.size() - 1, " more: error ", response->error)));
  NextFile();
}

void FileFetcher::NextFile() {
  attempts_ = 0;
  if (file_index_ < plan_.files.size()) return OpenNext();
  InPool(
      [self = shared_from_this()]() -> absl::Status {
        FileSystem& files = self->env_.files();
        // Names last: a file that is named durably has its content (file_fetcher/D1).
        for (const std::string& directory : DirectoriesOf(self->plan_))
          RETURN_IF_ERROR(files.SyncDirectory(directory));
        return files.SyncDirectory(ParentDirectory(self->plan_.target_directory));
      },
      [this] { Finish(absl::OkStatus()); });
}

// The file is opened where its piece ends, or made; a new file must not exist, because
// PrepareTarget removed what is not a piece.
void FileFetcher::OpenNext() {
  const FilePiece& piece = pieces_[file_index_];
  offset_ = piece.bytes;
  crc_ = piece.crc;
  bytes_kept_ += piece.bytes;
  const auto mode = piece.bytes > 0 ? FileSystem::CreateMode::kOpenExisting
                                    : FileSystem::CreateMode::kMustNotExist;
  // From here on a job may leave a file open, which LetGoOfFile has to close in the pool.
  may_be_open_ = true;
  InPool(
      [&files = env_.files(), open = open_, mode,
       path = JoinPath(plan_.target_directory, plan_.files[file_index_].name)]() -> absl::Status {
        ASSIGN_OR_RETURN(open->file, files.OpenForWrite(path, mode));
        return absl::OkStatus();
      },
      [this] { NextChunk(); });
}

void FileFetcher::NextChunk() {
  if (offset_ == sizes_[file_index_]) return FinishFile();
  const uint64_t size = std::min(kChunkBytes, sizes_[file_index_] - offset_);
  // The pace takes its room before the chunk is asked for, so the source does not read in vain.
  const absl::Duration delay = plan_.pace ? plan_.pace(size) : absl::ZeroDuration();
  if (delay == absl::ZeroDuration()) return AskChunk();
  AskChunkAfter(delay);
}

void FileFetcher::AskChunkAfter(absl::Duration delay) {
  strand_->PostAfter(delay, [self = weak_from_this()] {
    if (const auto fetcher = self.lock(); fetcher && !fetcher->is_cancelled()) fetcher->AskChunk();
  });
}

void FileFetcher::AskChunk() {
  const FileToFetch& file = plan_.files[file_index_];
  const uint64_t size = std::min(kChunkBytes, sizes_[file_index_] - offset_);
  CopyRequest request{.source = plan_.source,
                      .source_dir = plan_.source_directory,
                      .dst_dir = plan_.target_directory,
                      .file_name = file.name,
                      .offset = static_cast<int64_t>(offset_),
                      .size = static_cast<int32_t>(size),
                      .is_last = offset_ + size == sizes_[file_index_],
                      .source_disk_tag = plan_.source_disk_tag,
                      .pid = plan_.pid};
  if (plan_.generation == PeerGeneration::k26) request.hp_source = HostPort::From(plan_.source);
  transport_.Call(plan_.source,
                  {.name = kRpcCopyFile,
                   .body = EncodeWrapped(request, plan_.generation),
                   .timeout = kTimeout,
                   .lane = Lane::kBulk},
                  strand_, [self = weak_from_this()](RpcResult result) {
                    if (const auto fetcher = self.lock(); fetcher && !fetcher->is_cancelled())
                      fetcher->OnChunk(std::move(result));
                  });
}

// A chunk as it came, and what its check in the pool says.
struct FileFetcher::Chunk {
  std::string body;
  uint64_t offset = 0;
  uint64_t bytes = 0;        // asked for
  uint32_t crc = 0;          // of the file up to here, then with it
  std::string mistake;       // of the source
  bool is_admitted = false;  // the source says so itself
};

// Checks the chunk and writes it to its place.
absl::Status FileFetcher::Store(WritableFile& file, Chunk* chunk) {
  const absl::StatusOr<CopyResponse> response = DecodeWrapped<CopyResponse>(chunk->body);
  // Freed before the write: the decoded content is a copy, and many learners may do this at once.
  chunk->body = {};
  if (!response.ok()) {
    chunk->mistake = std::string(response.status().message());
    return absl::OkStatus();
  }
  const std::string& bytes = response->file_content.bytes;
  // Told by the source itself: no odd answer, since its disk may fail.
  chunk->is_admitted = response->error != ErrorCode::kOk;
  if (chunk->is_admitted)
    chunk->mistake = std::string(ErrorCodeName(response->error));
  else if (bytes.size() != chunk->bytes || response->offset != static_cast<int64_t>(chunk->offset))
    chunk->mistake = "another range than asked for";
  else if (response->crc32c && static_cast<uint32_t>(*response->crc32c) != Crc32c(bytes))
    chunk->mistake = "a chunk with a wrong checksum";
  if (!chunk->mistake.empty()) return absl::OkStatus();
  // Checked before anything is written: what is on the disk is always a sound beginning.
  chunk->crc = Crc32c(bytes, chunk->crc);
  RETURN_IF_ERROR(file.WriteAt(chunk->offset, bytes));
  // The sync at the end finds little left, and no log's flush waits behind much of it.
  return file.StartWriteback(chunk->offset, bytes.size());
}

void FileFetcher::OnChunk(RpcResult result) {
  // Not answered counts apart from damaged: outages are waited out, damage is not.
  if (result.error != ErrorCode::kOk) return OnOutage(ErrorCodeName(result.error));
  ++attempts_;
  auto chunk =
      // Decoding and its checksum take time: they are the pool's, not the strand's.
      std::make_shared<Chunk>(Chunk{.body = std::move(result.body),
                                    .offset = offset_,
                                    .bytes = std::min(kChunkBytes, sizes_[file_index_] - offset_),
                                    .crc = crc_});
  InPool([open = open_, chunk] { return Store(*open->file, chunk.get()); },
         [this, chunk] {
           if (!chunk->mistake.empty()) {
             if (!chunk->is_admitted) NoteOddAnswer();
             return RetryChunk(chunk->mistake);
           }
           offset_ += chunk->bytes;
           bytes_fetched_ += chunk->bytes;
           crc_ = chunk->crc;
           attempts_ = 0;
           outages_ = 0;
           NextChunk();
         });
}

void FileFetcher::NoteOddAnswer() const {
  if (plan_.on_odd_answer) plan_.on_odd_answer();
}

std::string FileFetcher::Position() const {
  return absl::StrCat(plan_.files[file_index_].name, " at ", offset_, " from ",
                      plan_.source.ToString());
}

void FileFetcher::RetryChunk(const std::string& why) {
  const std::string message = absl::StrCat(Position(), ": ", why);
  if (attempts_ >= kChunkAttemptsMax) return Finish(absl::UnavailableError(message));
  LOG(WARNING) << "[" << plan_.pid << "] copy " << message << "; asking again";
  // At once: the damage was on the way, and the source is there.
  AskChunk();
}

void FileFetcher::OnOutage(std::string_view why) {
  if (++outages_ > kOutagesMax)
    return Finish(absl::UnavailableError(absl::StrCat(Position(), ": ", Text(why))));
  AskChunkAfter(kOutagePause);
}

// Whole, damaged, or damaged because of what was here before: in the last case the file is fetched
// once more from its beginning.
void FileFetcher::FinishFile() {
  const FileToFetch& file = plan_.files[file_index_];
  const bool is_damaged = file.crc32c && *file.crc32c != crc_;
  FilePiece& piece = pieces_[file_index_];
  if (is_damaged && piece.bytes == 0)
    return Finish(absl::UnavailableError(absl::StrCat(file.name, " from ", plan_.source.ToString(),
                                                      " has a wrong checksum as a whole")));
  // What was here before did not belong to it: all of it once more.
  const bool again = is_damaged;
  if (again) bytes_kept_ -= piece.bytes;
  // Sync, then close, in the pool: either may wait for the disk.
  InPool(
      [&files = env_.files(), open = open_, again,
       path = JoinPath(plan_.target_directory, file.name)]() -> absl::Status {
        if (!again) RETURN_IF_ERROR(open->file->Sync());
        RETURN_IF_ERROR(open->file->Close());
        open->file.reset();
        return again ? files.Remove(path) : absl::OkStatus();
      },
      [this, again] {
        may_be_open_ = false;
        pieces_[file_index_] = FilePiece{};
        if (!again) ++file_index_;
        NextFile();
      });
}

// A cancelled copy's last write may still be under way. Both it and this job hold the file;
// whichever ends last closes it, in the pool.
void FileFetcher::LetGoOfFile() {
  if (!std::exchange(may_be_open_, false)) return;
  env_.bulk_pool(plan_.pool_path)
      .Submit([open = std::exchange(open_, std::make_shared<OpenFile>())] {});
}

// `done` may destroy this, so nothing follows it.
void FileFetcher::Finish(const absl::Status& status) {
  LetGoOfFile();
  Done done = std::move(done_);
  done_ = nullptr;
  if (done) done(status);
}

}  // namespace arion
