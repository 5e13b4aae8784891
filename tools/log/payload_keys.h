// PayloadKeys: which records an update of a mutation names, read from its payload (wal/FORMAT.md
// 3.2).
//
// Errors    DataLoss: the payload is not what its code says. Takes any bytes; keys point into them.
// Threads   Pure.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/status/statusor.h>

#include <string_view>
#include <vector>

#include "base/mutation.h"
#include "base/raw_key.h"

namespace arion::logtool {

// Empty for codes that name no record. CHECK_AND_SET and CHECK_AND_MUTATE name first the record
// that is checked, then those that are written.
struct NamedKeys {
  // At most `first_max`, in the order of the payload.
  std::vector<KeyParts> first;
  // Of all.
  size_t count = 0;
};
// The keys of one update.
absl::StatusOr<NamedKeys> PayloadKeys(WriteCode code, std::string_view payload, size_t first_max);

}  // namespace arion::logtool
