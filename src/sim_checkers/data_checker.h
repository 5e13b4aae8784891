// CheckData: whether an order of the operations on each hash key exists that respects real time and
// that the DataModel allows (Wing and Gong's search, as Lowe made it: an operation takes effect
// just before an answer that needs it, and where one was before one need not go again).
//
// Shapes   Exponential in what is undecided at once, so histories use many short-lived hash keys. A
//          search that takes more than its steps ends as an undecided key, which is a violation of
//          its own: nothing was shown.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "sim_checkers/checkers.h"

namespace arion::sim {

class DataHistory;

struct DataCheckOptions {
  // The wall clock at the world's time 0, in seconds since 2016, and how far a server's may be off.
  int64_t wall_zero = 0;
  int64_t wall_error_seconds = 0;
  int64_t steps_per_key = 200000;
};

// What CheckData found. `undecided_keys` are among the violations.
struct DataCheckResult {
  Violations violations;
  int64_t keys = 0;
  int64_t undecided_keys = 0;
  // Steps of the longest search.
  int64_t steps = 0;
};

DataCheckResult CheckData(const DataHistory& history, const DataCheckOptions& options = {});

}  // namespace arion::sim
