// ReplayEstimate: how long a log's replay would take if the replica started now. Pure.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/time/time.h>

#include <cstdint>

namespace arion {

struct ReplayWork {
  uint64_t bytes = 0;
  int64_t mutations = 0;
};

class ReplayEstimate {
 public:
  // What a replay did, apply included, and how long it took. Too little to judge by is left out.
  void Learn(ReplayWork done, absl::Duration took);

  // Small mutations cost by count, large ones by bytes: the slower of the two.
  absl::Duration Of(ReplayWork work) const;

 private:
  double slowness_ = 1;  // of this replica's disk and engine, against the rates assumed
};

}  // namespace arion
