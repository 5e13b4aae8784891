// SPDX-License-Identifier: Apache-2.0
#include "legacy/shared_log_reader.h"

#include <algorithm>
#include <utility>

#include "base/status.h"
#include "env/file_system.h"

namespace arion {
namespace {

// What the disk is asked to read while the CPU checks what was read before.
constexpr uint64_t kReadAheadBytes = 8 << 20;

}  // namespace

SharedLogReader::SharedLogReader(FileSystem& files, SharedLogCatalog catalog, size_t first,
                                 size_t chunk_bytes_max)
    : files_(files),
      catalog_(std::move(catalog)),
      chunk_bytes_max_(chunk_bytes_max),
      at_(std::min(first, catalog_.files.size())) {
  if (!catalog_.files.empty()) max_of_newest_ = catalog_.files.back().earlier;
  if (at_ < catalog_.files.size()) {
    // What the skipped files hold counts as seen: damage later on concerns only what is above it.
    seen_ = catalog_.files[at_].earlier;
    end_offset_ = catalog_.files[at_].name.start_offset;
  }
}

absl::StatusOr<bool> SharedLogReader::Next(uint64_t bytes, Sink sink) {
  if (damage_)
    return absl::FailedPreconditionError("the shared log is damaged and nobody said to go on");
  uint64_t given = 0;
  while (given < bytes) {
    if (at_ == catalog_.files.size()) return given > 0;
    if (reader_ == nullptr) RETURN_IF_ERROR(OpenFile());
    ReadAhead();
    ASSIGN_OR_RETURN(const bool more, reader_->Next(&block_));
    if (!more) {
      RETURN_IF_ERROR(EndFile());
      continue;
    }
    given += block_.size;
    bytes_read_ += block_.size;
    for (const MutationView& mutation : block_.mutations) {
      Count(mutation);
      sink(mutation);
    }
  }
  return true;
}

void SharedLogReader::ReadAhead() {
  const uint64_t size = catalog_.files[at_].size;
  // Asked again when half of it is used up, so the disk always has something to read.
  if (asked_to_ >= size || reader_->position() + kReadAheadBytes / 2 < asked_to_) return;
  const uint64_t to = std::min(size, reader_->position() + kReadAheadBytes);
  file_->Expect(ReadableFile::Access::kSoon, asked_to_, to - asked_to_);
  asked_to_ = to;
}

void SharedLogReader::Count(const MutationView& mutation) {
  ++mutations_;
  const PartitionId pid = mutation.pid();
  // Map entries stay where they are, so their addresses may be kept.
  if (last_seen_ == nullptr || !(pid == last_pid_)) {
    last_pid_ = pid;
    last_seen_ = &seen_[pid];
    last_newest_ = at_ + 1 == catalog_.files.size() ? &max_of_newest_[pid] : nullptr;
  }
  *last_seen_ = std::max(*last_seen_, mutation.decree());
  if (last_newest_ != nullptr) *last_newest_ = std::max(*last_newest_, mutation.decree());
}

absl::Status SharedLogReader::OpenFile() {
  const SharedLogFile& file = catalog_.files[at_];
  last_seen_ = nullptr;
  if (expected_start_ && *expected_start_ != file.name.start_offset) {
    const SharedLogFile& before = catalog_.files[at_ - 1];
    const int64_t content_end = *expected_start_;
    --at_;  // the bytes that are missing belong to the file before
    return Damaged(static_cast<uint64_t>(content_end - before.name.start_offset),
                   absl::StrCat("its content ends at ", content_end, ", but ", file.file_name,
                                " starts at ", file.name.start_offset));
  }
  ASSIGN_OR_RETURN(file_, files_.OpenForRead(catalog_.PathOf(file)));
  asked_to_ = 0;
  reader_ = std::make_unique<LogReader>(*file_, file.size, file.name.start_offset,
                                        LogIndex::Entry{}, chunk_bytes_max_);
  return absl::OkStatus();
}

absl::Status SharedLogReader::EndFile() {
  const SharedLogFile& file = catalog_.files[at_];
  const uint64_t position = reader_->position();
  const LogEnd end = reader_->end();
  const std::string reason = absl::StrCat(Text(LogEndName(end)), " ", reader_->reason());
  if (end == LogEnd::kCorrupt || end == LogEnd::kUnreadable) return Damaged(position, reason);
  end_offset_ = file.name.start_offset + static_cast<int64_t>(position);
  // An older file may end in the middle of a block too; the next one then starts exactly there,
  // which OpenFile checks.
  if (end == LogEnd::kTruncated && at_ + 1 == catalog_.files.size())
    torn_tail_ = absl::StrCat(catalog_.PathOf(file), ": ", reason, ", ", file.size - position,
                              " bytes behind it ignored");
  expected_start_ = end_offset_;
  reader_.reset();
  file_.reset();
  ++at_;
  return absl::OkStatus();
}

SharedLogReader::Damage SharedLogReader::DamageAt(uint64_t position,
                                                  const std::string& reason) const {
  Damage damage{catalog_.PathOf(catalog_.files[at_]), position, reason, {}};
  const bool is_newest = at_ + 1 == catalog_.files.size();
  // No later header tells how much more there was.
  if (is_newest) {
    for (const auto& [pid, decree] : seen_) damage.concerned[pid] = {decree, std::nullopt};
    return damage;
  }
  for (const auto& [pid, max] : catalog_.files[at_ + 1].earlier) {
    const auto seen = seen_.find(pid);
    const Decree last = seen == seen_.end() ? Decree(0) : seen->second;
    if (max > last) damage.concerned[pid] = {last, max};
  }
  return damage;
}

absl::Status SharedLogReader::Damaged(uint64_t position, const std::string& reason) {
  damage_ = DamageAt(position, reason);
  return absl::DataLossError(damage_->ToString());
}

SharedLogReader::Damage SharedLogReader::SkipDamaged() {
  Damage damage = *std::exchange(damage_, std::nullopt);
  expected_start_.reset();
  reader_.reset();
  file_.reset();
  end_offset_ = at_ + 1 < catalog_.files.size() ? catalog_.files[at_ + 1].name.start_offset
                                                : catalog_.files[at_].end_offset();
  ++at_;
  return damage;
}

std::string SharedLogReader::Damage::ToString() const {
  std::string text = absl::StrCat(path, ": damaged at ", position, " (", reason, ")");
  absl::StrAppend(&text, concerned.empty() ? "; no replica is concerned"
                                           : "; replicas concerned, with the last decree read: ");
  const char* separator = "";
  for (const auto& [pid, range] : concerned) {
    absl::StrAppend(&text, separator, pid.ToString(), " (", range.first.value());
    if (range.second) absl::StrAppend(&text, " of ", range.second->value());
    absl::StrAppend(&text, ")");
    separator = ", ";
  }
  return text;
}

}  // namespace arion
