// SPDX-License-Identifier: Apache-2.0
#include "sim_cluster/run_report.h"

#include <absl/strings/str_cat.h>
#include <absl/strings/str_format.h>

namespace arion::sim {

std::string RunReport::Replay() const {
  // The seed and these options are all that a run depends on (sim_cluster/W2).
  return absl::StrCat("tools/dev/sim --seeds 1 --first ", seed, replay_options);
}

std::string RunReport::Summary() const {
  std::string text = absl::StrFormat(
      "seed %d: %s simulated, %d events, writes %d ok %d refused %d undecided, %d reads, %d data "
      "operations on %d keys (%d steps), %d MB on the fullest disk, healed after %s, trace %016x, "
      "%d violations\n  %s\n ",
      seed, absl::FormatDuration(absl::Trunc(simulated, absl::Seconds(1))), events,
      acknowledged_writes, refused_writes, undecided_writes, reads, data_operations, data_keys,
      search_steps, disk_bytes >> 20,
      absl::FormatDuration(absl::Trunc(healed_after, absl::Milliseconds(100))), trace_hash,
      violations.size(), mix);
  if (reigns > 0) absl::StrAppend(&text, " led ", reigns, " times, ", takeovers, " by another\n ");
  absl::StrAppend(&text, " at most: ", Describe(kept), "\n ");
  for (int i = 0; i < kFaultCount; ++i) {
    if (faults[static_cast<size_t>(i)] > 0) {
      absl::StrAppend(&text, " ", FaultName(static_cast<Fault>(i)), "=",
                      faults[static_cast<size_t>(i)]);
    }
  }
  return text;
}

}  // namespace arion::sim
