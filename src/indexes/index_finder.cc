// SPDX-License-Identifier: Apache-2.0
#include "indexes/index_finder.h"

#include <algorithm>
#include <utility>

#include "base/error_code.h"
#include "base/raw_key.h"
#include "base/status.h"
#include "base/value_schema.h"
#include "env/clock.h"
#include "env/file_system.h"
#include "indexes/field_order.h"

namespace arion {

using Turned = absl::StatusOr<std::optional<FindResponse>>;

IndexFinder::IndexFinder(std::shared_ptr<const Engine> engine, FindRequest request)
    : engine_(std::move(engine)), request_(std::move(request)) {
  // Who wants more goes on behind what there is.
  request_.limit = std::min(request_.limit, kRowsMax);
}

IndexFinder::~IndexFinder() = default;

FindResponse IndexFinder::Answer(const ReadTerms& terms) {
  FindResponse response = std::move(response_);
  response.app_id = terms.pid.app_id;
  response.partition_index = terms.pid.index;
  response.server = terms.server;
  return response;
}

Turned IndexFinder::Turn(const ReadTerms& terms) {
  if (data_ == nullptr) return Begin(terms);
  if (!index_->progress.is_whole) return ReadRecords(terms);
  Turned turned = ReadEntries(terms);
  if (engine_->indexes()->IsCurrent(index_->id)) {
    if (broken_.ok()) return turned;
    // As if it were not there: the data are well, and it is built anew.
    engine_->indexes()->Abandon(broken_);
    response_ = {.error = static_cast<int32_t>(StorageError::kTryAgain)};
    return Answer(terms);
  }
  // Entries may have gone from under it: anew, by the successor.
  data_ = nullptr;
  broken_ = absl::OkStatus();
  response_ = {};
  bytes_ = 0;
  examined_ = 0;
  return std::nullopt;
}

Turned IndexFinder::Begin(const ReadTerms& terms) {
  const auto refuse = [&](StorageError error) {
    response_.error = static_cast<int32_t>(error);
    return Answer(terms);
  };
  // index_finder/F1: the data first. What the data hold has entries by then.
  data_ = engine_->View();
  if (const auto indexes = engine_->indexes()) index_ = indexes->Read(request_.index);
  if (!index_) return refuse(StorageError::kNotFound);
  response_.built_percent = index_->progress.percent;
  response_.entries = index_->progress.entries;
  response_.left_out = index_->progress.left_out;
  response_.is_renewed = index_->progress.is_renewed;
  response_.left_bytes = static_cast<int64_t>(index_->progress.left_bytes);
  response_.bytes_per_second = static_cast<int64_t>(index_->progress.bytes_per_second);
  if (request_.limit < 0 || (request_.prefix && (request_.lower || request_.upper)))
    return refuse(StorageError::kInvalidArgument);
  absl::StatusOr<KeyRange> range = EntriesOf(request_, index_->id);
  if (!range.ok()) return refuse(StorageError::kInvalidArgument);
  if (!index_->progress.is_whole && !request_.may_scan) return refuse(StorageError::kTryAgain);
  if (request_.limit == 0) return Answer(terms);
  reader_.emplace(std::vector{index_->progress.definition});
  if (index_->progress.is_whole) range_ = *std::move(range);
  return std::nullopt;
}

std::optional<FieldValue> IndexFinder::FieldOf(std::string_view value) {
  const std::vector<FieldReader::Found>& found = reader_->Read(value);
  if (found.empty() || !IsWithin(request_, found.front().field)) return std::nullopt;
  return found.front().field;
}

FoundRow IndexFinder::MakeRow(std::string_view raw_key, FieldValue field, std::string_view position,
                              std::string_view value) const {
  FoundRow row{.key = Blob(raw_key), .field = std::move(field), .position = Blob(position)};
  if (request_.with_value) row.value = Blob(value);
  return row;
}

size_t IndexFinder::BytesOf(const FoundRow& row) {
  return row.key.bytes.size() + row.position.bytes.size() + row.field.string.bytes.size() +
         (row.value ? row.value->bytes.size() : 0);
}

Turned IndexFinder::ReadEntries(const ReadTerms& terms) {
  if (range_.IsEmpty()) return Answer(terms);
  const auto at = index_->entries->Walk(
      range_, request_.descending ? Direction::kBackward : Direction::kForward);
  int64_t left = kTurnRecords;
  for (; at->Valid(); at->Next()) {
    const std::optional<IndexEntry> entry = SplitEntry(at->key());
    if (!entry) {
      broken_ = absl::DataLossError("an index holds what is no entry");
      return std::nullopt;
    }
    const bool is_full = static_cast<int32_t>(response_.rows.size()) >= request_.limit ||
                         bytes_ >= kAnswerBytes || examined_ >= kEntriesMax;
    if (is_full) return Answer(terms);
    if (left == 0 || (left < kTurnRecords && terms.clock.Now() >= terms.deadline)) {
      // The next turn begins here.
      if (request_.descending)
        range_.end = JustBehind(at->key());
      else
        range_.first = at->key();
      return std::nullopt;
    }
    --left;
    ++examined_;
    response_.next = Blob(entry->position);
    if (!terms.owned.OwnsKey(entry->raw_key)) continue;
    const absl::StatusOr<Record> record = data_->Get(entry->raw_key, terms.now, ReadTier::kAll);
    if (absl::IsNotFound(record.status())) continue;
    RETURN_IF_ERROR(record.status());
    std::optional<FieldValue> field = FieldOf(record->value);
    std::string now;
    // The entry of a field that the record had before.
    if (!field || !AppendField(*field, &now) || now != entry->field) continue;
    FoundRow row = MakeRow(entry->raw_key, *std::move(field), entry->position, record->value);
    bytes_ += BytesOf(row);
    response_.rows.push_back(std::move(row));
  }
  if (!at->status().ok()) {
    if (IsRefusal(at->status())) return at->status();
    broken_ = at->status();
    return std::nullopt;
  }
  response_.next.reset();
  return Answer(terms);
}

Turned IndexFinder::ReadRecords(const ReadTerms& terms) {
  const auto at = data_->WalkAside(range_);
  for (int64_t left = kTurnRecords; at->Valid() && left > 0; at->Next(), --left) {
    if (!IsRawKey(at->key()) || IsExpired(at->expire_ts(), terms.now) ||
        !terms.owned.OwnsKey(at->key()))
      continue;
    std::optional<FieldValue> field = FieldOf(at->value());
    std::string position;
    if (!field || !AppendField(*field, &position)) continue;
    position += at->key();
    if (request_.after && (request_.descending ? position >= request_.after->bytes
                                               : position <= request_.after->bytes))
      continue;
    FoundRow row = MakeRow(at->key(), *std::move(field), position, at->value());
    bytes_ += BytesOf(row);
    best_.emplace(std::move(position), std::move(row));
    while (best_.size() > static_cast<size_t>(request_.limit) ||
           (bytes_ > kAnswerBytes && best_.size() > 1)) {
      const auto last = request_.descending ? best_.begin() : std::prev(best_.end());
      bytes_ -= BytesOf(last->second);
      best_.erase(last);
      has_more_ = true;
    }
  }
  RETURN_IF_ERROR(at->status());
  if (at->Valid()) {
    range_.first = at->key();
    return std::nullopt;
  }
  for (auto& [position, row] : best_) response_.rows.push_back(std::move(row));
  if (request_.descending) std::reverse(response_.rows.begin(), response_.rows.end());
  if (has_more_) response_.next = response_.rows.back().position;
  return Answer(terms);
}

}  // namespace arion
