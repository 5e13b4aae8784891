// Slo: what the user asked of the run phase, and whether it was kept.
//
// Shapes    "READ p99<5ms,UPDATE p99.99<20ms,max<1s,errors<0.1%,ops>10000": a percentile (p...),
//           avg or max of one operation or of every one, in us, ms or s; errors in per cent of
//           operations; operations a second. In an open loop latencies are the intended ones.
// Errors    InvalidArgument, with the part that is wrong.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/status/statusor.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tools/load/run/phase.h"

namespace arion::load {

// One objective.
struct Slo {
  enum class Of { kPercentile, kAverage, kMax, kErrors, kOperations };
  // As given.
  std::string text;
  Of of = Of::kPercentile;
  // No value: every operation of the mix.
  std::optional<Kind> kind;
  double percentile = 0;
  // Nanoseconds, per cent, or operations a second.
  double limit = 0;

  // Reads the texts between commas.
  static absl::StatusOr<std::vector<Slo>> Parse(std::string_view texts);
};

// What was asked, what came, and whether that is enough.
struct SloOutcome {
  std::string text;
  std::string measured;
  bool is_kept = false;
};
SloOutcome Judge(const Slo& slo, const PhaseResult& run);

}  // namespace arion::load
