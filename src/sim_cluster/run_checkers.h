// RunCheckers: all that judges one run: what clients saw, what servers did, how rare places were
// reached, and what the run itself found wrong.
//
// Threads   One: the world's. Lifetime: outlives whatever tells it something, engines included.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>

#include "sim_checkers/bounds.h"
#include "sim_checkers/checkers.h"
#include "sim_checkers/coverage.h"
#include "sim_checkers/data_history.h"
#include "sim_checkers/history.h"
#include "sim_checkers/leader_checker.h"

namespace arion::sim {

// A member of SimCluster; the parts get a reference and feed the checker that their subject
// concerns.
struct RunCheckers {
  explicit RunCheckers(const BoundSettings& settings) : bounds(settings) {}

  // Makes the run red. `what` says what was found, and where.
  void Violate(std::string what) { violations.push_back(std::move(what)); }

  History history;
  DataHistory data_history;
  Coverage coverage;
  CommitChecker commits;
  PrimaryChecker primaries;
  BallotChecker ballots;
  Bounds bounds;
  // Of several meta servers.
  LeaderChecker leaders;
  // Those that the run itself found.
  Violations violations;
};

}  // namespace arion::sim
