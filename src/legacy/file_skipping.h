// Which files of a shared log need not be read (legacy/FORMAT.md 2.2). Pure.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/types/span.h>

#include <cstdint>

#include "base/ids.h"
#include "legacy/shared_log_catalog.h"

namespace arion {

// What one replica's private log holds for certain.
struct PrivateLogReach {
  PartitionId pid;
  Decree committed_on_disk;
  int64_t valid_start_offset = 0;  // the shared log is void for it before this
};

// The position of the first file to read: all older ones hold nothing for any of these replicas. The
// newest is always read.
size_t FirstFileToRead(absl::Span<const SharedLogFile> files,
                       absl::Span<const PrivateLogReach> replicas);

}  // namespace arion
