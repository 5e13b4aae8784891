// SPDX-License-Identifier: Apache-2.0
#include "wal/uncommitted_tail.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "base/crc.h"
#include "base/log.h"
#include "base/mutation_view.h"
#include "base/status.h"
#include "env/file_system.h"

namespace arion {

void UncommittedTail::Add(const MutationView& mutation, size_t file, uint64_t position) {
  CHECK_GT(mutation.size(), 0u);
  committed_ = std::max(committed_, mutation.last_committed());
  // The node of what leaves is used for what comes, so that nothing is allocated per record.
  while (!places_.empty() && places_.begin()->first <= committed_)
    free_place_ = places_.extract(places_.begin());
  const Decree decree = mutation.decree();
  if (decree <= std::max(committed_, applied_)) return;
  const Place place{file, position, mutation.size(), mutation.ballot()};
  if (const auto kept = places_.find(decree); kept != places_.end()) {
    // Of equal ballots the later one, as everywhere.
    if (kept->second.ballot <= place.ballot) kept->second = place;
  } else if (free_place_) {
    free_place_.key() = decree;
    free_place_.mapped() = place;
    places_.insert(std::move(free_place_));
  } else {
    places_.emplace(decree, place);
  }
  CHECK_GT(places_.begin()->first, std::max(committed_, applied_)) << "uncommitted_tail/U1";
}

absl::StatusOr<uint64_t> UncommittedTail::WriteFile(FileSystem& files,
                                                    absl::Span<const std::string> files_by_number,
                                                    const std::string& path, int64_t start_offset,
                                                    const LogFileHeader::Entry& header) const {
  // One source file is open at a time. The tail is in decree order, which is nearly the order of
  // the files.
  std::optional<size_t> opened;
  std::unique_ptr<ReadableFile> source;
  std::string raw;
  // Appends the mutation at `place` to *to, as one at `log_offset`.
  const auto copy = [&](const Place& place, int64_t log_offset, std::string* to) -> absl::Status {
    CHECK_LT(place.file, files_by_number.size()) << "its file is not part of the log";
    if (opened != place.file) {
      ASSIGN_OR_RETURN(source, files.OpenForRead(files_by_number[place.file]));
      opened = place.file;
    }
    RETURN_IF_ERROR(source->ReadAt(place.position, place.bytes, &raw));
    std::string_view rest = raw;
    const auto mutation = TakeMutation(&rest);
    if (!mutation.ok())
      return absl::DataLossError(
          absl::StrCat(files_by_number[place.file],
                       " changed since it was judged: ", mutation.status().message()));
    AppendMutation(*mutation, log_offset, to);
    return absl::OkStatus();
  };

  ASSIGN_OR_RETURN(const auto file, files.OpenForWrite(path, FileSystem::CreateMode::kTruncate));
  std::string block(kFirstBlockBytes, '\0');
  uint32_t crc = StoreFirstBlock(start_offset, header, block.data());
  // The first block has no records. Each of the others is filled as the writer fills one
  // (wal/FORMAT.md 2.1).
  uint64_t position = 0;
  for (auto next = places_.begin();;) {
    RETURN_IF_ERROR(file->WriteAt(position, block));
    position += block.size();
    if (next == places_.end()) break;
    block.assign(kBlockHeaderBytes, '\0');
    for (; next != places_.end() && block.size() <= kBlockBytesTarget; ++next)
      RETURN_IF_ERROR(
          copy(next->second, start_offset + static_cast<int64_t>(position + block.size()), &block));
    const std::string_view body = std::string_view(block).substr(kBlockHeaderBytes);
    CHECK(!body.empty()) << "a block without a record";
    crc = Crc32c(body, crc);
    StoreBlockHeader({.length = static_cast<int32_t>(body.size()),
                      .body_crc = crc,
                      .position = static_cast<uint32_t>(position)},
                     block.data());
  }
  CHECK(places_.empty() || position > kFirstBlockBytes)
      << "uncommitted_tail/U1: nothing was written";
  RETURN_IF_ERROR(file->Sync());
  RETURN_IF_ERROR(file->Close());
  return position;
}

}  // namespace arion
