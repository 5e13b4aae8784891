// Reconciliation: what a primary that takes a new ballot proposes again: everything it has prepared
// and not committed.
//
// Holes are filled with empty writes: a decree this member does not hold was never acknowledged by
// every member, hence never committed. So is what was overruled (prepare_list/L4). Content and
// timestamp stay, ballot and committed point are the new primary's. Pure.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "base/mutation.h"
#include "decrees/prepare_list.h"

namespace arion {

struct Reproposal {
  MutationPtr mutation;
  enum class Origin { kPrepared, kHole };
  Origin origin = Origin::kPrepared;
};

// For every decree in (last_committed, last_prepared], in order.
std::vector<Reproposal> ProposeAgain(const PrepareList& list, PartitionId pid, Ballot ballot);

// The same once more.
MutationPtr UnderBallot(Mutation mutation, Ballot ballot, Decree last_committed);
MutationPtr MakeEmptyWrite(PartitionId pid, Ballot ballot, Decree decree, Decree last_committed);

}  // namespace arion
