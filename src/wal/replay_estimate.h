// ReplayEstimate: how long a log's replay would take if the replica started now. The replica asks
// for a checkpoint when that is too long. Pure.
//
// Units     Bytes of mutations as the log holds them, and numbers of mutations.
// Errors    None. Without a measurement the rates of the slowest machine that was measured count.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/time/time.h>

#include <cstdint>

namespace arion {

// What a replay has to do, or has done.
struct ReplayWork {
  uint64_t bytes = 0;
  int64_t mutations = 0;
};

// A value: copy it freely.
//
//   ReplayEstimate estimate;
//   estimate.Learn({bytes, mutations}, took);            // from the replay at this start
//   if (estimate.Of(catalog.WorkAbove(durable)) > limit) AskForCheckpoint();
class ReplayEstimate {
 public:
  // What a replay did, and how long that took, the engine's part included. Under 8 MiB or 20 ms it
  // is too little to judge by, and changes nothing.
  void Learn(ReplayWork done, absl::Duration took);

  // How long `work` would take. Small mutations cost by their number, large ones by their bytes:
  // the slower of the two counts. Never negative.
  absl::Duration Of(ReplayWork work) const;

 private:
  // Of this replica's disk and engine, against the rates assumed. 1: as assumed.
  double slowness_ = 1;
};

}  // namespace arion
