// SPDX-License-Identifier: Apache-2.0
#include "base/nearest_name.h"

#include <algorithm>
#include <numeric>

namespace arion {

std::string_view NearestName(std::string_view name, const std::vector<std::string_view>& known) {
  std::string_view best;
  // The edit distance, row by row. A slip of the hand: two changes, in long names one in four
  // letters; "+ 1" because the comparison below is strict.
  size_t best_distance = std::max<size_t>(2, name.size() / 4) + 1;
  for (std::string_view candidate : known) {
    std::vector<size_t> row(candidate.size() + 1);
    std::iota(row.begin(), row.end(), 0);
    for (size_t i = 0; i < name.size(); ++i) {
      // `diagonal` is the entry above to the left, which the step before has overwritten.
      size_t diagonal = row[0];
      row[0] = i + 1;
      for (size_t j = 0; j < candidate.size(); ++j) {
        size_t replace = diagonal + (name[i] == candidate[j] ? 0 : 1);
        diagonal = row[j + 1];
        row[j + 1] = std::min({replace, row[j] + 1, row[j + 1] + 1});
      }
    }
    if (row.back() < best_distance) {
      best_distance = row.back();
      best = candidate;
    }
  }
  return best;
}

}  // namespace arion
