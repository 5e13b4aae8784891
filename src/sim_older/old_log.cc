// SPDX-License-Identifier: Apache-2.0
#include "sim_older/old_log.h"

#include <algorithm>
#include <utility>

#include "base/crc.h"
#include "base/log.h"

namespace arion::sim {

OldLog::OldLog(PartitionId pid, int64_t index, int64_t start_offset) : pid_(pid) {
  BeginFile(index, start_offset, 0);
}

OldLog::OldLog(PartitionId pid, int64_t valid_from, std::vector<Found> found,
               std::shared_ptr<OldLogFiles> files)
    : pid_(pid), disk_(std::move(files)), valid_from_(valid_from) {
  for (Found& file : found) {
    // In log order, so the last file's values are left as the newest file's.
    name_ = file.name;
    end_ = file.content_bytes;
    max_decree_ = file.max_before;
    for (const MutationPtr& m : file.mutations) max_decree_ = std::max(max_decree_, m->decree);
    files_[name_.ToString()] = std::move(file.bytes);
    held_.push_back({.name = name_,
                     .max_before = file.max_before,
                     .valid_from = valid_from,
                     .mutations = std::move(file.mutations)});
  }
}

void OldLog::Write(std::string_view written) {
  bytes().append(written);
  if (disk_ != nullptr) disk_->Append(name_, written);
}

void OldLog::BeginBlock(const std::vector<MutationPtr>& mutations) {
  CHECK(block_.empty()) << "one write at a time";
  std::string body;
  const int64_t body_at = name_.start_offset + end_ + static_cast<int64_t>(kBlockHeaderBytes);
  for (const MutationPtr& m : mutations)
    AppendMutation(*m, body_at + static_cast<int64_t>(body.size()), &body);
  // The checksum goes on from the block before, so a block can't be taken for one of another place.
  block_crc_ = Crc32c(body, crc_);
  char header[kBlockHeaderBytes];
  StoreBlockHeader({.length = static_cast<int32_t>(body.size()),
                    .body_crc = block_crc_,
                    .position = static_cast<uint32_t>(end_)},
                   header);
  block_ = std::string(header, kBlockHeaderBytes) + body;
  in_block_ = mutations;
  // Half now and half later: a process that ends in between leaves a torn block.
  Write(std::string_view(block_).substr(0, block_.size() / 2));
}

void OldLog::EndBlock() {
  CHECK(!block_.empty()) << "no write was begun";
  Write(std::string_view(block_).substr(block_.size() / 2));
  end_ += static_cast<int64_t>(block_.size());
  crc_ = block_crc_;
  block_.clear();
  for (MutationPtr& m : in_block_) {
    max_decree_ = std::max(max_decree_, m->decree);
    held_.back().mutations.push_back(std::move(m));
  }
  in_block_.clear();
}

void OldLog::SwitchFile(bool voids) {
  CHECK(block_.empty()) << "a write is under way";
  // Offsets go on from file to file. What a torn block left behind `end_` has no offsets of its
  // own.
  const int64_t end = name_.start_offset + end_;
  BeginFile(name_.index + 1, end, voids ? end : valid_from_);
}

void OldLog::Reopen() {
  block_.clear();
  in_block_.clear();
  SwitchFile();
}

void OldLog::BeginFile(int64_t index, int64_t start_offset, int64_t valid_from) {
  name_ = {.index = index, .start_offset = start_offset};
  valid_from_ = valid_from;
  std::string first(kFirstBlockBytes, '\0');
  end_ = static_cast<int64_t>(kFirstBlockBytes);
  crc_ = StoreFirstBlock(start_offset,
                         {.pid = pid_, .max_decree = max_decree_, .valid_start_offset = valid_from},
                         first.data());
  Write(first);
  held_.push_back({.name = name_, .max_before = max_decree_, .valid_from = valid_from});
}

std::vector<std::string> OldLog::names() const {
  std::vector<std::string> names;
  for (const auto& [name, bytes] : files_) names.push_back(name);
  return names;
}

std::vector<MutationPtr> OldLog::Mutations() const {
  std::vector<MutationPtr> all;
  for (const File& file : held_)
    if (file.name.start_offset >= valid_from_)  // files are switched where the log becomes void
      all.insert(all.end(), file.mutations.begin(), file.mutations.end());
  return all;
}

bool OldLog::Covers(Decree start) const {
  return std::any_of(held_.begin(), held_.end(), [&](const File& file) {
    return file.name.start_offset >= valid_from_ && file.max_before < start;
  });
}

std::vector<std::string> OldLog::NamesFrom(Decree start) const {
  std::vector<std::string> names;
  // Backwards, because a file's header tells the largest decree before it: the first file that
  // begins at or below `start` has it.
  for (auto file = held_.rbegin(); file != held_.rend(); ++file) {
    names.insert(names.begin(), file->name.ToString());
    if (file->max_before < start) break;
  }
  return names;
}

void OldLog::Collect(Decree durable) {
  while (held_.size() > 1) {
    const bool is_void = held_[1].name.start_offset <= valid_from_;
    // What a later file says of all before it decides, as in 2.5.0.
    if (!is_void && held_[1].max_before > durable) return;
    files_.erase(held_.front().name.ToString());
    if (disk_ != nullptr) disk_->Remove(held_.front().name);
    held_.pop_front();
  }
}

}  // namespace arion::sim
