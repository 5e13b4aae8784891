// The scripts whose crash states are tried. Each is a function of its seed, and of the fault it is
// to meet.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tests/crash/recording.h"

namespace arion::crash {

struct Workload {
  std::string name;
  std::unique_ptr<Recording> (*record)(uint64_t seed, const FaultPlan& plan);
};
const std::vector<Workload>& Workloads();

}  // namespace arion::crash
