// A primary's split, as its core lives it: writes wait, the child is asked for under the next
// ballot, and the partition's count changes with that ballot and never falls.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "tests/pacifica/one_core.h"

namespace arion {
namespace {

using enum PartitionStatus;
using enum SplitTurn::What;

class SplitTurnsTest : public OneCoreTest {
 protected:
  SplitTurnsTest() {
    options_.app.partition_count = 4;
    Open();
    BecomePrimary();
  }
  Effects Turn(SplitTurn::What what) { return Step(SplitTurn{what}); }
  // Asks for the child.
  SendConfigurationUpdate Register() {
    Turn(kHold);
    Turn(kSeal);
    const Effects effects = Turn(SplitTurn::What::kRegister);
    const auto* update = Sent<SendConfigurationUpdate>(effects);
    EXPECT_NE(update, nullptr);
    return update == nullptr ? SendConfigurationUpdate() : *update;
  }
  Effects Answer(uint64_t serial, ErrorCode err, int64_t ballot, int32_t count) {
    return Step(ConfigurationUpdateAnswered{
        serial, ErrorCode::kOk, {err, Group(ballot, kB, {kA, kC}), count}});
  }
  AppInfo App(int32_t count, int64_t version) const {
    AppInfo app = options_.app;
    app.partition_count = count;
    app.version = version;
    return app;
  }
};

TEST_F(SplitTurnsTest, WritesWaitAndReadsDoNot) {
  Turn(kHold);
  EXPECT_TRUE(core_->IsHeldForSplit());
  EXPECT_TRUE(core_->IsReconfiguring()) << "so clients' writes are held";
  EXPECT_EQ(core_->WriteGate(), ErrorCode::kInvalidState);
  EXPECT_EQ(core_->ReadGate(ReadKind::kPrimaryOnly), ErrorCode::kOk);
  Turn(kRelease);
  EXPECT_EQ(core_->WriteGate(), ErrorCode::kOk);
}

TEST_F(SplitTurnsTest, MembersAreToldWhereTheChildBeginsAndNothingFollows) {
  Turn(kHold);
  const Effects sealed = Turn(kSeal);
  int told = 0;
  for (const Envelope& envelope : sealed.send)
    told += std::holds_alternative<SendGroupCheck>(envelope);
  EXPECT_EQ(told, 2);
  const Effects late = Write(10);
  ASSERT_EQ(late.client_replies.size(), 1);
  EXPECT_EQ(late.client_replies[0].err, ErrorCode::kInvalidState);
  EXPECT_TRUE(late.append.empty());
}

TEST_F(SplitTurnsTest, TheCountComesWithTheNextBallot) {
  const SendConfigurationUpdate update = Register();
  EXPECT_EQ(update.request.type, ConfigType::kRegisterChild);
  EXPECT_EQ(update.request.node, kB);
  EXPECT_EQ(update.request.info.partition_count, 4);
  EXPECT_EQ(update.request.child_decree, core_->marks().last_committed);
  EXPECT_EQ(update.request.config.ballot, Ballot(9));
  EXPECT_EQ(core_->role(), kInactive);
  Answer(update.serial, ErrorCode::kOk, 9, 8);
  EXPECT_EQ(core_->role(), kPrimary);
  EXPECT_EQ(core_->app().partition_count, 8);
  EXPECT_EQ(core_->WriteGate(), ErrorCode::kOk);
}

// A copy of the first request may come as late as it likes.
TEST_F(SplitTurnsTest, AChildThatIsRefusedCostsABallot) {
  for (const ErrorCode refusal :
       {ErrorCode::kInvalidVersion, ErrorCode::kStateFreezed, ErrorCode::kFileOperationFailed}) {
    Open();
    BecomePrimary();
    const Effects refused = Answer(Register().serial, refusal, 8, 4);
    EXPECT_EQ(core_->role(), kInactive) << "it does not go on under that ballot";
    const auto* next = Sent<SendConfigurationUpdate>(refused);
    ASSERT_NE(next, nullptr);
    EXPECT_EQ(next->request.type, ConfigType::kPrimaryForceUpdateBallot);
    EXPECT_EQ(next->request.config.ballot, Ballot(9));
    Answer(next->serial, ErrorCode::kOk, 9, 4);
    EXPECT_EQ(core_->role(), kPrimary);
    EXPECT_EQ(core_->app().partition_count, 4);
  }
}

// The first request was accepted and its answer lost: the second one looks like its repetition.
TEST_F(SplitTurnsTest, WhatTheAnswerSaysOfTheCountIsBelieved) {
  const Effects refused = Answer(Register().serial, ErrorCode::kStateFreezed, 8, 4);
  Answer(Sent<SendConfigurationUpdate>(refused)->serial, ErrorCode::kOk, 9, 8);
  EXPECT_EQ(core_->app().partition_count, 8);
}

TEST_F(SplitTurnsTest, AnAttemptThatIsGivenUpLeavesThePrimaryInOffice) {
  Turn(kHold);
  Turn(kSeal);
  EXPECT_TRUE(Turn(kRelease).send.empty());
  EXPECT_EQ(core_->ballot(), Ballot(8));
  EXPECT_EQ(core_->WriteGate(), ErrorCode::kOk);
  EXPECT_EQ(Write(10).append.size(), 1);
}

TEST_F(SplitTurnsTest, AChangeOfTheGroupEndsTheHold) {
  Turn(kHold);
  Propose(ConfigType::kRemove, kC, Group(8, kB, {kA, kC}));
  EXPECT_FALSE(core_->IsHeldForSplit());
  EXPECT_TRUE(Turn(kSeal).send.empty());
  EXPECT_EQ(Sent<SendConfigurationUpdate>(Turn(SplitTurn::What::kRegister)), nullptr);
}

// The balancer moves the primary while a write of it does not commit (seed 138000968).
TEST_F(SplitTurnsTest, SteppingDownEndsTheHold) {
  Write(10);
  Turn(kHold);
  Propose(ConfigType::kDowngradeToSecondary, kB, Group(8, kB, {kA, kC}));
  EXPECT_TRUE(core_->IsHeldForSplit());
  now_ = now_ + options_.hand_over_patience;
  Step(Tick{});
  EXPECT_EQ(core_->role(), kInactive);
  EXPECT_FALSE(core_->IsHeldForSplit());
}

TEST_F(SplitTurnsTest, TheLostLeaseEndsTheHoldForGood) {
  Turn(kHold);
  Turn(kSeal);
  Step(LeaseLost{});
  Step(Connected{});
  Sync(Group(8, kB, {kA, kC}));
  EXPECT_EQ(core_->role(), kPrimary);
  EXPECT_FALSE(core_->IsHeldForSplit());
  EXPECT_EQ(core_->WriteGate(), ErrorCode::kOk);
}

TEST_F(SplitTurnsTest, TheCountNeverFalls) {
  Step(TableChanged{App(8, 5)});
  EXPECT_EQ(core_->app().partition_count, 8);
  Step(TableChanged{App(4, 6)});  // of before this partition was split
  EXPECT_EQ(core_->app().partition_count, 8);
  EXPECT_EQ(core_->app().version, 6);
}

// By a wrong one this partition would own none of its keys.
TEST_F(SplitTurnsTest, ACountThatNoSplitGivesIsIgnored) {
  Open();
  for (const int32_t count : {-1, 0, 5, 6, 12, 0x7fffffff}) {
    Step(TableChanged{App(count, 5)});
    EXPECT_EQ(core_->app().partition_count, 4) << count;
    GroupCheckReceived check{1, {}};
    check.request.app = App(count, 5);
    check.request.config = From(kA, 9, kSecondary);
    Step(check);
    EXPECT_EQ(core_->app().partition_count, 4) << count;
  }
  Step(TableChanged{App(16, 6)});  // of a table that was split twice
  EXPECT_EQ(core_->app().partition_count, 16);
}

// It is the table's, and that of none of its partitions yet.
TEST_F(SplitTurnsTest, TheCountToComeOfAnOlderMetaServerIsNotTakenOver) {
  ConfigurationSynced synced;
  synced.entry.info = App(8, 5);
  synced.entry.config = Group(8, kB, {kA, kC});
  synced.entry.meta_split_status = 1;
  Step(synced);
  EXPECT_EQ(core_->app().partition_count, 4);
}

TEST_F(SplitTurnsTest, AMemberHearsOfTheCountWithItsPrimarysCheck) {
  Open();
  GroupCheckReceived check{1, {}};
  check.request.app = App(8, 5);
  check.request.config = From(kA, 9, kSecondary);
  Step(check);
  EXPECT_EQ(core_->role(), kSecondary);
  EXPECT_EQ(core_->app().partition_count, 8);
}

using SplitTurnsDeathTest = SplitTurnsTest;

TEST_F(SplitTurnsDeathTest, NoChildBeginsWhileSomethingIsUnderWay) {
  Write(10);
  Turn(kHold);
  EXPECT_FALSE(core_->IsQuiet());
  EXPECT_DEATH(Turn(kSeal), "invariants/R17");
}

// ---- a child before it is registered

class ParentTailTest : public OneCoreTest {
 protected:
  ParentTailTest() {
    options_.prepare_list_span_max = options_.mutations_in_flight_max = 4;
    Open();
  }
  Effects Give(int64_t first, int64_t last, int64_t ballot = 7) {
    ParentTail tail{.ballot = Ballot(ballot)};
    for (int64_t d = first; d <= last; ++d)
      tail.mutations.push_back(MakeMutation(ballot, d, d - 1, "k"));
    return Step(tail);
  }
  Decree committed() const { return core_->marks().last_committed; }
};

TEST_F(ParentTailTest, WhatItIsGivenIsCommittedOnceItIsLogged) {
  ASSERT_EQ(core_->role(), kInactive);
  const Effects given = Give(12, 13);
  ASSERT_EQ(given.append.size(), 2);
  EXPECT_TRUE(given.apply.empty());
  Step(Logged{given.append[0].sequence});
  EXPECT_EQ(committed(), Decree(12)) << "what it holds durably";
  EXPECT_EQ(Step(Logged{given.append[1].sequence}).apply.size(), 1);
  EXPECT_EQ(committed(), Decree(13));
}

TEST_F(ParentTailTest, WhatItHasIsNotTakenTwiceAndNothingBehindAHole) {
  const Effects given = Give(12, 13);
  EXPECT_EQ(Give(12, 14).append.size(), 1);
  EXPECT_TRUE(Give(16, 17).append.empty());
  for (const LogAppend& append : given.append) Step(Logged{append.sequence});
  EXPECT_EQ(committed(), Decree(13));
}

TEST_F(ParentTailTest, ItTakesNoMoreThanItsListHolds) { EXPECT_EQ(Give(12, 30).append.size(), 4); }

TEST_F(ParentTailTest, OnceItHasAConfigurationItTakesNone) {
  EXPECT_TRUE(Give(12, 12, 6).append.empty()) << "of another attempt";
  Step(GroupCheckReceived{1, {.config = From(kA, 8, kSecondary)}});
  EXPECT_TRUE(Give(12, 12, 7).append.empty());
  EXPECT_TRUE(Give(12, 12, 8).append.empty());
}

}  // namespace
}  // namespace arion
