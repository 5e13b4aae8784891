// How many file descriptors the process may have, and who gets how many.
//
// Errors    ResourceExhausted: too few to serve at all; names the limit and the remedy.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/status/statusor.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "env/file_system.h"
#include "main/server_config.h"

namespace arion {

// Of a server's limit, for what can't wait (env/descriptor_reserve.h).
inline constexpr size_t kDescriptorsHeld = 16;

struct DescriptorShares {
  int64_t limit = 0;
  int tables_per_engine = -1;  // -1: as many as it has
  int64_t connections = 0;     // more wait until others close
  std::string description;     // for the banner
};

// Three eighths of the limit are the engines' tables', shared by the replicas, nine sixteenths are
// for connections; the rest is for logs and what an engine has open besides. Pure.
absl::StatusOr<DescriptorShares> SharesOf(int64_t limit, int64_t replicas);

// Raises the process's soft limit to the hard one, counts the replicas in the data directories and
// shares it out. Waits for the disks.
absl::StatusOr<DescriptorShares> ShareDescriptors(FileSystem& files,
                                                  const std::vector<ConfiguredDisk>& disks);

}  // namespace arion
