// Suspects: keys at which two sides differed once, looked at until they agree, or are known not to.
//
// Shapes    A look reads this side, waits until the other cluster has what was committed here by
//           then, and reads that side, and this one again. A key agrees when that side has what
//           this one had during the look. It differs when this side did not change and that one has
//           something else, twice: a write that came and was undone in between would look so once.
//           What changes here all the time is read in turns, many times a second.
// Errors    The hooks'.
// Threads   One.
// Promises  suspects/D1  No key is called different that the other cluster has as it was here at
//               one moment of the looks, as long as it only applies what was written here.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "tools/compare/compared_partition.h"

namespace arion::compare {

struct Suspect {
  int32_t partition = 0;
  // Raw.
  std::string key;
  // At the last look.
  RecordState here = {}, there = {};
  int times_different = 0;
};

// The world, as looks need it.
struct LookHooks {
  using States = absl::StatusOr<std::vector<RecordState>>;
  // Of each suspect, in their order.
  std::function<States(const std::vector<Suspect>&suspects)> read_here, read_there;
  // Returns when the other cluster has what is committed in these partitions now.
  std::function<absl::Status(const std::set<int32_t>& partitions)> catch_up;
};

struct Verdicts {
  std::vector<Suspect> different;
  // They changed at each look, so that nothing is known.
  std::vector<Suspect> changing;
};

inline constexpr int kLooksMax = 6;
absl::StatusOr<Verdicts> JudgeSuspects(std::vector<Suspect> suspects, const LookHooks& hooks);

}  // namespace arion::compare
