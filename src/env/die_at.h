// DieAt: a named step where a test lets a real process be killed, by the environment variable
// ARION_DIE_AT=NAME: it ends as by SIGKILL, the first time that it comes there. tests/cluster/
// split_test.py has the names.
//
// Threads   Thread-safe; without the variable it costs one comparison.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <csignal>
#include <cstdlib>
#include <string_view>

namespace arion {

inline void DieAt(std::string_view step) {
  static const char* const wanted = std::getenv("ARION_DIE_AT");
  if (wanted != nullptr && step == wanted) std::raise(SIGKILL);
}

}  // namespace arion
