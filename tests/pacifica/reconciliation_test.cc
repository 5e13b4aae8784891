// SPDX-License-Identifier: Apache-2.0
#include "pacifica/reconciliation.h"

#include <gtest/gtest.h>

#include "tests/pacifica/harness.h"

namespace arion {
namespace {

TEST(ReconciliationTest, ContentAndTimestampStayBallotAndCommittedPointAreNew) {
  PrepareList list(110, Decree(11));
  list.Put(MakeMutation(7, 12, 9, "k"), PrepareList::LogState::kLogged, 0);
  const std::vector<Reproposal> again = ProposeAgain(list, kTestPid, Ballot(9));
  ASSERT_EQ(again.size(), 1u);
  const Mutation& m = *again[0].mutation;
  EXPECT_EQ(m.ballot, Ballot(9));
  EXPECT_EQ(m.decree, Decree(12));
  EXPECT_EQ(m.last_committed, Decree(11));
  EXPECT_EQ(m.timestamp_us, 12);
  EXPECT_EQ(ContentOf(m), "k");
  EXPECT_EQ(again[0].origin, Reproposal::Origin::kPrepared);
}

TEST(ReconciliationTest, HolesBecomeEmptyWrites) {
  PrepareList list(110, Decree(11));
  list.Put(MakeMutation(7, 14, 9, "k"), PrepareList::LogState::kLogged, 0);
  const std::vector<Reproposal> again = ProposeAgain(list, kTestPid, Ballot(9));
  ASSERT_EQ(again.size(), 3u);
  EXPECT_EQ(again[0].origin, Reproposal::Origin::kHole);
  EXPECT_EQ(again[0].mutation->updates[0].code, WriteCode::kEmpty);
  EXPECT_EQ(again[1].mutation->decree, Decree(13));
  EXPECT_EQ(again[2].origin, Reproposal::Origin::kPrepared);
}

TEST(ReconciliationTest, WhatWasOverruledBecomesAnEmptyWrite) {
  PrepareList list(110, Decree(11));
  list.Put(MakeMutation(7, 12, 11, "a"), PrepareList::LogState::kLogged, 0);
  list.Put(MakeMutation(7, 13, 11, "decided behind a"), PrepareList::LogState::kLogged, 0);
  list.Put(MakeMutation(8, 12, 11, "b"), PrepareList::LogState::kLogged, 0);
  const std::vector<Reproposal> again = ProposeAgain(list, kTestPid, Ballot(9));
  ASSERT_EQ(again.size(), 2u);
  EXPECT_EQ(ContentOf(*again[0].mutation), "b");
  EXPECT_EQ(again[1].origin, Reproposal::Origin::kHole);
  EXPECT_EQ(again[1].mutation->updates[0].code, WriteCode::kEmpty);
}

TEST(ReconciliationTest, WhatIsCommittedIsNotProposedAgain) {
  PrepareList list(110, Decree(11));
  list.Put(MakeMutation(7, 12, 11, "k"), PrepareList::LogState::kLogged, 0);
  list.CommitThrough(Decree(12));
  EXPECT_TRUE(ProposeAgain(list, kTestPid, Ballot(9)).empty());
}

TEST(ReconciliationDeathTest, AnEmptyWriteIsOfADecreeThatIsNotCommitted) {
  const MutationPtr empty = MakeEmptyWrite(kTestPid, Ballot(7), Decree(3), Decree(2));
  EXPECT_EQ(empty->updates.at(0).code, WriteCode::kEmpty);
  EXPECT_EQ(empty->timestamp_us, 0) << "unknown";
  EXPECT_DEATH(MakeEmptyWrite(kTestPid, Ballot(7), Decree(3), Decree(3)), "not written again");
}

TEST(ReconciliationDeathTest, NothingIsOfATermThatIsYetToCome) {
  PrepareList list(100, Decree(10));
  list.Put(MakeMutation(8, 11, 10, "a"), PrepareList::LogState::kLogged, 0);
  EXPECT_DEATH(ProposeAgain(list, kTestPid, Ballot(7)), "invariants/R15");
  EXPECT_EQ(ProposeAgain(list, kTestPid, Ballot(9)).size(), 1u);
}

}  // namespace
}  // namespace arion
