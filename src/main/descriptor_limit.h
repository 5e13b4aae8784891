// How many files the process may have open: the limit raised and judged before anything else is
// opened.
//
// Errors    ResourceExhausted: too few to serve at all; names the limit, the need and the remedy.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/status/statusor.h>

#include <cstdint>
#include <string>
#include <vector>

#include "disks/open_file_budget.h"
#include "env/file_system.h"

namespace arion {

struct ConfiguredDisk;
class DescriptorReserve;

// Of a server's limit, for what can't wait (posix/descriptor_reserve.h).
inline constexpr size_t kDescriptorsHeld = 16;

// Raises the soft limit to the hard one, and returns it.
int64_t RaiseDescriptorLimit();

// OK, or too few for a server with so many replicas. Pure.
absl::Status CheckDescriptorLimit(int64_t limit, int64_t replicas);

// The limit, and the replicas that were counted.
struct DescriptorLimit {
  int64_t limit = 0;
  int64_t replicas = 0;
};
// Raises the limit, counts the replicas in the data directories and checks it. Waits for the disks.
absl::StatusOr<DescriptorLimit> TakeDescriptorLimit(FileSystem& files,
                                                    const std::vector<ConfiguredDisk>& disks);

// For the banner.
std::string DescribeShares(const OpenFileShares& shares);

// What the process may have and has, for a budget. `reserve` outlives it.
OpenFileBudget::Look LookAtDescriptors(DescriptorReserve& reserve);

}  // namespace arion
