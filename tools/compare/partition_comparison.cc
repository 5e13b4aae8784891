// SPDX-License-Identifier: Apache-2.0
#include "tools/compare/partition_comparison.h"

#include <algorithm>
#include <utility>

#include "base/status.h"

namespace arion::compare {
namespace {

// The records of a range, one after the other.
class Cursor {
 public:
  Cursor(ComparedPartition& side, std::string first, std::string end)
      : side_(side), at_(std::move(first)), end_(std::move(end)) {}

  // The present record; nullptr: the end.
  absl::StatusOr<const RangeRecords::One*> Peek() {
    while (place_ == page_.records.size()) {
      if (is_last_) return nullptr;
      ASSIGN_OR_RETURN(page_, side_.Read(at_, end_, kPageRecords));
      place_ = 0;
      at_ = page_.next;
      is_last_ = page_.next.empty();
    }
    return &page_.records[place_];
  }
  void Next() { ++place_; }

 private:
  static constexpr int32_t kPageRecords = 200;

  ComparedPartition& side_;
  std::string at_;
  const std::string end_;
  RangeRecords page_;
  size_t place_ = 0;
  bool is_last_ = false;
};

}  // namespace

absl::Status PartitionComparison::Continue(size_t suspects_max,
                                           std::vector<std::string>* suspects) {
  suspects_max_ = suspects_max;
  suspects_ = suspects;
  ASSIGN_OR_RETURN(const RangeSum here, here_.Sum(next_, kBehindAllKeys, kRangeRecords));
  const std::string end = here.next.empty() ? kBehindAllKeys : here.next;
  ASSIGN_OR_RETURN(const bool is_equal, IsEqual(next_, end, here));
  if (!is_equal) {
    ASSIGN_OR_RETURN(const Went went, Narrow(next_, end, here.records, 0));
    if (went == Went::kFull) return absl::OkStatus();
  }
  next_ = end;
  is_done_ = here.next.empty();
  return absl::OkStatus();
}

absl::StatusOr<bool> PartitionComparison::IsEqual(const std::string& first, const std::string& end,
                                                  const RangeSum& here) {
  RangeSum there{.next = first};
  while (!there.next.empty() && there.records <= here.records) {
    ASSIGN_OR_RETURN(const RangeSum more, there_.Sum(there.next, end, kRangeRecords));
    there = {there.records + more.records, there.sum + more.sum, more.next};
  }
  const bool is_equal = there.records == here.records && there.sum == here.sum;
  if (is_equal) records_ += here.records;
  return is_equal;
}

absl::StatusOr<PartitionComparison::Went> PartitionComparison::Narrow(const std::string& first,
                                                                      const std::string& end,
                                                                      int64_t records, int depth) {
  if (records <= kReadRecords || depth == kDepthMax) return ReadBoth(first, end);
  const int64_t part = std::clamp<int64_t>(records / kParts + 1, kReadRecords, records - 1);
  for (std::string at = first; !at.empty();) {
    ASSIGN_OR_RETURN(const RangeSum here, here_.Sum(at, end, static_cast<int32_t>(part)));
    const std::string part_end = here.next.empty() ? end : here.next;
    ASSIGN_OR_RETURN(const bool is_equal, IsEqual(at, part_end, here));
    if (!is_equal) {
      ASSIGN_OR_RETURN(const Went went, Narrow(at, part_end, here.records, depth + 1));
      if (went == Went::kFull) return went;
    }
    at = here.next;
  }
  return Went::kThrough;
}

absl::StatusOr<PartitionComparison::Went> PartitionComparison::ReadBoth(const std::string& first,
                                                                        const std::string& end) {
  Cursor here(here_, first, end), there(there_, first, end);
  while (true) {
    ASSIGN_OR_RETURN(const RangeRecords::One* mine, here.Peek());
    ASSIGN_OR_RETURN(const RangeRecords::One* theirs, there.Peek());
    if (mine == nullptr && theirs == nullptr) return Went::kThrough;
    const int order = mine == nullptr ? 1 : theirs == nullptr ? -1 : mine->key.compare(theirs->key);
    const std::string& key = order <= 0 ? mine->key : theirs->key;
    if (order != 0 || mine->state != theirs->state) {
      if (suspects_->size() >= suspects_max_) {
        next_ = key;
        return Went::kFull;
      }
      suspects_->push_back(key);
    }
    if (order <= 0) {
      ++records_;
      here.Next();
    }
    if (order >= 0) there.Next();
  }
}

}  // namespace arion::compare
