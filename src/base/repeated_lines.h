// RepeatedLines: what would be logged again and again, for example for each of many partitions at
// each look of the meta server. A condition is logged when it begins, every ten minutes while it
// lasts (with how often it was met since), and when it was not met for a minute.
//
// Shapes    A condition is its text, without the name of what it concerns: there are few. Each line
//           names one of those it concerns.
// Threads   One.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "base/instant.h"

namespace arion {

// The conditions of one part of a server, which owns it and calls Look from its timer.
//
//   RepeatedLines lines([](const std::string& line) { LOG(WARNING) << line; });
//   lines.Met(now, "has too few servers", "2.3");    // "2.3 has too few servers"
//   lines.Look(now);
class RepeatedLines {
 public:
  using Say = std::function<void(const std::string& line)>;
  // `say` gets each line that is to be logged.
  explicit RepeatedLines(Say say) : say_(std::move(say)) {}

  // The condition holds now, of `whom` for one. Logs a line at the first time, and then every ten
  // minutes.
  void Met(Instant now, std::string_view condition, std::string_view whom);
  // To be called now and then, for conditions that have ended.
  void Look(Instant now);

 private:
  struct Entry {
    // When the condition was first met, last logged, last met.
    Instant began, said, met;
    // Since it began.
    int64_t times = 0;
  };

  const Say say_;
  std::map<std::string, Entry, std::less<>> entries_;
};

}  // namespace arion
