// ContentChecksum: what a copy of a partition holds, as a number of records and a sum, by ranges of
// keys; walked piece by piece over a view of its engine at one decree.
//
// Shapes    A record counts by its key, user data and expiry. A range begins at a key whose hash
//           ends in enough zeros, so that members cut alike without telling each other; where there
//           are few records each is a range of its own. Sums add up (modulo 2^64): ranges may be
//           joined.
//           Left out, because it may differ without a fault:
//           - what expires by `expires_after`, the coordinator's clock and a margin: compactions
//             drop it on each server when they come to it, and from views too;
//           - keys of another partition of the table: an older version's split leaves them in both
//             halves until a compaction drops them;
//           - values' time tags and schema, which no client sees;
//           - a record without a key (decrees), which no walk shows.
//           Not left out: records that an older version's compactions stamped with a default TTL,
//           or dropped by rules (user_specified_compaction): clients see that they differ.
// Errors    The view's: DataLoss where a block can't be read.
// Threads   One at a time.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/status/statusor.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/key_ownership.h"

namespace arion {

class EngineView;
class RecordIterator;

// One walk. Continue until IsDone, always with a view of the same decree; then read the sums.
class ContentChecksum {
 public:
  // When there are more ranges, neighbours are joined until half of them are left.
  static constexpr size_t kRangesMax = 256;
  // Longer keys begin no range.
  static constexpr size_t kRangeKeyBytesMax = 256;

  // What the members of a verification have in common.
  struct Terms {
    // Records that expire by then are left out; seconds since 2016.
    uint32_t expires_after = 0;
    // Other keys are left out.
    KeyOwnership owned;
  };
  // The records from `first` to the next range's first key, exclusive.
  struct Range {
    // Empty: from the first key on.
    std::string first;
    int64_t records = 0;
    uint64_t sum = 0;
  };

  explicit ContentChecksum(Terms terms) : terms_(terms), ranges_(1) {}

  // Goes on for about `bytes_max` of keys and values. Returns how many bytes it read, records that
  // were left out included.
  absl::StatusOr<uint64_t> Continue(const EngineView& view, uint64_t bytes_max);
  bool IsDone() const { return is_done_; }

  // So far. `sum` and `records` of two copies with the same content are equal; `bytes` may differ.
  int64_t records() const { return records_; }
  uint64_t sum() const { return sum_; }
  int64_t bytes() const { return bytes_; }
  // Records that were met and not counted.
  int64_t left_out() const { return left_out_; }
  const std::vector<Range>& ranges() const { return ranges_; }

 private:
  void Add(const RecordIterator& record);
  void JoinRanges();

  const Terms terms_;
  std::vector<Range> ranges_;
  // How many zeros the hash of a range's first key ends in at least.
  // Rises when ranges are joined, so it only depends on the keys that were met.
  int zeros_ = 0;
  int64_t records_ = 0, bytes_ = 0, left_out_ = 0;
  uint64_t sum_ = 0;
  // Where Continue goes on: the first key that was not read.
  std::string next_;
  bool is_done_ = false;
};

}  // namespace arion
