// StuckWork: something that should have ended by now, as a watchdog tells of it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/time/time.h>

#include <string>

namespace arion {

// One finding of one look, made by pools and the watchdog (posix/posix_watchdog.h), for the log and
// a page; text for people.
struct StuckWork {
  // "loop 0", "pool of /data/1, thread 2".
  std::string where;
  // The call and its path, or that there is none.
  std::string what;
  // Since it last moved.
  absl::Duration age;
  // Of a loop: one line a frame. Empty: not known.
  std::string stack;
};

}  // namespace arion
