// Pacing: when the operations of an open loop are meant to start, whatever became of those before.
//
// Shapes    A profile is "5000" (operations a second, for ever) or stages
//           "1000-20000/30s,20000/60s,500": a rate, or one rate to another evenly, for so long; the
//           last goes on for ever at its last rate. Rates are above 0 and at most 10^7.
// Errors    InvalidArgument, with the stage.
// Threads   Immutable after construction.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/status/statusor.h>
#include <absl/time/time.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace arion::load {

// One profile.
class Pacing {
 public:
  // Reads a profile as above.
  static absl::StatusOr<Pacing> Parse(std::string_view profile);

  // When operation `index` (from 0) is meant to start, counted from the phase's start.
  absl::Duration StartOf(int64_t index) const;
  // How many are meant to have started before `at`.
  int64_t StartsBefore(absl::Duration at) const;
  // How late the end of a phase of that length may be and its rate still counts as reached: a
  // hundredth, and 100 ms at least, which a busy machine may take from anybody.
  static absl::Duration SlackOf(absl::Duration length);

 private:
  struct Stage {
    // Operations a second.
    double from = 0;
    double to = 0;
    // Of the last stage: infinite.
    double seconds = 0;
    // Time and operations of the stages before.
    double begin_seconds = 0;
    double begin_count = 0;
  };
  std::vector<Stage> stages_;
};

}  // namespace arion::load
