// SPDX-License-Identifier: Apache-2.0
#include "tools/compare/suspects.h"

#include <algorithm>
#include <utility>

#include "base/status.h"

namespace arion::compare {
namespace {

constexpr int kTimesDifferent = 2;
constexpr int kTurns = 20;

using States = std::vector<RecordState>;

absl::StatusOr<States> Read(const std::function<LookHooks::States(const std::vector<Suspect>&)>& of,
                            const std::vector<Suspect>& suspects) {
  ASSIGN_OR_RETURN(States states, of(suspects));
  if (states.size() != suspects.size()) return absl::InternalError("not one state for each key");
  return states;
}

std::set<int32_t> PartitionsOf(const std::vector<Suspect>& suspects) {
  std::set<int32_t> partitions;
  for (const Suspect& one : suspects) partitions.insert(one.partition);
  return partitions;
}

// A key that changes here, and what it was during this look.
struct Moving {
  Suspect suspect;
  States was;

  bool IsFollowedBy(const RecordState& there) const {
    return std::find(was.begin(), was.end(), there) != was.end();
  }
};

// Those that the other side does not follow.
absl::StatusOr<std::vector<Suspect>> ReadInTurns(std::vector<Moving> moving,
                                                 const LookHooks& hooks) {
  for (int turn = 0; turn < kTurns && !moving.empty(); ++turn) {
    std::vector<Suspect> suspects;
    suspects.reserve(moving.size());
    for (const Moving& one : moving) suspects.push_back(one.suspect);
    ASSIGN_OR_RETURN(const States here, Read(hooks.read_here, suspects));
    ASSIGN_OR_RETURN(const States there, Read(hooks.read_there, suspects));
    std::vector<Moving> left;
    for (size_t i = 0; i < moving.size(); ++i) {
      moving[i].was.push_back(here[i]);
      moving[i].suspect.here = here[i];
      moving[i].suspect.there = there[i];
      if (!moving[i].IsFollowedBy(there[i])) left.push_back(std::move(moving[i]));
    }
    moving = std::move(left);
  }
  std::vector<Suspect> left;
  left.reserve(moving.size());
  for (Moving& one : moving) left.push_back(std::move(one.suspect));
  return left;
}

}  // namespace

absl::StatusOr<Verdicts> JudgeSuspects(std::vector<Suspect> suspects, const LookHooks& hooks) {
  Verdicts verdicts;
  for (int look = 0; look < kLooksMax && !suspects.empty(); ++look) {
    ASSIGN_OR_RETURN(const States before, Read(hooks.read_here, suspects));
    RETURN_IF_ERROR(hooks.catch_up(PartitionsOf(suspects)));
    ASSIGN_OR_RETURN(const States there, Read(hooks.read_there, suspects));
    ASSIGN_OR_RETURN(const States after, Read(hooks.read_here, suspects));
    std::vector<Suspect> left;
    std::vector<Moving> moving;
    for (size_t i = 0; i < suspects.size(); ++i) {
      if (there[i] == before[i] || there[i] == after[i]) continue;
      Suspect& one = suspects[i];
      one.here = after[i];
      one.there = there[i];
      if (before[i] != after[i]) {
        one.times_different = 0;
        moving.push_back({std::move(one), {before[i], after[i]}});
        continue;
      }
      auto& to = ++one.times_different == kTimesDifferent ? verdicts.different : left;
      to.push_back(std::move(one));
    }
    ASSIGN_OR_RETURN(std::vector<Suspect> not_followed, ReadInTurns(std::move(moving), hooks));
    std::move(not_followed.begin(), not_followed.end(), std::back_inserter(left));
    suspects = std::move(left);
  }
  verdicts.changing = std::move(suspects);
  return verdicts;
}

}  // namespace arion::compare
