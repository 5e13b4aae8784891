// BalancePlanner: which primaries and copies should move so that every server has its share of each
// table (meta/STATE.md 6.7). Pure.
//
// Shapes    Per table, over the servers that are alive: first primaries, along chains of servers
//           that hold copies already, and by a new copy only where no chain helps; copies when no
//           primary has to move. Each move takes a partition of its own. Two kinds of servers get
//           no new copies: those that the guardian passed over for any partition (they took no
//           replica), and those whose disks have less than a fifth left where another's have more
//           (a tenth where nobody's have).
// Promises  balance_planner/B1  Nothing is planned while anything else is wrong or under way: a
//               partition that lacks a member, a member that is dead or not known to hold
//               everything, a change. A server with a slow disk, or one that takes no writes, or
//               called slow is left alone with all that it has a part in (the guardian moves
//               primaries away from it); where most are, nothing is planned.
//           balance_planner/B2  Carried out, each plan lowers a difference. When all differ by at
//               most one there is nothing to do.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "meta_state/cluster_state.h"

namespace arion {

// One move: kMovePrimary makes a secondary the primary; the others make a copy and remove one.
struct BalanceMove {
  enum class Kind { kMovePrimary, kCopyPrimary, kCopySecondary };
  Kind kind = Kind::kMovePrimary;
  PartitionId pid;
  Endpoint from;
  Endpoint to;
  bool operator==(const BalanceMove&) const = default;
};

// kPrimaries: no copy is made.
enum class BalanceBy { kPrimaries, kPrimariesAndCopies };
// At most `moves_max` moves, the first ones of all.
std::vector<BalanceMove> PlanBalance(const ClusterState& state, size_t moves_max,
                                     BalanceBy by = BalanceBy::kPrimariesAndCopies);
// What the guardian is to do for the move, in this order.
std::vector<Intent> StepsOf(const BalanceMove& move);

}  // namespace arion
