// SPDX-License-Identifier: Apache-2.0
#include "sim_older/old_prepare_list.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace arion::sim {
namespace {

using Entry = OldPrepareList::Entry;
using Decrees = std::vector<int64_t>;

class OldPrepareListTest : public testing::Test {
 protected:
  static Entry Of(int64_t decree, int64_t ballot = 1, bool is_logged = true) {
    return {.mutation = std::make_shared<Mutation>(
                Mutation{.ballot = Ballot(ballot), .decree = Decree(decree)}),
            .is_logged = is_logged};
  }
  OldPrepareList::Fault Put(Entry entry) { return list_.Put(std::move(entry)); }
  void PutAll(int64_t first, int64_t last) {
    for (int64_t d = first; d <= last; ++d) ASSERT_FALSE(Put(Of(d)).has_value()) << d;
  }
  OldPrepareList::Fault CommitHard(int64_t through) {
    return list_.CommitHard(Decree(through), [this](Entry& entry) { Note(entry); });
  }
  void CommitSoft(int64_t through) {
    list_.CommitSoft(Decree(through), [this](Entry& entry) { Note(entry); });
  }
  void CommitReady() {
    list_.CommitReady([this](Entry& entry) { Note(entry); });
  }
  void Note(Entry& entry) { applied_.push_back(entry.mutation->decree.value()); }

  OldPrepareList list_{/*span_max=*/4};
  Decrees applied_;
};

TEST_F(OldPrepareListTest, AnEmptyOneStandsWhereItIsCommitted) {
  list_.Reset(Decree(7));
  EXPECT_TRUE(list_.IsEmpty());
  EXPECT_EQ(list_.min(), Decree(7));
  EXPECT_EQ(list_.max(), Decree(7));
  EXPECT_EQ(list_.Find(Decree(7)), nullptr);
}

TEST_F(OldPrepareListTest, RoomIsMadeAmongWhatIsCommittedAndNothingElse) {
  PutAll(1, 4);
  EXPECT_TRUE(Put(Of(5)).has_value()) << "1 is not committed";
  CommitSoft(1);
  EXPECT_TRUE(Put(Of(5)).has_value()) << "the last that is committed stays";
  CommitSoft(2);
  EXPECT_FALSE(Put(Of(5)).has_value());
  EXPECT_EQ(list_.min(), Decree(2));
  EXPECT_EQ(list_.max(), Decree(5));
}

TEST_F(OldPrepareListTest, ASmallerBallotInADecreesPlaceIsAFault) {
  EXPECT_FALSE(Put(Of(1, 3)).has_value());
  EXPECT_TRUE(Put(Of(1, 2)).has_value());
  EXPECT_EQ(list_.Find(Decree(1))->mutation->ballot, Ballot(3));
  EXPECT_FALSE(Put(Of(1, 3)).has_value()) << "the same again";
  EXPECT_FALSE(Put(Of(1, 4)).has_value());
  EXPECT_TRUE(list_.Find(Decree(1))->was_logged);
}

TEST_F(OldPrepareListTest, WhatIsCommittedHardMustBeThereLoggedAndInOrder) {
  PutAll(1, 2);
  EXPECT_FALSE(CommitHard(2).has_value());
  EXPECT_EQ(applied_, (Decrees{1, 2}));
  EXPECT_TRUE(CommitHard(3).has_value()) << "3 is not here";
  ASSERT_FALSE(Put(Of(3, 1, /*is_logged=*/false)).has_value());
  EXPECT_TRUE(CommitHard(3).has_value()) << "3 is not logged";
  EXPECT_EQ(list_.committed(), Decree(2));
}

// A primary that was deposed while it logged again what others knew to be committed.
TEST_F(OldPrepareListTest, AnotherVersionThatIsBeingLoggedIsWaitedFor) {
  PutAll(1, 1);
  ASSERT_FALSE(Put(Of(1, 2, /*is_logged=*/false)).has_value());
  EXPECT_FALSE(CommitHard(1).has_value());
  EXPECT_TRUE(applied_.empty());
  list_.Find(Decree(1))->is_logged = true;
  EXPECT_FALSE(CommitHard(1).has_value());
  EXPECT_EQ(applied_, Decrees{1});
}

TEST_F(OldPrepareListTest, BallotsOfWhatIsCommittedNeverFall) {
  ASSERT_FALSE(Put(Of(1, 3)).has_value());
  ASSERT_FALSE(Put(Of(2, 2)).has_value());
  CommitSoft(2);
  EXPECT_EQ(applied_, Decrees{1});
  EXPECT_TRUE(CommitHard(2).has_value());
  list_.Reset(Decree(1));
  ASSERT_FALSE(Put(Of(2, 2)).has_value());
  CommitSoft(2);
  EXPECT_EQ(applied_, (Decrees{1, 2})) << "another history";
}

TEST_F(OldPrepareListTest, WhoIsWaitedForHoldsWhatFollowsToo) {
  PutAll(1, 3);
  list_.Find(Decree(2))->secondaries.insert({1, 34801});
  CommitReady();
  EXPECT_EQ(applied_, Decrees{1});
  list_.Find(Decree(2))->secondaries.clear();
  list_.Find(Decree(3))->learners.insert({2, 34801});
  CommitReady();
  EXPECT_EQ(applied_, (Decrees{1, 2}));
}

TEST_F(OldPrepareListTest, WhatIsTruncatedIsGoneAndTheRestStays) {
  PutAll(1, 4);
  list_.Truncate(Decree(2));
  EXPECT_EQ(list_.committed(), Decree(2));
  EXPECT_EQ(list_.min(), Decree(3));
  EXPECT_EQ(list_.max(), Decree(4));
  CommitSoft(9);
  EXPECT_EQ(applied_, (Decrees{3, 4}));
}

}  // namespace
}  // namespace arion::sim
