// CopyCheck: whether two tables hold the same records, told by partition of the first: both are
// read whole, and counts and checksums are compared that do not depend on the order.
//
// Shapes    A record is its keys, its value and its expiry time. Records that expire soon are left
//           out on both sides: they may be gone on one of them by the time it is read.
// Errors    As PartitionReader; Aborted: the caller wanted no more.
// Threads   One thread. The tables' callbacks may come on any.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/status/statusor.h>
#include <absl/time/time.h>
#include <arion/async_table.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "tools/shell/copy/copy_position.h"
#include "tools/shell/copy/value_filter.h"

namespace arion::shell {

// Of the records of one partition, on one side.
struct RecordSum {
  int64_t records = 0;
  // Modulo 2^64, of RecordHash (base/crc.h).
  uint64_t checksum = 0;
  bool operator==(const RecordSum&) const = default;
};

struct CopyCheckOptions {
  TableScanOptions scan;
  ValueFilter values;
  // kOmit: whatever they are.
  ExpiryTimes expiry_times = ExpiryTimes::kReturn;
  // kOmit: of keys alone.
  Values compared = Values::kReturn;
  absl::Duration patience = absl::Minutes(10);
};

// One of the two tables.
struct CheckedSide {
  AsyncTable* table;
  // For errors.
  std::string name;
  // Which partitions it has now.
  std::function<absl::StatusOr<std::vector<Share>>()> shares;
};

struct CopyCheckResult {
  // By the partitions that were asked about.
  std::vector<RecordSum> source, target;
  // Records of both sides that expire too soon.
  int64_t left_out = 0;

  bool IsEqual() const { return source == target; }
};

// Of the partitions `of` of the source. `go_on(records)` is asked some ten times a second.
absl::StatusOr<CopyCheckResult> CheckCopy(const CheckedSide& source, const CheckedSide& target,
                                          const CopyCheckOptions& options,
                                          const std::vector<Share>& of,
                                          const std::function<bool(int64_t records)>& go_on);

}  // namespace arion::shell
