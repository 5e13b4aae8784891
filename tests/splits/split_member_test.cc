// One member's part, with an engine in memory and a server that is played.
// SPDX-License-Identifier: Apache-2.0
#include "splits/split_member.h"

#include <gtest/gtest.h>

#include <optional>

#include "engine/memory_engine.h"
#include "env/file_system.h"
#include "sim/sim_environment.h"
#include "tests/pacifica/one_core.h"

namespace arion {
namespace {

class SplitMemberTest : public OneCoreTest, public Children {
 protected:
  SplitMemberTest() {
    options_.app.partition_count = 4;
    env_.RunInPool([&] {
      engine_ = *engines_.Open("/d1/2.1.pegasus/data");
      for (int64_t decree = 1; decree <= 11; ++decree)
        EXPECT_TRUE(engine_->Apply(Decree(decree), 0, {}).ok());
    });
    Open();
    GroupCheckReceived check{1, {}};
    check.request.config = From(kA, 8, PartitionStatus::kSecondary);
    check.request.last_committed_decree = Decree(11);
    Step(check);
    EXPECT_EQ(core_->role(), PartitionStatus::kSecondary);
    member_ = std::make_unique<SplitMember>(
        strand_, kTestPid, 1, *core_, engine_,
        SplitMember::Hooks{.owner = [this] { return std::weak_ptr<void>(alive_); },
                           .maintain =
                               [this](auto work, auto then) {
                                 absl::Status done;
                                 env_.RunInPool([&] { done = work(*engine_); });
                                 then(done);
                               },
                           .read_history =
                               [this](Decree first, Decree through, SplitMember::OnMutations then) {
                                 if (!log_error_.ok()) return then(log_error_);
                                 std::vector<MutationPtr> read;
                                 for (const MutationPtr& m : log_)
                                   if (m->decree >= first && m->decree <= through)
                                     read.push_back(m);
                                 then(read);
                               },
                           .now = [this] { return now_; },
                           .tag = [] { return std::string("[2.1]"); }});
    member_->SetChildren(std::shared_ptr<Children>(std::shared_ptr<void>(), this));
  }

  // ---- the server ----
  void LookForChild(const ChildSeed& seed, OnState done) override {
    looked_for_ = seed;
    done(state_, held_);
  }
  void MakeChild(ChildSeed seed) override { made_ = std::move(seed); }
  void GiveTail(PartitionId, ParentTail tail) override { given_.push_back(std::move(tail)); }
  void ActivateChild(const ConfigurationUpdateRequest&) override {}
  void SyncSoon() override {}

  // Everything up to that decree is in the parent's log, and committed.
  void Commit(int64_t through) {
    for (int64_t decree = 12; decree <= through; ++decree) {
      const MutationPtr m = MakeMutation(8, decree, decree - 1, "k");
      PrepareReceived prepare{1, {.config = From(kA, 8, PartitionStatus::kSecondary)}};
      prepare.request.pid = kTestPid;
      prepare.request.mutation = m;
      const Effects effects = Step(prepare);
      ASSERT_EQ(effects.append.size(), 1);
      Step(Logged{effects.append[0].sequence});
      log_.push_back(m);
    }
    GroupCheckReceived check{1, {}};
    check.request.config = From(kA, 8, PartitionStatus::kSecondary);
    check.request.last_committed_decree = Decree(through);
    Step(check);
    ASSERT_EQ(core_->marks().last_committed, Decree(through));
  }
  std::vector<int64_t> Given() const {
    std::vector<int64_t> decrees;
    for (const ParentTail& tail : given_)
      for (const MutationPtr& m : tail.mutations)
        if (decrees.empty() || m->decree.value() > decrees.back())
          decrees.push_back(m->decree.value());
    return decrees;
  }

  SplitMemberResponse Ask(SplitStep step, int64_t decree = 11, int64_t ballot = 8,
                          int32_t count = 8) {
    std::optional<SplitMemberResponse> answer;
    env_.RunOn(strand_, [&] {
      member_->Answer({.pid = kTestPid,
                       .ballot = Ballot(ballot),
                       .step = static_cast<int32_t>(step),
                       .partition_count = count,
                       .decree = Decree(decree)},
                      [&](SplitMemberResponse response) { answer = std::move(response); });
    });
    world_.RunFor(absl::Milliseconds(10));
    return answer.value_or(SplitMemberResponse{.err = ErrorCode::kTimeout});
  }

  sim::SimWorld world_{7};
  sim::SimNode& node_ = world_.AddNode("r");
  sim::SimEnvironment& env_ = node_.Start();
  StrandPtr strand_ = env_.NewStrand("replica");
  MemoryEngineFactory engines_{env_, {}};
  std::shared_ptr<Engine> engine_;
  std::shared_ptr<int> alive_ = std::make_shared<int>(0);
  std::unique_ptr<SplitMember> member_;
  ChildState state_ = ChildState::kNone;
  Decree held_;
  std::optional<ChildSeed> looked_for_, made_;
  std::vector<MutationPtr> log_;
  absl::Status log_error_;
  std::vector<ParentTail> given_;
};

TEST_F(SplitMemberTest, TheChildIsMadeOfWhatIsThereAndCatchesUp) {
  EXPECT_EQ(Ask(SplitStep::kPrepare).err, ErrorCode::kBusy) << "begun";
  ASSERT_TRUE(made_.has_value());
  EXPECT_EQ(made_->pid, (PartitionId{kTestPid.app_id, kTestPid.index + 4}));
  EXPECT_EQ(made_->ballot, Ballot(8));
  EXPECT_EQ(made_->decree, Decree(11));
  EXPECT_EQ(made_->app.partition_count, 8);
  EXPECT_EQ(made_->data_directory, 1);
  EXPECT_TRUE(env_.files().Stat(made_->checkpoint).ok()) << made_->checkpoint;
  state_ = ChildState::kOpen;
  held_ = Decree(11);
  EXPECT_EQ(Ask(SplitStep::kPrepare).err, ErrorCode::kOk);
  EXPECT_EQ(Ask(SplitStep::kComplete).err, ErrorCode::kOk);
}

// split_member/S1
TEST_F(SplitMemberTest, ItIsCompleteAtThatDecreeOnly) {
  Commit(13);
  state_ = ChildState::kOpen;
  held_ = Decree(11);
  EXPECT_EQ(Ask(SplitStep::kPrepare, 13).err, ErrorCode::kOk) << "a little may be lacking";
  EXPECT_EQ(Ask(SplitStep::kComplete, 12).err, ErrorCode::kBusy);
  EXPECT_EQ(Given(), std::vector<int64_t>{12}) << "no more than it was told";
  EXPECT_EQ(Ask(SplitStep::kComplete, 13).err, ErrorCode::kBusy);
  EXPECT_EQ(Given(), (std::vector<int64_t>{12, 13}));
  ASSERT_FALSE(given_.empty());
  EXPECT_EQ(given_[0].ballot, Ballot(8));
  EXPECT_EQ(given_[0].mutations[0]->pid.index, kTestPid.index + 4);
  held_ = Decree(12);
  EXPECT_EQ(Ask(SplitStep::kComplete, 13).err, ErrorCode::kBusy) << "it has not logged it yet";
  held_ = Decree(13);
  EXPECT_EQ(Ask(SplitStep::kComplete, 13).err, ErrorCode::kOk);
  EXPECT_EQ(Ask(SplitStep::kComplete, 12).err, ErrorCode::kInvalidState) << "it has more";
}

TEST_F(SplitMemberTest, WhatIsNotCommittedHereYetIsWaitedFor) {
  state_ = ChildState::kOpen;
  held_ = Decree(11);
  EXPECT_EQ(Ask(SplitStep::kComplete, 12).err, ErrorCode::kBusy);
  EXPECT_TRUE(given_.empty());
}

TEST_F(SplitMemberTest, ALargeLagIsMadeUpForBeforeWritesWait) {
  Commit(11 + 2 * SplitMember::kLagMax);
  state_ = ChildState::kOpen;
  held_ = Decree(11);
  EXPECT_EQ(Ask(SplitStep::kPrepare).err, ErrorCode::kBusy);
  EXPECT_EQ(given_.size(), 1);
  held_ = Decree(11 + SplitMember::kLagMax);
  EXPECT_EQ(Ask(SplitStep::kPrepare).err, ErrorCode::kOk);
}

TEST_F(SplitMemberTest, ItsLogIsKeptForTheChildWhileSomebodyAsks) {
  EXPECT_EQ(member_->LogNeeded(), std::nullopt);
  Ask(SplitStep::kPrepare);
  EXPECT_EQ(member_->LogNeeded(), Decree(11));
  state_ = ChildState::kOpen;
  held_ = Decree(10);
  Ask(SplitStep::kPrepare);
  EXPECT_EQ(member_->LogNeeded(), Decree(10));
  now_ = now_ + SplitMember::kLogKept;
  EXPECT_EQ(member_->LogNeeded(), std::nullopt);
  held_ = Decree(11);
  Ask(SplitStep::kComplete);
  EXPECT_EQ(member_->LogNeeded(), std::nullopt) << "it has all";
}

TEST_F(SplitMemberTest, ALogThatCannotBeReadIsTold) {
  Commit(12);
  log_error_ = absl::DataLossError("damaged");
  state_ = ChildState::kOpen;
  held_ = Decree(11);
  EXPECT_EQ(Ask(SplitStep::kComplete, 12).err, ErrorCode::kBusy);
  const SplitMemberResponse told = Ask(SplitStep::kComplete, 12);
  EXPECT_EQ(told.err, ErrorCode::kInvalidState);
  EXPECT_EQ(told.text, "damaged");
}

// A split that is paused for long, while the log moves on (seed 139400968).
TEST_F(SplitMemberTest, AChildThatTheLogHasLeftBehindIsMadeAnew) {
  Commit(12);
  log_error_ = absl::OutOfRangeError("dropped");
  state_ = ChildState::kOpen;
  held_ = Decree(11);
  EXPECT_EQ(Ask(SplitStep::kComplete, 12).err, ErrorCode::kBusy);
  EXPECT_EQ(Ask(SplitStep::kComplete, 12).err, ErrorCode::kInvalidState) << "writes wait";
  EXPECT_EQ(looked_for_->useless_at, std::nullopt);
  state_ = ChildState::kBusy;
  EXPECT_EQ(Ask(SplitStep::kPrepare, 12).err, ErrorCode::kBusy);
  EXPECT_EQ(looked_for_->useless_at, Decree(11)) << "it is to be put away";
  state_ = ChildState::kNone;
  EXPECT_EQ(Ask(SplitStep::kPrepare, 12).err, ErrorCode::kBusy);
  EXPECT_TRUE(made_.has_value());
  state_ = ChildState::kOpen;
  EXPECT_EQ(Ask(SplitStep::kPrepare, 12).err, ErrorCode::kOk);
  EXPECT_EQ(looked_for_->useless_at, std::nullopt) << "it may end there by chance";
}

TEST_F(SplitMemberTest, AnotherBallotOrCountIsRefused) {
  EXPECT_EQ(Ask(SplitStep::kPrepare, 11, 7).err, ErrorCode::kInvalidState);
  EXPECT_EQ(Ask(SplitStep::kPrepare, 11, 9).err, ErrorCode::kInvalidState);
  EXPECT_EQ(Ask(SplitStep::kComplete, 11, 8, 4).err, ErrorCode::kInvalidState);
  EXPECT_EQ(Ask(SplitStep::kComplete, 11, 8, 16).err, ErrorCode::kInvalidState);
  EXPECT_FALSE(looked_for_.has_value());
}

TEST_F(SplitMemberTest, WhatIsThereAlreadyIsLookedAtFirst) {
  for (const SplitStep step : {SplitStep::kPrepare, SplitStep::kComplete}) {
    state_ = ChildState::kBusy;
    EXPECT_EQ(Ask(step).err, ErrorCode::kBusy);
    state_ = ChildState::kOther;
    EXPECT_EQ(Ask(step).err, ErrorCode::kInvalidState) << "a late request touches no later child";
  }
  EXPECT_FALSE(made_.has_value());
}

TEST_F(SplitMemberTest, AStepThatNobodyKnowsIsRefused) {
  EXPECT_EQ(Ask(static_cast<SplitStep>(7)).err, ErrorCode::kInvalidParameters);
}

}  // namespace
}  // namespace arion
