// SPDX-License-Identifier: Apache-2.0
#include "indexes/index_build.h"

#include <utility>

#include "base/raw_key.h"
#include "base/status.h"
#include "indexes/field_order.h"

namespace arion {

IndexBuild::IndexBuild(Parts parts, Engine& data)
    : set_(std::move(parts.set)),
      counts_(std::move(parts.counts)),
      reader_(parts.definitions),
      data_(data),
      store_(std::move(parts.store)),
      writer_(std::move(parts.writer)),
      view_(std::move(parts.view)),
      walk_(std::move(parts.walk)),
      begun_at_bytes_(walk_.bytes),
      saved_bytes_(walk_.bytes),
      begun_(set_->clock_.Now()) {
  for (const uint32_t id : walk_.ids) prefixes_.push_back(EntryPrefix(id));
  NotePace();
}

IndexBuild::~IndexBuild() { set_->NotePace(is_done() ? 0 : saved_bytes_, 0); }

void IndexBuild::NotePace() {
  const double seconds = absl::ToDoubleSeconds(set_->clock_.Now() - begun_);
  const auto read = static_cast<double>(walk_.bytes - begun_at_bytes_);
  set_->NotePace(walk_.bytes, seconds > 0 ? read / seconds : 0);
}

absl::Status IndexBuild::Step(int64_t records) {
  switch (stage_) {
    case Stage::kReading:
      return Walk(records);
    case Stage::kSorting:
      RETURN_IF_ERROR(writer_->Sort());
      // Once any of it is in the store it can't be put there again: from here on a crash begins anew.
      RETURN_IF_ERROR(set_->SaveWalk(std::nullopt));
      stage_ = Stage::kTaking;
      return absl::OkStatus();
    case Stage::kTaking:
      RETURN_IF_ERROR(writer_->Finish());
      writer_ = nullptr;
      stage_ = Stage::kTaken;
      return absl::OkStatus();
    case Stage::kTaken:
      // Were the data lost back to a moment before the view, records of then would be there without
      // their entries.
      RETURN_IF_ERROR(FlushAll());
      RETURN_IF_ERROR(set_->MarkWhole(walk_.ids, walk_.at, data_));
      stage_ = Stage::kDone;
      return absl::OkStatus();
    case Stage::kDone:
      break;
  }
  return absl::OkStatus();
}

absl::Status IndexBuild::FlushAll() {
  RETURN_IF_ERROR(data_.Flush());
  return store_->Flush();
}

absl::Status IndexBuild::Walk(int64_t records) {
  std::string entry;
  // Counted here, and told once.
  int64_t read = 0;
  std::vector<int64_t> put(counts_.size(), 0);
  const std::unique_ptr<RecordIterator> at = view_->WalkAside({.first = walk_.from, .end = {}});
  for (; at->Valid() && records > 0; at->Next(), --records) {
    // The record without a key carries the decree.
    if (!IsRawKey(at->key())) continue;
    for (const FieldReader::Found& found : reader_.Read(at->value())) {
      entry = prefixes_[found.at];
      if (!AppendField(found.field, &entry)) continue;
      entry += at->key();
      RETURN_IF_ERROR(writer_->Add(entry));
      ++put[found.at];
    }
    ++read;
    walk_.bytes += at->key().size() + at->value().size();
  }
  RETURN_IF_ERROR(at->status());
  walk_.records += read;
  for (size_t i = 0; i < counts_.size(); ++i) {
    counts_[i]->entries += put[i];
    counts_[i]->left_out += read - put[i];
  }
  NotePace();
  if (at->Valid()) {
    walk_.from = at->key();
    return walk_.bytes - saved_bytes_ < set_->options_.save_every_bytes ? absl::OkStatus() : Save();
  }
  view_ = nullptr;
  stage_ = Stage::kSorting;
  return absl::OkStatus();
}

absl::Status IndexBuild::Save() {
  ASSIGN_OR_RETURN(walk_.files, writer_->Save());
  // As where it ends: what was written since the view is durable before it counts on it.
  RETURN_IF_ERROR(FlushAll());
  RETURN_IF_ERROR(set_->SaveWalk(walk_));
  saved_bytes_ = walk_.bytes;
  return absl::OkStatus();
}

}  // namespace arion
