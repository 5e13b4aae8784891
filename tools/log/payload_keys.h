// PayloadKeys: which records an update of a mutation names, read from its payload
// (spec/disk-formats.md 2.6).
//
// Errors    DataLoss: the payload is not what its code says. Takes any bytes; keys point into them.
// Threads   Pure. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/status/statusor.h>

#include <string_view>
#include <vector>

#include "base/mutation.h"
#include "base/raw_key.h"

namespace arion::logtool {

// In the order of the payload. None for codes that name no record. A sort key of CHECK_AND_SET and
// CHECK_AND_MUTATE: the one that is checked first, then those that are set.
absl::StatusOr<std::vector<KeyParts>> PayloadKeys(WriteCode code, std::string_view payload);

}  // namespace arion::logtool
