// WorkloadTable: one of the tables that clients read and write, and that are to stay.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace arion::sim {

// A table that exists and stays all through the run; the workload neither makes nor drops one.
struct WorkloadTable {
  std::string name;
  // For the prober.
  int32_t app_id = 0;
  // What it begins with, and what splits may make of that: twice as many, and so on.
  int32_t partition_count = 0;
  int32_t partitions_max = partition_count;
};

}  // namespace arion::sim
