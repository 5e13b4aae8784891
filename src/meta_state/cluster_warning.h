// ClusterWarning: what an administrator has to know although it is the state of no partition or
// server, with the way forward. Shown by `status`, /ui and /metrics.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace arion {

// One warning: the parts of "the <what> <problem>", and what to do about it.
struct ClusterWarning {
  // Its label on /metrics: "other_cluster_knocks".
  std::string kind;
  // How many servers or tables are concerned.
  int64_t count = 0;
  // What it is about: "meta server".
  std::string what;
  // A part of a sentence, without a full stop; the same holds for `way`.
  std::string problem;
  // What to do.
  std::string way;
  // Nothing is wrong: it is shown so that it is known while it lasts.
  bool is_notice = false;
  bool operator==(const ClusterWarning&) const = default;
};

}  // namespace arion
