// Which files of a shared log need not be read (legacy/FORMAT.md 2.2). Pure.
//
// Threads   Pure functions.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/types/span.h>

#include <cstdint>

#include "base/ids.h"

namespace arion {

struct SharedLogFile;

// What one replica's private log holds for certain, as its replay has shown.
struct PrivateLogReach {
  PartitionId pid;
  // Everything up to here is in the private log and known to be committed.
  Decree committed_on_disk;
  // Before this offset the shared log is void for the replica.
  int64_t valid_start_offset = 0;
};

// The position of the first file to read: all older ones hold nothing for any of these replicas.
// The newest file is always read.
size_t FirstFileToRead(absl::Span<const SharedLogFile> files,
                       absl::Span<const PrivateLogReach> replicas);

}  // namespace arion
