// SPDX-License-Identifier: Apache-2.0
#include "pacifica/invariants.h"

#include <set>

#include "base/log.h"
#include "decrees/prepare_list.h"

namespace arion {

void CheckLadder(const Watermarks& marks) {
  CHECK_GE(marks.last_durable, Decree(0)) << "invariants/R1";
  CHECK_LE(marks.last_durable, marks.last_applied) << "invariants/R1";
  CHECK_LE(marks.last_applied, marks.last_committed) << "invariants/R1";
  CHECK_LE(marks.last_committed, marks.last_logged) << "invariants/R1";
  CHECK_LE(marks.last_logged, marks.last_prepared) << "invariants/R1";
}

void CheckRise(const Watermarks& before, const Watermarks& after) {
  CHECK_LE(before.ballot, after.ballot) << "invariants/R3";
  CHECK(before.role != PartitionStatus::kError || after.role == PartitionStatus::kError)
      << "replica_core/P5: a failed replica takes a role again";
  CHECK_LE(before.learner_restarts, after.learner_restarts) << "invariants/R3";
  // A state from elsewhere took the place of the own one: its watermarks are another history's.
  if (before.learner_restarts != after.learner_restarts) return;
  CHECK_LE(before.last_durable, after.last_durable) << "invariants/R3";
  CHECK_LE(before.last_applied, after.last_applied) << "invariants/R3";
  CHECK_LE(before.last_committed, after.last_committed) << "invariants/R3";
  // A new ballot may give up what was prepared under the old one and never committed.
  if (before.ballot == after.ballot) {
    CHECK_LE(before.last_prepared, after.last_prepared) << "invariants/R3";
  }
}

void CheckMembers(const PartitionConfiguration& configuration) {
  std::set<Endpoint> members;
  if (configuration.primary.IsValid()) members.insert(configuration.primary);
  for (Endpoint secondary : configuration.secondaries) {
    CHECK(secondary.IsValid()) << "invariants/R6: a member without an address";
    CHECK(members.insert(secondary).second)
        << "invariants/R6: " << secondary << " is a member twice";
  }
}

// A primary's own list has no hole, unlike a member's: it made every entry itself, or filled the
// hole when its term began.
void CheckTerm(const PrepareList& list, Ballot ballot) {
  for (Decree d = list.last_committed() + 1; d <= list.last_prepared(); ++d) {
    const PrepareList::Entry* entry = list.Find(d);
    CHECK(entry != nullptr) << "invariants/R2: hole at " << d;
    CHECK_EQ(entry->mutation->ballot, ballot) << "invariants/R9: " << d << " is of a former term";
  }
}

void CheckStanding(PartitionStatus role, LearnerStatus phase, Standing standing) {
  if (role == PartitionStatus::kPrimary || role == PartitionStatus::kSecondary)
    CHECK(standing == Standing::kMember) << "invariants/R10: a member whose state is a learner's";
  if (phase == LearnerStatus::kWithPrepare || phase == LearnerStatus::kSucceeded)
    CHECK(standing == Standing::kLearner)
        << "invariants/R10: a learner whose state counts as a member's";
}

void CheckGap(LearnerStatus phase, Decree last_durable, Decree gap_end) {
  if (phase == LearnerStatus::kSucceeded)
    CHECK_GE(last_durable, gap_end) << "invariants/R10: what was learned is not durable";
}

}  // namespace arion
