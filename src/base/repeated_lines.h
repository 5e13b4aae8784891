// RepeatedLines: what would be logged again and again, as for each of many partitions at each look of
// the meta server. A condition is said when it begins, every ten minutes while it lasts, with how
// often it was met since, and when it was not met for a minute.
//
// Shapes    A condition is its text, without whom it concerns: there are few. Each line names one of
//           whom it concerns.
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

class RepeatedLines {
 public:
  using Say = std::function<void(const std::string& line)>;
  // `say` gets each line that is to be logged.
  explicit RepeatedLines(Say say) : say_(std::move(say)) {}

  void Met(Instant now, std::string_view condition, std::string_view whom);
  // Now and then, for what has ended.
  void Look(Instant now);

 private:
  struct Entry {
    Instant began, said, met;
    int64_t times = 0;  // since it began
  };

  const Say say_;
  std::map<std::string, Entry, std::less<>> entries_;
};

}  // namespace arion
