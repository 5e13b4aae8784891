// SPDX-License-Identifier: Apache-2.0
#include "pacifica/secondary.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "tests/pacifica/roles.h"

namespace arion {
namespace {

using enum PartitionStatus;

// ---- by hand ----

using SecondaryDeathTest = RolesTest;

TEST_F(SecondaryDeathTest, WhatWaitsForAMembersLogIsOfItsBallot) {
  s_.role = kSecondary;
  s_.primary = NodeAt('B');
  secondary_.Prepare(1, {.mutation = MakeMutation(7, 1, 0, "a")});
  secondary_.Check();
  s_.ballot = Ballot(8);
  EXPECT_DEATH(secondary_.Check(), "invariants/R4");
  s_.ballot = Ballot(7);
  s_.role = kPrimary;
  EXPECT_DEATH(secondary_.Check(), "invariants/R4");
  s_.role = kSecondary;
  s_.list.MarkLogged(Decree(1), 1);
  EXPECT_DEATH(secondary_.Check(), "invariants/R4: logged");
}

class SecondaryTest : public RolesTest {
 protected:
  SecondaryTest() {
    s_.role = kSecondary;
    s_.primary = NodeAt('B');
  }
  Secondary::Verdict Prepare(ReplyToken token, int64_t decree, int64_t committed) {
    return secondary_.Prepare(token, {.mutation = MakeMutation(7, decree, committed, "a")});
  }
  void Log(uint64_t sequence) {
    const Decree decree = s_.TakeLogged(sequence);
    if (decree != kInvalidDecree) secondary_.OnLogged(decree);
  }
  // Tokens that were answered since the last call, with what.
  std::vector<std::pair<ReplyToken, ErrorCode>> Answers() {
    std::vector<std::pair<ReplyToken, ErrorCode>> answers;
    for (const PeerReply& reply : std::exchange(s_.effects.replies, {}))
      answers.emplace_back(reply.token, std::get<PrepareAck>(reply.body).err);
    return answers;
  }
  using Answered = std::vector<std::pair<ReplyToken, ErrorCode>>;
};

TEST_F(SecondaryTest, NothingIsAcknowledgedBeforeItIsLogged) {
  Prepare(1, 1, 0);
  EXPECT_TRUE(Answers().empty());
  secondary_.Check();
  Log(1);
  EXPECT_EQ(Answers(), (Answered{{1, ErrorCode::kOk}}));
  EXPECT_EQ(s_.list.last_committed(), Decree(0)) << "the primary has not said so";
}

TEST_F(SecondaryTest, ARepeatedPrepareIsAnsweredTogetherWithTheFirst) {
  Prepare(1, 1, 0);
  Prepare(2, 1, 0);
  EXPECT_EQ(s_.effects.append.size(), 1u);
  Log(1);
  EXPECT_EQ(Answers(), (Answered{{1, ErrorCode::kOk}, {2, ErrorCode::kOk}}));
  Prepare(3, 1, 0);
  EXPECT_EQ(Answers(), (Answered{{3, ErrorCode::kOk}})) << "logged: at once";
  EXPECT_EQ(s_.counters.duplicate_prepares, 2);
}

TEST_F(SecondaryTest, PreparesMayOvertakeEachOther) {
  Prepare(2, 2, 0);
  Prepare(1, 1, 0);
  Log(1);
  EXPECT_EQ(Answers(), (Answered{{2, ErrorCode::kOk}}));
  EXPECT_EQ(s_.list.last_logged(), Decree(0)) << "1 is still a hole in the log";
  Log(2);
  EXPECT_EQ(Answers(), (Answered{{1, ErrorCode::kOk}}));
  EXPECT_EQ(s_.list.last_logged(), Decree(2));
}

TEST_F(SecondaryTest, TheCommittedPointFollowsThePrimaryAsFarAsTheLogGoes) {
  Prepare(1, 1, 0);
  Prepare(2, 2, 1);
  EXPECT_EQ(s_.list.last_committed(), Decree(0)) << "not logged";
  Log(1);
  EXPECT_EQ(s_.list.last_committed(), Decree(1)) << "the goal was known";
  EXPECT_EQ(secondary_.LearnCommitted(Decree(2), Ballot(7)), Secondary::Verdict::kFine);
  EXPECT_EQ(s_.list.last_committed(), Decree(1));
  Log(2);
  EXPECT_EQ(s_.list.last_committed(), Decree(2));
}

TEST_F(SecondaryTest, WhatTheGroupHasCommittedAndIsNotHereMakesItLeave) {
  EXPECT_EQ(Prepare(1, 3, 2), Secondary::Verdict::kLostEntries);
  EXPECT_EQ(Answers(), (Answered{{1, ErrorCode::kInvalidState}}));
  EXPECT_TRUE(s_.effects.append.empty());
}

TEST_F(SecondaryTest, AnUnprovenOneAlsoLeavesForAVersionThatTheGroupGaveUp) {
  s_.list.Put(MakeMutation(5, 1, 0, "old"), PrepareList::LogState::kLogged, 0);
  EXPECT_EQ(secondary_.LearnCommitted(Decree(1), Ballot(5)), Secondary::Verdict::kFine);
  s_.list.Put(MakeMutation(5, 2, 1, "old"), PrepareList::LogState::kLogged, 0);
  EXPECT_EQ(secondary_.LearnCommitted(Decree(2), Ballot(6)), Secondary::Verdict::kLostEntries);
  s_.is_proven = true;
  EXPECT_EQ(secondary_.LearnCommitted(Decree(2), Ballot(6)), Secondary::Verdict::kFine);
}

TEST_F(SecondaryTest, APrepareTooFarAheadIsRefused) {
  s_.list.Reset(Decree(0));
  Prepare(1, s_.options.prepare_list_span_max + 1, 0);
  EXPECT_EQ(Answers(), (Answered{{1, ErrorCode::kCapacityExceeded}}));
  EXPECT_EQ(s_.counters.odd_messages, 1);
}

TEST_F(SecondaryTest, RequestsOfAnOldBallotAreDropped) {
  Prepare(1, 1, 0);
  s_.ballot = Ballot(8);
  secondary_.DropWaiting();
  secondary_.Check();
  EXPECT_EQ(s_.effects.dropped, std::vector<ReplyToken>{1});
  Log(1);
  EXPECT_TRUE(Answers().empty());
}

TEST_F(SecondaryTest, WhoHoldsAllThatItsPrimaryHadPreparedIsProven) {
  Prepare(1, 1, 0);
  secondary_.NotePrimaryHolds(Decree(1));
  EXPECT_FALSE(s_.is_proven) << "not logged";
  Log(1);
  EXPECT_TRUE(s_.is_proven);
}

TEST_F(SecondaryTest, AnOlderVersionProvesNothing) {
  s_.list.Put(MakeMutation(6, 1, 0, "old"), PrepareList::LogState::kLogged, 0);
  secondary_.NotePrimaryHolds(Decree(1));
  EXPECT_FALSE(s_.is_proven);
}

}  // namespace
}  // namespace arion
