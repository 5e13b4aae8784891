// SPDX-License-Identifier: Apache-2.0
#include "sim/bounds.h"

#include <absl/strings/str_cat.h>

#include <algorithm>

namespace arion::sim {
namespace {

struct Bound {
  const char* name;
  int64_t most;
};

constexpr int64_t kMiB = 1 << 20;
constexpr std::array<Bound, kKeptCount> kBounds = {{
    {"uncommitted", 110},  // the span of a prepare list
    {"log-files", 384},  // log-bytes of the smallest files a run draws, 64 KiB
    {"log-bytes", 24 * kMiB},
    {"checkpoints", 10},  // two kept, one in the making, those that learners still read
    {"set-aside", 40},
    {"unanswered", 1000},
    {"unanswered-KiB", 32 * 1024},
    {"calls", 1000},
    {"disk-bytes", 64 * kMiB},
    {"meta-bytes", 4 * kMiB},
    {"events", 30000},
}};

}  // namespace

void Bounds::Note(Kept what, int64_t amount, const std::string& who) {
  const auto index = static_cast<size_t>(what);
  const Bound& bound = kBounds[index];
  if (amount > bound.most && most_[index] <= bound.most) {
    violations_.push_back(
        absl::StrCat("B: ", who, " keeps ", amount, " ", bound.name, ", more than ", bound.most));
  }
  most_[index] = std::max(most_[index], amount);
}

std::string Describe(const KeptMost& most) {
  std::string text;
  for (size_t i = 0; i < most.size(); ++i)
    absl::StrAppend(&text, i == 0 ? "" : ", ", kBounds[i].name, " ", most[i]);
  return text;
}

}  // namespace arion::sim
