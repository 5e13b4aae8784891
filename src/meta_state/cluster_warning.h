// ClusterWarning: what an administrator has to know though it is the state of no partition or
// server, with the way forward. Shown by `status`, /ui and /metrics.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace arion {

struct ClusterWarning {
  std::string kind;     // its label on /metrics: "other_cluster_knocks"
  int64_t count = 0;    // servers or tables that are concerned
  std::string what;     // whom it is about: "meta server"
  std::string problem;  // a sentence's part, without a full stop
  std::string way;      // what to do, likewise
  // Nothing is wrong by it: it shall be known while it lasts.
  bool is_notice = false;
  bool operator==(const ClusterWarning&) const = default;
};

}  // namespace arion
