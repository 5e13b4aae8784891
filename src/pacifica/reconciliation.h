// Reconciliation: what a primary that takes a new ballot proposes again, namely everything that it
// has prepared and not committed (pacifica/PROTOCOL.md 5.2).
//
// Holes become empty writes: a decree that this member does not hold was never acknowledged by
// every member, hence never committed. What was overruled becomes an empty write too
// (prepare_list/L4). Everything else keeps its content and timestamp, and gets the new primary's
// ballot and committed point. Pure.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "base/mutation.h"

namespace arion {

class PrepareList;

// One mutation to be proposed again.
struct Reproposal {
  MutationPtr mutation;
  // kHole: an empty write in place of what is missing or overruled.
  enum class Origin { kPrepared, kHole };
  Origin origin = Origin::kPrepared;
};

// One for every decree in (last_committed, last_prepared], in order. Nothing in the list may be of
// a larger ballot than `ballot`. The list itself stays as it is.
std::vector<Reproposal> ProposeAgain(const PrepareList& list, PartitionId pid, Ballot ballot);

// The same mutation under another ballot, with the committed point of whoever proposes it again.
MutationPtr UnderBallot(Mutation mutation, Ballot ballot, Decree last_committed);
// A mutation without content, which only advances the decree. Its timestamp is 0, which counts as
// unknown. `last_committed` is below `decree`.
MutationPtr MakeEmptyWrite(PartitionId pid, Ballot ballot, Decree decree, Decree last_committed);

}  // namespace arion
