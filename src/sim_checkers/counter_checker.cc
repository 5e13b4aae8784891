// SPDX-License-Identifier: Apache-2.0
#include <absl/strings/numbers.h>
#include <absl/strings/str_cat.h>

#include <algorithm>
#include <map>
#include <vector>

#include "sim_checkers/checkers.h"

namespace arion::sim {
namespace {

struct Told {
  int64_t value = 0;
  const Operation* operation = nullptr;
};

int64_t CountBelow(const std::vector<Instant>& sorted, Instant limit) {
  return std::lower_bound(sorted.begin(), sorted.end(), limit) - sorted.begin();
}

void CheckCounter(const std::string& key, const std::vector<const Operation*>& operations,
                  Violations* violations) {
  const auto complain = [&](const Told& told, std::string_view what) {
    violations->push_back(absl::StrCat("checkers/C8: counter ", key, ": ", told.value, " ",
                                       std::string(what).c_str()));
  };
  std::vector<Told> all_told;
  // Sorted, so that each count is a binary search.
  std::vector<Instant> begins, ends;  // of those that may have happened; of those that have
  for (const Operation* operation : operations) {
    // A refused increment must not count, so it widens no bound.
    if (operation->outcome == Operation::Outcome::kRefused) continue;
    begins.push_back(operation->invoked);
    if (operation->outcome != Operation::Outcome::kOk) continue;
    ends.push_back(operation->returned);
    Told told{.operation = operation};
    if (!absl::SimpleAtoi(operation->value, &told.value)) complain(told, "is no number");
    all_told.push_back(told);
  }
  std::sort(begins.begin(), begins.end());
  std::sort(ends.begin(), ends.end());
  std::sort(all_told.begin(), all_told.end(), [](const Told& a, const Told& b) {
    return a.value != b.value ? a.value < b.value : a.operation < b.operation;
  });
  Instant latest_begin;  // of the smaller values
  for (size_t i = 0; i < all_told.size(); ++i) {
    const Told& told = all_told[i];
    if (i > 0 && told.value == all_told[i - 1].value) complain(told, "was told twice");
    if (told.operation->returned < latest_begin)
      complain(told, "was told before a smaller one was asked for");
    latest_begin = std::max(latest_begin, told.operation->invoked);
    // Everything acknowledged before it began is below it.
    if (told.value <= CountBelow(ends, told.operation->invoked))
      complain(told, "lacks an acknowledged increment");
    // Nothing that began after it ended can be counted in it.
    if (told.value > CountBelow(begins, told.operation->returned))
      complain(told, "counts one that was refused, or one twice");
  }
}

}  // namespace

Violations CheckCounters(const History& history) {
  std::map<std::string, std::vector<const Operation*>> keys;
  for (const Operation& operation : history.operations())
    if (operation.kind == Operation::Kind::kIncrement) keys[operation.key].push_back(&operation);
  Violations violations;
  for (const auto& [key, operations] : keys) CheckCounter(key, operations, &violations);
  return violations;
}

}  // namespace arion::sim
