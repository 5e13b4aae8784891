// SPDX-License-Identifier: Apache-2.0
#include "decrees/prepare_list.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

#include "tests/pacifica/harness.h"

namespace arion {
namespace {

using LogState = PrepareList::LogState;
using PutVerdict = PrepareList::PutVerdict;

PutVerdict Put(PrepareList& list, int64_t ballot, int64_t decree, LogState log = LogState::kLogged,
               uint64_t sequence = 0) {
  return list.Put(MakeMutation(ballot, decree, 0, "d"), log, sequence);
}

TEST(PrepareListTest, BeginsEmptyBehindWhatIsCommitted) {
  PrepareList list(110, Decree(11));
  EXPECT_EQ(list.last_committed(), Decree(11));
  EXPECT_EQ(list.last_prepared(), Decree(11));
  EXPECT_EQ(list.last_logged(), Decree(11));
  EXPECT_EQ(list.first_kept(), Decree(12));
}

TEST(PrepareListTest, CommitsThroughLoggedEntriesOnly) {
  PrepareList list(110, Decree(11));
  Put(list, 7, 12);
  Put(list, 7, 13, LogState::kPending, 5);
  Put(list, 7, 14);
  EXPECT_EQ(list.CommitThrough(Decree(14)).size(), 1u);
  EXPECT_EQ(list.last_committed(), Decree(12));
  EXPECT_TRUE(list.MarkLogged(Decree(13), 5));
  EXPECT_EQ(list.CommitThrough(Decree(14)).size(), 2u);
  EXPECT_EQ(list.last_committed(), Decree(14));
}

TEST(PrepareListTest, AHoleStopsTheCommittedPoint) {
  PrepareList list(110, Decree(11));
  Put(list, 7, 13);
  EXPECT_TRUE(list.CommitThrough(Decree(13)).empty());
  EXPECT_EQ(list.FirstMissing(Decree(13)), Decree(12));
  Put(list, 7, 12);
  EXPECT_EQ(list.FirstMissing(Decree(13)), Decree(14));
  EXPECT_EQ(list.CommitThrough(Decree(13)).size(), 2u);
}

TEST(PrepareListTest, TheLargerBallotStays) {
  PrepareList list(110, Decree(11));
  Put(list, 7, 12);
  EXPECT_EQ(Put(list, 8, 12, LogState::kPending, 9), PutVerdict::kStored);
  EXPECT_FALSE(list.IsLogged(Decree(12)))
      << "the new version is not logged because the old one was";
  EXPECT_EQ(Put(list, 7, 12), PutVerdict::kOlderBallot);
  EXPECT_EQ(list.Find(Decree(12))->mutation->ballot, Ballot(8));
}

TEST(PrepareListTest, TheOldVersionsAppendDoesNotMarkTheNewOne) {
  PrepareList list(110, Decree(11));
  Put(list, 7, 12, LogState::kPending, 1);
  Put(list, 8, 12, LogState::kPending, 2);
  EXPECT_FALSE(list.MarkLogged(Decree(12), 1));
  EXPECT_FALSE(list.IsLogged(Decree(12)));
  EXPECT_TRUE(list.MarkLogged(Decree(12), 2));
  EXPECT_FALSE(list.MarkLogged(Decree(12), 2)) << "once";
}

TEST(PrepareListTest, WhatIsCommittedIsNotTakenAgain) {
  PrepareList list(110, Decree(11));
  EXPECT_EQ(Put(list, 9, 11), PutVerdict::kCommitted);
}

TEST(PrepareListTest, RefusesADecreeFarAhead) {
  PrepareList list(10, Decree(11));
  EXPECT_EQ(Put(list, 7, 21, LogState::kPending, 1), PutVerdict::kStored);
  EXPECT_EQ(Put(list, 7, 22, LogState::kPending, 2), PutVerdict::kTooFar);
  EXPECT_EQ(Put(list, 7, INT64_MAX, LogState::kPending, 3), PutVerdict::kTooFar);
}

TEST(PrepareListTest, WhatALongerLogLeftIsReplacedWhereverItStands) {
  PrepareList list(4, Decree(11));
  for (int64_t d = 12; d <= 20; ++d) {
    if (d != 18) Put(list, 7, d);
  }
  for (int64_t d = 12; d <= 20; ++d) {
    EXPECT_EQ(Put(list, 8, d, LogState::kPending, static_cast<uint64_t>(d)), PutVerdict::kStored)
        << d;
  }
  EXPECT_EQ(Put(list, 8, 21, LogState::kPending, 21), PutVerdict::kTooFar) << "it grows no longer";
}

TEST(PrepareListTest, LetsGoOfCommittedOnesWhenItsSpanIsFull) {
  PrepareList list(4, Decree(0));
  for (int64_t d = 1; d <= 10; ++d) {
    Put(list, 7, d);
    list.CommitThrough(Decree(d));
    list.Check();
  }
  EXPECT_EQ(list.first_kept(), Decree(7));
  EXPECT_EQ(list.Find(Decree(6)), nullptr);
  EXPECT_NE(list.Find(Decree(7)), nullptr);
}

TEST(PrepareListTest, BallotsOfCommittedDecreesNeverFall) {
  PrepareList list(110, Decree(11));
  Put(list, 8, 12);
  Put(list, 7, 13);
  EXPECT_EQ(list.CommitThrough(Decree(13)).size(), 1u) << "13 waits for its version of ballot 8";
}

// Under ballot 7: 12 to 14. What ballot 9 then says of 12 shows whether its primary held them.
PrepareList WithThreeOf(int64_t ballot) {
  PrepareList list(110, Decree(11));
  for (int64_t decree : {12, 13, 14}) Put(list, ballot, decree);
  return list;
}
bool IsOverruled(const PrepareList& list, int64_t decree) {
  return list.Find(Decree(decree))->is_overruled;
}

TEST(PrepareListTest, WhatStandsBehindSomethingElseOfALargerBallotIsOverruled) {
  PrepareList list = WithThreeOf(7);
  Put(list, 8, 14);  // of another history: a later primary's
  list.Put(MakeMutation(9, 12, 11, "else"), LogState::kLogged, 0);
  EXPECT_FALSE(IsOverruled(list, 12));
  EXPECT_TRUE(IsOverruled(list, 13));
  EXPECT_FALSE(IsOverruled(list, 14)) << "whoever proposed it may have been overruled, or not";
  Put(list, 9, 13);
  EXPECT_FALSE(IsOverruled(list, 13)) << "that is what stands there now";
}

TEST(PrepareListTest, WhatStandsBehindTheSameOfALargerBallotMayHaveBeenCommitted) {
  PrepareList list = WithThreeOf(7);
  Put(list, 9, 12);
  EXPECT_FALSE(IsOverruled(list, 13));
  EXPECT_FALSE(IsOverruled(list, 14));
}

// As 2.5.0 does it (pacifica/PROTOCOL.md 2.2).
TEST(PrepareListTest, WhatAnOlderVersionPreparedAgainWithoutItsTimeIsTheSame) {
  PrepareList list = WithThreeOf(7);
  auto again = std::make_shared<Mutation>(*MakeMutation(9, 12, 11, "d"));
  again->timestamp_us = 0;
  list.Put(again, LogState::kLogged, 0);
  EXPECT_FALSE(IsOverruled(list, 13));
}

TEST(PrepareListTest, WhatIsOverruledStaysSoWhereItIsReadTwice) {
  PrepareList list = WithThreeOf(7);
  list.Put(MakeMutation(9, 12, 11, "else"), LogState::kLogged, 0);
  Put(list, 7, 13);
  EXPECT_TRUE(IsOverruled(list, 13));
}

TEST(PrepareListTest, ASmallerBallotOverrulesNothing) {
  PrepareList list = WithThreeOf(7);
  EXPECT_EQ(list.Put(MakeMutation(6, 12, 11, "else"), LogState::kLogged, 0),
            PutVerdict::kOlderBallot);
  EXPECT_FALSE(IsOverruled(list, 13));
}

TEST(PrepareListTest, ResetForgetsEverything) {
  PrepareList list(110, Decree(11));
  Put(list, 7, 12);
  list.Reset(Decree(40));
  EXPECT_EQ(list.last_prepared(), Decree(40));
  EXPECT_EQ(list.Find(Decree(12)), nullptr);
  EXPECT_EQ(Put(list, 7, 41), PutVerdict::kStored);
}

TEST(PrepareListTest, TellsTheBallotOfWhatItKeepsAndOfWhereItBegan) {
  PrepareList list(110, Decree(11));
  Put(list, 7, 12);
  EXPECT_EQ(list.BallotOf(Decree(11)), std::nullopt);
  EXPECT_EQ(list.BallotOf(Decree(12)), Ballot(7));
  EXPECT_EQ(list.BallotOf(Decree(13)), std::nullopt);
  list.Reset(Decree(40), Ballot(9));
  EXPECT_EQ(list.BallotOf(Decree(40)), Ballot(9));
  list.Reset(Decree(40));
  EXPECT_EQ(list.BallotOf(Decree(40)), std::nullopt);
}

// Against a model: a map from decree to (ballot, logged).
TEST(PrepareListTest, AgreesWithAModel) {
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    PrepareList list(16, Decree(0));
    std::map<int64_t, std::pair<int64_t, bool>> model;
    int64_t committed = 0, committed_ballot = 0;
    uint64_t sequence = 1;
    std::map<uint64_t, std::pair<int64_t, int64_t>> appends;
    for (int step = 0; step < 400; ++step) {
      const int64_t decree = committed + 1 + static_cast<int64_t>(random() % 8);
      const int64_t ballot = 1 + step / 100;
      if (random() % 3 != 0) {
        const PutVerdict verdict = Put(list, ballot, decree, LogState::kPending, sequence);
        const bool older = model.contains(decree) && model[decree].first > ballot;
        ASSERT_EQ(verdict, older ? PutVerdict::kOlderBallot : PutVerdict::kStored);
        if (!older) {
          model[decree] = {ballot, false};
          appends[sequence] = {decree, ballot};
        }
        ++sequence;
      } else if (!appends.empty()) {
        auto it = appends.begin();
        std::advance(it, static_cast<int64_t>(random() % appends.size()));
        list.MarkLogged(Decree(it->second.first), it->first);
        bool newest = true;
        for (auto& [s, a] : appends)
          newest = newest && !(s > it->first && a.first == it->second.first);
        if (newest && model.contains(it->second.first) &&
            model[it->second.first].first == it->second.second) {
          model[it->second.first].second = true;
        }
        if (newest) appends.erase(it);
      }
      if (random() % 4 == 0) {
        const int64_t through = committed + static_cast<int64_t>(random() % 6);
        list.CommitThrough(Decree(through));
        while (committed < through && model.contains(committed + 1) &&
               model[committed + 1].second && model[committed + 1].first >= committed_ballot) {
          committed_ballot = model[++committed].first;
        }
      }
      list.Check();
      ASSERT_EQ(list.last_committed(), Decree(committed));
      for (int64_t d = committed + 1; d <= committed + 10; ++d) {
        ASSERT_EQ(list.Find(Decree(d)) != nullptr, model.contains(d)) << d;
        ASSERT_EQ(list.IsLogged(Decree(d)), model.contains(d) && model[d].second) << d;
      }
    }
  }
}

}  // namespace
}  // namespace arion
