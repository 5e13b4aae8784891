// A side of a comparison that is a map, and says what it was asked.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "base/crc.h"
#include "base/raw_key.h"
#include "base/status.h"
#include "tools/compare/compared_partition.h"

namespace arion::compare {

// Reads may come from several threads.
class PartitionOfMap : public ComparedPartition {
 public:
  static std::string Key(const std::string& sort_key) { return JoinRawKey("h", sort_key); }
  void Put(const std::string& raw_key, const std::string& value, uint32_t expires = 0) {
    records_[raw_key] = {value, expires};
  }
  void Remove(const std::string& raw_key) { records_.erase(raw_key); }
  // No answer is of more.
  void set_batch_max(int32_t max) { batch_max_ = max; }
  void set_error(absl::Status error) { error_ = std::move(error); }

  int64_t sums() const { return asked_->sums; }
  int64_t reads() const { return asked_->reads; }
  int64_t records_read() const { return asked_->records; }

  absl::StatusOr<RangeSum> Sum(const std::string& first, const std::string& end,
                               int32_t records_max) override {
    ++asked_->sums;
    RETURN_IF_ERROR(error_);
    RangeSum sum;
    auto at = records_.lower_bound(first);
    for (; IsWithin(at, end, sum.records, records_max); ++at, ++sum.records)
      sum.sum += RecordHash(at->first, at->second.first, at->second.second);
    sum.next = NextOf(at, end);
    return sum;
  }
  absl::StatusOr<RangeRecords> Read(const std::string& first, const std::string& end,
                                    int32_t records_max) override {
    ++asked_->reads;
    RETURN_IF_ERROR(error_);
    RangeRecords read;
    auto at = records_.lower_bound(first);
    for (; IsWithin(at, end, static_cast<int64_t>(read.records.size()), records_max); ++at)
      read.records.push_back({at->first, StateOf(at->second)});
    read.next = NextOf(at, end);
    asked_->records += static_cast<int64_t>(read.records.size());
    return read;
  }

 private:
  using Value = std::pair<std::string, uint32_t>;
  using Records = std::map<std::string, Value>;
  bool IsWithin(Records::const_iterator at, const std::string& end, int64_t count,
                int32_t records_max) const {
    return at != records_.end() && at->first < end && count < std::min(records_max, batch_max_);
  }
  std::string NextOf(Records::const_iterator at, const std::string& end) const {
    return at != records_.end() && at->first < end ? at->first : "";
  }
  static RecordState StateOf(const Value& value) {
    return {.exists = true,
            .value_hash = Crc64(value.first),
            .value_bytes = value.first.size(),
            .expires = value.second};
  }

  Records records_;
  int32_t batch_max_ = 10'000;
  absl::Status error_;
  struct Asked {
    std::atomic<int64_t> sums = 0, reads = 0, records = 0;
  };
  // Two sides may be exchanged.
  std::shared_ptr<Asked> asked_ = std::make_shared<Asked>();
};

}  // namespace arion::compare
