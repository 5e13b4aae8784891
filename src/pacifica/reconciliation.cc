// SPDX-License-Identifier: Apache-2.0
#include "pacifica/reconciliation.h"

#include <memory>
#include <utility>

#include "base/log.h"
#include "decrees/prepare_list.h"

namespace arion {

MutationPtr MakeEmptyWrite(PartitionId pid, Ballot ballot, Decree decree, Decree last_committed) {
  CHECK_GE(ballot, Ballot(0));
  CHECK_LT(last_committed, decree) << "a committed decree is not written again";
  Mutation empty;
  empty.pid = pid;
  empty.ballot = ballot;
  empty.decree = decree;
  empty.last_committed = last_committed;
  empty.updates.push_back(Update{.code = WriteCode::kEmpty});
  return std::make_shared<const Mutation>(std::move(empty));
}

MutationPtr UnderBallot(Mutation mutation, Ballot ballot, Decree last_committed) {
  mutation.ballot = ballot;
  mutation.last_committed = last_committed;
  mutation.log_offset = -1;
  return std::make_shared<const Mutation>(std::move(mutation));
}

std::vector<Reproposal> ProposeAgain(const PrepareList& list, PartitionId pid, Ballot ballot) {
  CHECK_GE(ballot, Ballot(0));
  std::vector<Reproposal> again;
  for (Decree d = list.last_committed() + 1; d <= list.last_prepared(); ++d) {
    const PrepareList::Entry* entry = list.Find(d);
    // What this member lacks was not acknowledged by all, so it was not committed. What was
    // overruled was decided on a history that never was (prepare_list/L4): its content must not
    // come back.
    if (entry == nullptr || entry->is_overruled) {
      again.push_back(
          {MakeEmptyWrite(pid, ballot, d, list.last_committed()), Reproposal::Origin::kHole});
      continue;
    }
    CHECK_LE(entry->mutation->ballot, ballot) << "invariants/R15: of a term that is yet to come";
    CHECK_EQ(entry->mutation->decree, d) << "prepare_list/L2: another decree's slot";
    // Entries are shared and immutable, so the new ballot needs a copy. The updates must not
    // change: a member may have committed this very content, and clients may have been told.
    again.push_back({UnderBallot(*entry->mutation, ballot, list.last_committed()),
                     Reproposal::Origin::kPrepared});
  }
  CHECK_EQ(static_cast<int64_t>(again.size()), list.last_prepared() - list.last_committed())
      << "a decree is left out";
  return again;
}

}  // namespace arion
