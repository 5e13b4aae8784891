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
                           .catch_up = [] {},
                           .tag = [] { return std::string("[2.1]"); }});
    member_->SetChildren(std::shared_ptr<Children>(std::shared_ptr<void>(), this));
  }

  // ---- the server ----
  void LookForChild(const ChildSeed& seed, OnState done) override {
    looked_for_ = seed;
    done(state_);
  }
  void MakeChild(ChildSeed seed) override { made_ = std::move(seed); }
  void ActivateChild(const ConfigurationUpdateRequest&) override {}
  void SyncSoon() override {}

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
  std::optional<ChildSeed> looked_for_, made_;
};

TEST_F(SplitMemberTest, TheChildIsMadeOfWhatIsAppliedUpToThatDecree) {
  EXPECT_EQ(Ask(SplitStep::kPrepare).err, ErrorCode::kOk);
  EXPECT_FALSE(made_.has_value());
  EXPECT_EQ(Ask(SplitStep::kMakeChild).err, ErrorCode::kBusy) << "begun";
  ASSERT_TRUE(made_.has_value());
  EXPECT_EQ(made_->pid, (PartitionId{kTestPid.app_id, kTestPid.index + 4}));
  EXPECT_EQ(made_->ballot, Ballot(8));
  EXPECT_EQ(made_->decree, Decree(11));
  EXPECT_EQ(made_->app.partition_count, 8);
  EXPECT_EQ(made_->data_directory, 1);
  EXPECT_TRUE(env_.files().Stat(made_->checkpoint).ok()) << made_->checkpoint;
  state_ = ChildState::kMade;
  EXPECT_EQ(Ask(SplitStep::kMakeChild).err, ErrorCode::kOk);
}

// split_member/S1
TEST_F(SplitMemberTest, WhoHasNotAppliedThatFarMakesNone) {
  EXPECT_EQ(Ask(SplitStep::kMakeChild, 12).err, ErrorCode::kBusy);
  EXPECT_FALSE(made_.has_value());
}

TEST_F(SplitMemberTest, WhoHasAppliedMoreMakesNone) {
  EXPECT_EQ(Ask(SplitStep::kMakeChild, 10).err, ErrorCode::kBusy);
  EXPECT_FALSE(made_.has_value());
  const SplitMemberResponse told = Ask(SplitStep::kMakeChild, 10);
  EXPECT_EQ(told.err, ErrorCode::kInvalidState);
  EXPECT_NE(told.text.find("decree 11"), std::string::npos) << told.text;
}

TEST_F(SplitMemberTest, AnotherBallotOrCountIsRefused) {
  EXPECT_EQ(Ask(SplitStep::kPrepare, 11, 7).err, ErrorCode::kInvalidState);
  EXPECT_EQ(Ask(SplitStep::kPrepare, 11, 9).err, ErrorCode::kInvalidState);
  EXPECT_EQ(Ask(SplitStep::kMakeChild, 11, 8, 4).err, ErrorCode::kInvalidState);
  EXPECT_EQ(Ask(SplitStep::kMakeChild, 11, 8, 16).err, ErrorCode::kInvalidState);
  EXPECT_FALSE(looked_for_.has_value());
}

TEST_F(SplitMemberTest, WhatIsThereAlreadyIsLookedAtFirst) {
  for (const SplitStep step : {SplitStep::kPrepare, SplitStep::kMakeChild}) {
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
