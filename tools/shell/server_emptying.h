// Emptying a server of what it serves. It is planned from the partitions as they are now. So after
// an interruption, or a lost connection, it is begun anew and goes on where it stood.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/status/statusor.h>
#include <absl/time/time.h>

#include <string>
#include <vector>

#include "tools/shell/session.h"

namespace arion::shell {

// How often it is looked how much is left.
constexpr absl::Duration kLookEvery = absl::Milliseconds(500);

// What is to leave the server.
enum class What { kPrimaries, kEverything };

// One partition's move, as it is shown and as it is proposed.
struct Move {
  PartitionId pid;
  // move_primary, copy, remove.
  std::string action;
  Endpoint from, to;
  std::vector<ProposedAction> steps;
};

// What PlanOf found. It is out of date as soon as a partition changes: make it anew for each step.
struct Plan {
  std::vector<Move> moves;
  // Why nothing may be done.
  std::vector<std::string> refused;
};

// Plans; changes nothing.
absl::StatusOr<Plan> PlanOf(Session& session, Endpoint node, What what);
// FailedPrecondition: something of it can't go anywhere.
absl::Status Refusal(const Plan& plan);
// How much of it is still on the server.
absl::StatusOr<int64_t> LeftOn(Session& session, Endpoint node, What what);

// kDetached: by Ctrl-C; what follows must not rely on it.
enum class Ended { kDone, kDetached };
// Proposes the moves, some at a time, and waits until nothing is left on the server.
absl::StatusOr<Ended> Empty(Session& session, Endpoint node, What what);

}  // namespace arion::shell
