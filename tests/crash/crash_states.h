// Which crash states of a model are tried: every subset of the atoms where there are few of them,
// else the patterns that disks are known for and random subsets by a seed.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/functional/function_ref.h>

#include <cstdint>

#include "tests/crash/crash_model.h"

namespace arion::crash {

enum class StateKind : uint8_t { kPrefix, kTorn, kReordered, kSubset };

struct StateVolume {
  size_t exhaustive_atoms = 10;  // up to here all subsets
  size_t torn_max = 48;          // points at which one large write is torn
  size_t random_subsets = 24;
};

// Calls `visit` for each choice; the same order for the same model and seed.
void ForEachState(const CrashModel& model, const StateVolume& volume, uint64_t seed,
                  absl::FunctionRef<void(StateKind, const Choice&)> visit);

}  // namespace arion::crash
