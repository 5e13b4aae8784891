// What copy_data shares with the other commands on all records of a table.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/status/statusor.h>
#include <arion/table.h>

#include <cstdint>
#include <optional>

namespace arion::shell {

// How many records pass the filters, in partitions [first, end) of `partitions`; nullopt: Ctrl-C.
absl::StatusOr<std::optional<int64_t>> CountRecords(Table& table, TableScanOptions options,
                                                    int32_t partitions, int32_t first, int32_t end);

}  // namespace arion::shell
