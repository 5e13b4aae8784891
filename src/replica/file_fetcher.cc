// SPDX-License-Identifier: Apache-2.0
#include "replica/file_fetcher.h"

#include <algorithm>
#include <set>

#include "base/crc.h"
#include "base/status.h"
#include "replica/served_files.h"

namespace arion {
namespace {

constexpr uint64_t kChunkBytes = 4 << 20;
constexpr int kChunkAttemptsMax = 3;
constexpr absl::Duration kTimeout = absl::Seconds(20);

}  // namespace

FileFetcher::FileFetcher(Environment& env, Transport& transport, StrandPtr strand, FetchPlan plan)
    : env_(env), transport_(transport), strand_(std::move(strand)), plan_(std::move(plan)) {}

void FileFetcher::InPool(absl::AnyInvocable<absl::Status()> work, absl::AnyInvocable<void()> then) {
  env_.disk_pool(plan_.pool_path)
      .Submit([self = weak_from_this(), strand = strand_, work = std::move(work),
               then = std::move(then)]() mutable {
        absl::Status status = work();
        strand->Post([self, status = std::move(status), then = std::move(then)]() mutable {
          const auto fetcher = self.lock();
          if (fetcher == nullptr || fetcher->is_cancelled()) return;
          if (!status.ok()) return fetcher->Finish(status);
          then();
        });
      });
}

void FileFetcher::Start(Done done) {
  CHECK_ON_STRAND(strand_);
  done_ = std::move(done);
  std::set<std::string> directories = {plan_.target_directory};
  for (const FileToFetch& file : plan_.files) {
    if (!IsSafeRelativeName(file.name))
      return Finish(
          absl::UnavailableError(absl::StrCat("the source names a file '", file.name, "'")));
    directories.insert(ParentDirectory(JoinPath(plan_.target_directory, file.name)));
  }
  InPool(
      [&files = env_.files(), directories, target = plan_.target_directory]() -> absl::Status {
        RETURN_IF_ERROR(files.RemoveAll(target));
        for (const std::string& directory : directories)
          RETURN_IF_ERROR(files.CreateDirectories(directory));
        return absl::OkStatus();
      },
      [this] { AskSizes(); });
}

void FileFetcher::AskSizes() {
  GetFileSizeRequest request{.source = plan_.source,
                             .dst_dir = plan_.target_directory,
                             .source_dir = plan_.source_directory,
                             .source_disk_tag = plan_.source_disk_tag,
                             .dest_disk_tag = "",
                             .pid = plan_.pid};
  for (const FileToFetch& file : plan_.files) request.file_list.push_back(file.name);
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
  const auto response = result.error == ErrorCode::kOk
                            ? DecodeWrapped<GetFileSizeResponse>(result.body)
                            : absl::UnavailableError(Text(ErrorCodeName(result.error)));
  if (!response.ok())
    return Finish(Annotate(absl::UnavailableError(response.status().message()), "file sizes"));
  bool same = response->error == 0 && response->size_list.size() == plan_.files.size();
  for (size_t i = 0; same && i < plan_.files.size(); ++i) {
    const int64_t size = response->size_list[i];
    same =
        size >= 0 && (!plan_.files[i].size || *plan_.files[i].size == static_cast<uint64_t>(size));
    sizes_.push_back(static_cast<uint64_t>(size));
  }
  if (!same) return Finish(absl::UnavailableError("the source no longer has the files it named"));
  NextFile();
}

void FileFetcher::NextFile() {
  offset_ = 0;
  crc_ = 0;
  attempts_ = 0;
  if (file_index_ == plan_.files.size()) {
    std::set<std::string> directories = {plan_.target_directory,
                                         ParentDirectory(plan_.target_directory)};
    for (const FileToFetch& file : plan_.files)
      directories.insert(ParentDirectory(JoinPath(plan_.target_directory, file.name)));
    return InPool(
        [&files = env_.files(), directories]() -> absl::Status {
          for (const std::string& directory : directories)
            RETURN_IF_ERROR(files.SyncDirectory(directory));
          return absl::OkStatus();
        },
        [this] { Finish(absl::OkStatus()); });
  }
  InPool(
      [&files = env_.files(), open = open_,
       path = JoinPath(plan_.target_directory, plan_.files[file_index_].name)]() -> absl::Status {
        ASSIGN_OR_RETURN(open->file,
                         files.OpenForWrite(path, FileSystem::CreateMode::kMustNotExist));
        return absl::OkStatus();
      },
      [this] { sizes_[file_index_] == 0 ? FinishFile() : AskChunk(); });
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
  ++attempts_;
  transport_.Call(plan_.source,
                  {.name = kRpcCopyFile,
                   .body = EncodeWrapped(request, plan_.generation),
                   .timeout = kTimeout,
                   .lane = Lane::kBulk},
                  strand_, [self = weak_from_this()](RpcResult result) {
                    if (const auto fetcher = self.lock(); fetcher && !fetcher->is_cancelled())
                      fetcher->OnChunk(result);
                  });
}

void FileFetcher::OnChunk(const RpcResult& result) {
  if (result.error != ErrorCode::kOk) return RetryChunk(std::string(ErrorCodeName(result.error)));
  absl::StatusOr<CopyResponse> response = DecodeWrapped<CopyResponse>(result.body);
  if (!response.ok()) return RetryChunk(std::string(response.status().message()));
  if (response->error != ErrorCode::kOk)
    return RetryChunk(std::string(ErrorCodeName(response->error)));
  std::string& bytes = response->file_content.bytes;
  const uint64_t wanted = std::min(kChunkBytes, sizes_[file_index_] - offset_);
  if (bytes.size() != wanted || response->offset != static_cast<int64_t>(offset_))
    return RetryChunk("another range than asked for");
  if (response->crc32c && static_cast<uint32_t>(*response->crc32c) != Crc32c(bytes))
    return RetryChunk("a chunk with a wrong checksum");
  StoreChunk(std::move(bytes));
}

void FileFetcher::RetryChunk(const std::string& why) {
  const std::string message = absl::StrCat(plan_.files[file_index_].name, " at ", offset_, " from ",
                                           plan_.source.ToString(), ": ", why);
  if (attempts_ >= kChunkAttemptsMax) return Finish(absl::UnavailableError(message));
  LOG(WARNING) << "[" << plan_.pid << "] copy " << message << "; asking again";
  AskChunk();
}

void FileFetcher::StoreChunk(std::string bytes) {
  const uint64_t at = offset_;
  offset_ += bytes.size();
  bytes_fetched_ += bytes.size();
  crc_ = Crc32c(bytes, crc_);
  attempts_ = 0;
  InPool([open = open_, at, bytes = std::move(bytes)] { return open->file->WriteAt(at, bytes); },
         [this] { offset_ == sizes_[file_index_] ? FinishFile() : AskChunk(); });
}

void FileFetcher::FinishFile() {
  const FileToFetch& file = plan_.files[file_index_];
  if (file.crc32c && *file.crc32c != crc_)
    return Finish(absl::UnavailableError(absl::StrCat(file.name, " from ", plan_.source.ToString(),
                                                      " has a wrong checksum as a whole")));
  InPool(
      [open = open_]() -> absl::Status {
        RETURN_IF_ERROR(open->file->Sync());
        RETURN_IF_ERROR(open->file->Close());
        open->file.reset();
        return absl::OkStatus();
      },
      [this] {
        ++file_index_;
        NextFile();
      });
}

void FileFetcher::Finish(const absl::Status& status) {
  Done done = std::move(done_);
  done_ = nullptr;
  if (done) done(status);
}

}  // namespace arion
