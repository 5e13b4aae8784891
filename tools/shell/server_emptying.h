// Emptying a server of what it serves: planned from the partitions as they are now, so whoever was interrupted,
// or lost the connection, begins anew and goes on where it stood.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/status/statusor.h>
#include <absl/time/time.h>

#include <string>
#include <vector>

#include "tools/shell/session.h"

namespace arion::shell {

constexpr absl::Duration kLookEvery = absl::Milliseconds(500);

enum class What { kPrimaries, kEverything };

struct Move {
  PartitionId pid;
  std::string action;  // move_primary, copy, remove
  Endpoint from, to;
  std::vector<ProposedAction> steps;
};

struct Plan {
  std::vector<Move> moves;
  std::vector<std::string> refused;  // why nothing may be done
};

absl::StatusOr<Plan> PlanOf(Session& session, Endpoint node, What what);
// FailedPrecondition: something of it can't go anywhere.
absl::Status Refusal(const Plan& plan);
// How much of it is still on the server.
absl::StatusOr<int64_t> LeftOn(Session& session, Endpoint node, What what);

enum class Ended { kDone, kDetached };  // kDetached: by Ctrl-C; what follows must not rely on it
// Proposes the moves, some at a time, and waits until nothing is left on the server.
absl::StatusOr<Ended> Empty(Session& session, Endpoint node, What what);

}  // namespace arion::shell
