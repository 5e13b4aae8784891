// StuckWork: something that should have ended by now, as a watchdog tells of it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/time/time.h>

#include <string>

namespace arion {

struct StuckWork {
  std::string where;   // "loop 0", "pool of /data/1, thread 2"
  std::string what;    // the call and its path, or that there is none
  absl::Duration age;  // since it last moved
  std::string stack;   // of a loop; one line a frame; empty: not known
};

}  // namespace arion
