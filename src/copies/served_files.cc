// SPDX-License-Identifier: Apache-2.0
#include "copies/served_files.h"

#include <absl/strings/str_split.h>

#include <algorithm>

#include "base/coding.h"
#include "base/crc.h"
#include "base/log.h"
#include "base/status.h"
#include "env/file_system.h"
#include "env/held_bytes.h"
#include "rpc/thrift_codec.h"
#include "rpc/transport.h"

namespace arion {
namespace {

// Enough for the few files that several learners copy at a time; each open one is a descriptor.
constexpr size_t kOpenFilesMax = 8;  // of one share

// Of an encoded CopyResponse, what follows the content: offset, size, the ends of two structs.
constexpr size_t kBehindContentBytes = (3 + 8) + (3 + 4) + 1 + 1;

ErrorCode Refuse(const CopyRequest& request, const absl::Status& why) {
  LOG(WARNING) << "copy " << request.file_name << " of " << request.source_dir
               << " for another server: " << why;
  return ErrorCode::kFileOperationFailed;
}

}  // namespace

bool IsSafeRelativeName(std::string_view name) {
  // A zero byte would end the name early in a system call.
  if (name.empty() || name.find('\0') != std::string_view::npos) return false;
  for (const absl::string_view part : absl::StrSplit(Text(name), '/'))
    if (part.empty() || part == "." || part == "..") return false;
  return true;
}

std::shared_ptr<void> ServedFiles::Share(std::string directory, Names names,
                                         std::shared_ptr<void> hold) {
  const auto shared = std::make_shared<Shared>();
  // Two pointers to one object: the table holds it, and so does whoever copies a file just now. The
  // returned handle only ends the entry.
  shared->names = std::move(names);
  shared->hold = std::move(hold);
  const MutexLock lock(mutex_);
  directories_[directory].push_back(shared);
  // The share's last owner takes the entry out again.
  return std::shared_ptr<void>(shared.get(),
                               [self = weak_from_this(), directory, kept = shared.get()](void*) {
                                 if (const auto files = self.lock())
                                   files->Unshare(directory, kept);
                               });
}

void ServedFiles::Unshare(const std::string& directory, const Shared* shared) {
  std::shared_ptr<const Shared> last;  // its hold is released outside the lock
  const MutexLock lock(mutex_);
  // The entry may be gone: the handle can outlive this object's tables.
  const auto it = directories_.find(directory);
  if (it == directories_.end()) return;
  auto& shares = it->second;
  const auto entry =
      std::find_if(shares.begin(), shares.end(), [&](const auto& s) { return s.get() == shared; });
  if (entry == shares.end()) return;
  last = std::move(*entry);
  shares.erase(entry);
  if (shares.empty()) directories_.erase(it);
}

bool ServedFiles::Serves(const std::string& directory) const {
  const MutexLock lock(mutex_);
  return directories_.contains(directory);
}

std::shared_ptr<const ServedFiles::Shared> ServedFiles::Find(const std::string& directory,
                                                             const std::string& name) const {
  // Names come from peers. What is not in `names` is refused anyway; this spares the comparison.
  if (!IsSafeRelativeName(name)) return nullptr;
  const MutexLock lock(mutex_);
  const auto it = directories_.find(directory);
  if (it == directories_.end()) return nullptr;
  for (const auto& share : it->second) {
    if (!share->names.contains(name)) continue;
    ++share->asks;
    return share;
  }
  return nullptr;
}

uint64_t ServedFiles::AsksFor(const std::string& directory) const {
  const MutexLock lock(mutex_);
  const auto it = directories_.find(directory);
  if (it == directories_.end()) return 0;
  uint64_t asks = 0;
  for (const auto& share : it->second) asks += share->asks;
  return asks;
}

GetFileSizeResponse ServedFiles::Sizes(const GetFileSizeRequest& request) const {
  GetFileSizeResponse response;
  std::vector<std::string> names = request.file_list;
  if (names.empty()) {
    const MutexLock lock(mutex_);
    if (const auto it = directories_.find(request.source_dir); it != directories_.end())
      for (const auto& share : it->second)
        for (const auto& [name, size] : share->names) names.push_back(name);
    std::sort(names.begin(), names.end());
    // Two shares of one directory have most names in common.
    names.erase(std::unique(names.begin(), names.end()), names.end());
  }
  for (const std::string& name : names) {
    const auto share = Find(request.source_dir, name);
    if (share == nullptr) return {.error = static_cast<int32_t>(ErrorCode::kObjectNotFound)};
    response.file_list.push_back(name);
    response.size_list.push_back(static_cast<int64_t>(share->names.at(name)));
  }
  return response;
}

absl::StatusOr<std::shared_ptr<const ReadableFile>> ServedFiles::Open(
    const Shared& shared, const CopyRequest& request) const {
  {
    const MutexLock lock(shared.mutex);
    if (const auto it = shared.open.find(request.file_name); it != shared.open.end())
      return it->second;
  }
  // Opened without the lock, which others need meanwhile. Two may open the same file; one is kept.
  ASSIGN_OR_RETURN(std::shared_ptr<const ReadableFile> file,
                   files_.OpenForRead(JoinPath(request.source_dir, request.file_name)));
  file->Expect(ReadableFile::Access::kRandom, 0, 0);  // only what is paid for
  const MutexLock lock(shared.mutex);
  // Only a few: a learner copies one file after the other.
  if (shared.open.size() >= kOpenFilesMax) shared.open.clear();
  return shared.open.try_emplace(request.file_name, std::move(file)).first->second;
}

std::shared_ptr<const ReadableFile> ServedFiles::FileFor(const CopyRequest& request,
                                                         ErrorCode* refusal) const {
  const auto share = Find(request.source_dir, request.file_name);
  if (share == nullptr) {
    *refusal = ErrorCode::kObjectNotFound;
    return nullptr;
  }
  const auto file_size = static_cast<int64_t>(share->names.at(request.file_name));
  // Numbers of a peer may be anything. Subtracting cannot overflow where adding could.
  if (request.offset < 0 || request.size < 0 || request.size > kReadBytesMax ||
      request.offset > file_size || request.size > file_size - request.offset) {
    *refusal = ErrorCode::kHandleEof;
    return nullptr;
  }
  auto file = Open(*share, request);
  if (file.ok()) return *std::move(file);
  *refusal = Refuse(request, file.status());
  return nullptr;
}

CopyResponse ServedFiles::Read(const CopyRequest& request) const {
  CopyResponse response{.offset = request.offset, .size = request.size};
  const auto file = FileFor(request, &response.error);
  // The whole block or an error: an older version's client stores what it gets at the offset it
  // asked for.
  if (file == nullptr) return response;
  const absl::Status read =
      file->ReadAt(static_cast<uint64_t>(request.offset), static_cast<size_t>(request.size),
                   &response.file_content.bytes);
  if (!read.ok())
    response.error = Refuse(request, read);
  else if (response.file_content.bytes.size() != static_cast<size_t>(request.size))
    response.error = ErrorCode::kHandleEof;  // never a short block
  if (response.error != ErrorCode::kOk)
    response.file_content.bytes.clear();
  else
    response.crc32c = static_cast<int32_t>(Crc32c(response.file_content.bytes));
  return response;
}

ReplyBody ServedFiles::Answer(const CopyRequest& request) const {
  CopyResponse response{.offset = request.offset, .size = request.size};
  const auto file = FileFor(request, &response.error);
  std::unique_ptr<HeldBytes> held;
  if (file != nullptr && request.size > 0)
    held = file->Hold(static_cast<uint64_t>(request.offset), static_cast<size_t>(request.size));
  // The kernel can't hand over this file's bytes, or the disk fails: Read answers, and says why.
  if (held == nullptr) return EncodeWrapped(Read(request));
  // The answer is encoded around an empty content; the file's own bytes go between the halves.
  std::string before = EncodeWrapped(response);
  std::string behind = before.substr(before.size() - kBehindContentBytes);
  // The content goes between, where an empty one was encoded; its length is filled in.
  before.resize(before.size() - kBehindContentBytes);
  StoreBig(static_cast<uint32_t>(request.size), before.data() + before.size() - sizeof(uint32_t));
  return {std::move(before), std::move(held), std::move(behind)};
}

}  // namespace arion
