// PartitionComparison: which keys of a partition are not the same on both sides, by sums of ranges.
//
// Shapes    This side cuts the range, the other one adds up what it has in it. Where that differs,
//           the range is cut into smaller ones, and the smallest are read record by record. The two
//           sides are read one after the other, while clients write: what is found is only a
//           suspect (suspects.h).
// Errors    The partitions'. Continue may be called again, and goes on where it was.
// Threads   One.
// Lifetime  Both sides outlive it.
// Promises  partition_comparison/D1  A key at which the sides differ all the while is a suspect
//               before IsDone, but for records whose sums are the same by chance, once in 2^64.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/status/statusor.h>

#include <cstdint>
#include <string>
#include <vector>

#include "tools/compare/compared_partition.h"

namespace arion::compare {

// Continue until IsDone.
class PartitionComparison {
 public:
  // Of a first cut. A server adds up as many in one turn.
  static constexpr int32_t kRangeRecords = 8000;
  // A range with no more is read record by record.
  static constexpr int64_t kReadRecords = 64;
  // A range that differs is cut into so many.
  static constexpr int64_t kParts = 16;

  PartitionComparison(ComparedPartition& here, ComparedPartition& there)
      : here_(here), there_(there) {}

  // Compares the next range, or what of it has room in `suspects`: up to `suspects_max` raw keys,
  // those that are there already included.
  absl::Status Continue(size_t suspects_max, std::vector<std::string>* suspects);
  bool IsDone() const { return is_done_; }
  // Records of this side that were compared.
  int64_t records() const { return records_; }

 private:
  static constexpr int kDepthMax = 6;

  // kFull: `suspects` is; next_ is where to go on.
  enum class Went { kThrough, kFull };
  absl::StatusOr<bool> IsEqual(const std::string& first, const std::string& end,
                               const RangeSum& here);
  absl::StatusOr<Went> Narrow(const std::string& first, const std::string& end, int64_t records,
                              int depth);
  absl::StatusOr<Went> ReadBoth(const std::string& first, const std::string& end);

  ComparedPartition& here_;
  ComparedPartition& there_;
  std::string next_ = kFirstKey;
  bool is_done_ = false;
  int64_t records_ = 0;
  // Of the Continue under way.
  size_t suspects_max_ = 0;
  std::vector<std::string>* suspects_ = nullptr;
};

}  // namespace arion::compare
