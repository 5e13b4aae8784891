// SPDX-License-Identifier: Apache-2.0
#include "tools/load/workload/operations.h"

#include <absl/strings/numbers.h>

#include <algorithm>

#include "base/status.h"

namespace arion::load {
namespace {

std::unique_ptr<Distribution> RequestsOf(const Workload& workload) {
  const int64_t first = workload.insert_start;
  const int64_t last = first + workload.insert_count - 1;
  switch (workload.request) {
    case Request::kUniform:
      return std::make_unique<Uniform>(first, last);
    case Request::kScrambledZipfian:
      return std::make_unique<ScrambledZipfian>(first, last + workload.expected_inserts);
    case Request::kRankedZipfian:
      return std::make_unique<Zipfian>(first, last);
    case Request::kHotspot:
      return std::make_unique<Hotspot>(first, last, workload.hotspot);
    case Request::kSequential:
      return std::make_unique<Sequential>(first, last);
    case Request::kLatest:
    case Request::kExponential:
      break;
  }
  return nullptr;
}

}  // namespace

OperationSource::OperationSource(const Workload& workload, Options options)
    : workload_(workload),
      options_(options),
      // Other dice for the load and the run: a run alone gives the same operations as one after a
      // load.
      dice_(options.seed * 2 + (options.phase == Phase::kRun ? 1 : 0)),
      next_insert_(options.phase == Phase::kLoad ? workload.insert_start : workload.record_count),
      requests_(RequestsOf(workload)),
      field_length_(workload.field_length.Make()),
      scan_length_(workload.scan_length.Make()) {
  if (workload.request == Request::kLatest && options.phase == Phase::kRun) {
    latest_ = std::make_unique<Zipfian>(0, workload.insert_count - 1);
  }
  if (workload.request == Request::kExponential) {
    exponential_ = std::make_unique<Exponential>(Exponential::Shape{
        .percentile = workload.exponential_percentile,
        .range = static_cast<double>(workload.insert_count) * workload.exponential_fraction});
  }
}

int64_t OperationSource::last() const {
  // The newest inserts may be under way still: a read of one would find nothing.
  const int64_t last_settled = next_insert_ - 1 - options_.settling;
  if (last_settled >= workload_.record_count) return last_settled;
  return workload_.insert_start + workload_.insert_count - 1;
}

Kind OperationSource::NextKind() {
  if (options_.phase == Phase::kLoad) return Kind::kInsert;
  double draw = dice_.Unit();
  Kind kind = Kind::kRead;
  for (size_t i = 0; i < kKinds; ++i) {
    if (workload_.proportions[i] == 0) continue;
    kind = static_cast<Kind>(i);
    if (draw < workload_.proportions[i]) return kind;
    draw -= workload_.proportions[i];
  }
  return kind;  // rounding's: the last one of the mix
}

int64_t OperationSource::NextRecord() {
  if (latest_ != nullptr) {
    // Ranks from the newest record backwards.
    latest_->GrowTo(last() - first());
    return last() - latest_->Next(dice_);
  }
  while (true) {  // as in YCSB, what lies outside is drawn again
    const int64_t record =
        exponential_ != nullptr ? last() - exponential_->Next(dice_) : requests_->Next(dice_);
    if (record >= first() && record <= last()) return record;
  }
}

std::optional<Operation> OperationSource::Next() {
  if (options_.phase == Phase::kLoad &&
      next_insert_ == workload_.insert_start + workload_.insert_count) {
    return std::nullopt;
  }
  Operation operation{.index = next_index_++, .kind = NextKind()};
  operation.record = operation.kind == Kind::kInsert ? next_insert_++ : NextRecord();
  const int64_t per_hash_key = workload_.records_per_hash_key;
  const int64_t left_in_hash_key = per_hash_key - operation.record % per_hash_key;
  if (operation.kind == Kind::kScan) operation.count = scan_length_->Next(dice_);
  if (operation.kind == Kind::kMultiGet || operation.kind == Kind::kMultiPut) {
    // Within its hash key, and of records that are there.
    operation.count =
        std::min({workload_.multi_size, left_in_hash_key, last() - operation.record + 1});
  }
  const bool writes = operation.kind == Kind::kUpdate || operation.kind == Kind::kInsert ||
                      operation.kind == Kind::kReadModifyWrite || operation.kind == Kind::kMultiPut;
  if (!writes) return operation;
  for (int64_t i = 0; i < workload_.field_count; ++i) {
    operation.value_bytes += field_length_->Next(dice_);
  }
  if (workload_.ttl_proportion > 0 && options_.phase == Phase::kRun &&
      dice_.Unit() < workload_.ttl_proportion) {
    operation.ttl_seconds = workload_.ttl_seconds;
  }
  return operation;
}

KeyNames::KeyNames(const Workload& workload)
    : workload_(workload),
      sort_key_digits_(absl::StrCat(workload.records_per_hash_key - 1).size()),
      key_length_(workload.key_length.Largest() > 0 ? workload.key_length.Make() : nullptr) {}

RecordKey KeyNames::Of(int64_t record) const {
  const int64_t group = record / workload_.records_per_hash_key;
  const std::string number = absl::StrCat(workload_.has_hashed_keys ? HashOfNumber(group) : group);
  RecordKey key{.hash_key = workload_.key_prefix};
  if (number.size() < static_cast<size_t>(workload_.zero_padding)) {
    key.hash_key.append(static_cast<size_t>(workload_.zero_padding) - number.size(), '0');
  }
  key.hash_key += number;
  if (key_length_ != nullptr) {  // a key's length is its own: drawn by its number
    Dice dice(static_cast<uint64_t>(group));
    const size_t length = static_cast<size_t>(key_length_->Next(dice));
    if (key.hash_key.size() < length) key.hash_key.append(length - key.hash_key.size(), '.');
  }
  if (workload_.records_per_hash_key > 1) {
    const std::string place = absl::StrCat(record % workload_.records_per_hash_key);
    // All of one length: a scan meets them in the order of their numbers.
    key.sort_key = std::string(sort_key_digits_ - place.size(), '0') + place;
  }
  return key;
}

std::optional<int64_t> KeyNames::RecordOf(int64_t record_beside, std::string_view sort_key) const {
  int64_t place = 0;
  if (sort_key.size() != sort_key_digits_ || !absl::SimpleAtoi(Text(sort_key), &place) ||
      place < 0 || place >= workload_.records_per_hash_key) {
    return std::nullopt;
  }
  return record_beside - record_beside % workload_.records_per_hash_key + place;
}

}  // namespace arion::load
