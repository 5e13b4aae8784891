// SPDX-License-Identifier: Apache-2.0
#include "sim_checkers/bounds.h"

#include <absl/strings/str_cat.h>

#include <algorithm>

namespace arion::sim {
namespace {

constexpr int64_t kKiB = 1 << 10;
constexpr int64_t kMiB = 1 << 20;

constexpr std::array<const char*, kKeptCount> kKeptNames = {
    "uncommitted",    "log-files", "log-bytes",  "checkpoints", "set-aside", "unanswered",
    "unanswered-KiB", "calls",     "disk-bytes", "meta-bytes",  "events"};

// Generous: what grows without end passes any of them, and what is merely much must not.
KeptMost BoundsOf(const BoundSettings& settings) {
  // Of one replica between two checkpoints; a crowd with large values wrote 8 MiB.
  constexpr int64_t kWrittenBytes = 20 * kMiB;
  // Files that end early, since the server stopped or a learner began anew.
  constexpr int64_t kShortFiles = 32;
  const int64_t log_bytes = kWrittenBytes + static_cast<int64_t>(settings.log_for_member_bytes) +
                            static_cast<int64_t>(settings.log_for_other_cluster_bytes);
  KeptMost bounds{};
  const auto set = [&bounds](Kept what, int64_t most) { bounds[static_cast<size_t>(what)] = most; };
  set(Kept::kUncommitted, settings.prepare_list_capacity);
  set(Kept::kLogFiles, log_bytes / static_cast<int64_t>(settings.log_segment_bytes) + kShortFiles);
  set(Kept::kLogBytes, log_bytes);
  set(Kept::kCheckpoints, 10);  // two kept, one in the making, those that learners still read
  set(Kept::kSetAside, 40);
  set(Kept::kUnanswered, 1000);
  set(Kept::kUnansweredKb, 32 * kKiB);
  set(Kept::kCalls, 1000);
  set(Kept::kDiskBytes, 64 * kMiB + 2 * static_cast<int64_t>(settings.log_for_other_cluster_bytes));
  set(Kept::kMetaBytes, 4 * kMiB);
  set(Kept::kEvents, 30000);
  return bounds;
}

}  // namespace

Bounds::Bounds(const BoundSettings& settings) : bounds_(BoundsOf(settings)) {}

void Bounds::Note(Kept what, int64_t amount, const std::string& who) {
  const auto index = static_cast<size_t>(what);
  const int64_t bound = bounds_[index];
  // Once: later ones would say the same.
  if (amount > bound && most_[index] <= bound) {
    violations_.push_back(absl::StrCat("bounds/B1: ", who, " keeps ", amount, " ",
                                       kKeptNames[index], ", more than ", bound));
  }
  most_[index] = std::max(most_[index], amount);
}

std::string Describe(const KeptMost& most) {
  std::string text;
  for (size_t i = 0; i < most.size(); ++i)
    absl::StrAppend(&text, i == 0 ? "" : ", ", kKeptNames[i], " ", most[i]);
  return text;
}

}  // namespace arion::sim
