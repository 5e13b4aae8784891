// One primary's attempts, with members that answer as a test says.
// SPDX-License-Identifier: Apache-2.0
#include "splits/partition_split.h"

#include <gtest/gtest.h>

#include <deque>
#include <utility>
#include <vector>

#include "tests/pacifica/one_core.h"

namespace arion {
namespace {

using enum PartitionStatus;

class TestClock : public Clock {
 public:
  explicit TestClock(const Instant& now) : now_(now) {}
  Instant Now() const override { return now_; }
  int64_t WallMicros() const override { return 0; }

 private:
  const Instant& now_;
};

class PartitionSplitTest : public OneCoreTest {
 protected:
  struct Asked {
    Endpoint member;
    SplitMemberRequest request;
    PartitionSplit::Hooks::Answered answered;
  };

  PartitionSplitTest() {
    options_.app.partition_count = 4;
    Open();
    BecomePrimary();
    split_ = std::make_unique<PartitionSplit>(clock_, *core_, kB, Hooks());
  }

  PartitionSplit::Hooks Hooks() {
    return {.ask =
                [this](Endpoint member, const SplitMemberRequest& request,
                       PartitionSplit::Hooks::Answered answered) {
                  asked_.push_back({member, request, std::move(answered)});
                },
            .step =
                [this](const SplitTurn& turn) {
                  last_ = Step(turn);
                  if (split_->IsActive()) split_->Proceed();
                },
            .writes_are_idle = [this] { return are_writes_idle_; },
            .after =
                [this](absl::Duration delay, absl::AnyInvocable<void()> task) {
                  tasks_.emplace_back(now_ + delay, std::move(task));
                },
            .take_place = [this]() -> std::shared_ptr<void> {
              if (!has_place_) return nullptr;
              return std::make_shared<int>(0);
            },
            .activate = [this](const ConfigurationUpdateRequest& entry) { child_ = entry; },
            .sync_soon = [this] { ++syncs_; },
            .tag = [] { return std::string("[2.1]"); }};
  }

  void Want(SplitStatus status = SplitStatus::kSplitting) {
    ConfigurationUpdateRequest entry{.info = core_->app(), .config = core_->configuration()};
    entry.meta_split_status = static_cast<int32_t>(status);
    split_->NoteSync(entry);
    split_->Proceed();
  }
  // Answers all that was asked until now.
  void AnswerAll(SplitStep step, ErrorCode err = ErrorCode::kOk) {
    for (Asked& asked : std::exchange(asked_, {})) {
      EXPECT_EQ(asked.request.step, static_cast<int32_t>(step)) << asked.member;
      asked.answered(ErrorCode::kOk, {.err = err, .text = ""});
    }
  }
  void AnswerUpdateOf(const Effects& effects, ErrorCode err, int32_t count) {
    const auto* update = Sent<SendConfigurationUpdate>(effects);
    ASSERT_NE(update, nullptr);
    const bool is_accepted = err == ErrorCode::kOk;
    Step(ConfigurationUpdateAnswered{
        update->serial,
        ErrorCode::kOk,
        {err, Group(core_->ballot().value() + (is_accepted ? 1 : 0), kB, {kA, kC}), count}});
    split_->Proceed();
  }
  void Pass(absl::Duration time) {
    now_ = now_ + time;
    for (size_t i = 0; i < tasks_.size(); ++i)
      if (tasks_[i].first <= now_ && tasks_[i].second != nullptr)
        std::exchange(tasks_[i].second, nullptr)();
  }
  std::string Text() const { return split_->Text().value_or(""); }

  TestClock clock_{now_};
  std::unique_ptr<PartitionSplit> split_;
  std::vector<Asked> asked_;
  std::deque<std::pair<Instant, absl::AnyInvocable<void()>>> tasks_;
  Effects last_;
  bool are_writes_idle_ = true, has_place_ = true;
  std::optional<ConfigurationUpdateRequest> child_;
  int syncs_ = 0;
};

TEST_F(PartitionSplitTest, AnAttemptGoesThroughItsStepsToTheChild) {
  EXPECT_FALSE(split_->IsActive());
  EXPECT_EQ(split_->Text(), std::nullopt);
  Want();
  ASSERT_EQ(asked_.size(), 3) << "itself too";
  EXPECT_EQ(asked_[0].request.partition_count, 8);
  EXPECT_EQ(asked_[0].request.ballot, Ballot(8));
  EXPECT_EQ(Text(), "members make the child, 3 not yet");
  AnswerAll(SplitStep::kPrepare);
  EXPECT_TRUE(core_->IsHeldForSplit());
  ASSERT_EQ(asked_.size(), 3);
  EXPECT_EQ(asked_[0].request.decree, core_->marks().last_committed);
  AnswerAll(SplitStep::kComplete);
  EXPECT_EQ(Text(), "the child is being registered");
  AnswerUpdateOf(last_, ErrorCode::kOk, 8);
  ASSERT_TRUE(child_.has_value());
  EXPECT_EQ(child_->config.pid, (PartitionId{kTestPid.app_id, kTestPid.index + 4}));
  EXPECT_EQ(child_->config.ballot, Ballot(9));
  EXPECT_EQ(child_->config.primary, kB);
  EXPECT_EQ(child_->info.partition_count, 8);
  EXPECT_FALSE(split_->IsActive());
  EXPECT_EQ(split_->Text(), std::nullopt);
}

TEST_F(PartitionSplitTest, ItBeginsOnlyWithAWholeGroupAndAPlace) {
  Propose(ConfigType::kRemove, kC, Group(8, kB, {kA, kC}));
  Step(ConfigurationUpdateAnswered{core_->counters().configuration_updates > 0 ? 2u : 1u,
                                   ErrorCode::kOk,
                                   {ErrorCode::kOk, Group(9, kB, {kA}), 4}});
  has_place_ = false;
  Want();
  EXPECT_TRUE(asked_.empty());
  EXPECT_NE(Text().find("waits:"), std::string::npos) << Text();
}

TEST_F(PartitionSplitTest, OthersOfTheServerGoFirst) {
  has_place_ = false;
  Want();
  EXPECT_NE(Text().find("other partitions"), std::string::npos) << Text();
  has_place_ = true;
  Pass(PartitionSplit::kPauseMin);
  EXPECT_EQ(asked_.size(), 3);
}

TEST_F(PartitionSplitTest, AMemberOfAnOlderVersionIsNamed) {
  Want();
  asked_[1].answered(ErrorCode::kHandlerNotFound, {});
  EXPECT_NE(Text().find("older version"), std::string::npos) << Text();
  EXPECT_FALSE(core_->IsHeldForSplit());
  asked_.clear();
  Pass(PartitionSplit::kPauseMin);
  EXPECT_EQ(asked_.size(), 3) << "it may have been upgraded";
}

TEST_F(PartitionSplitTest, ALongRoundIsFollowedByAnother) {
  Want();
  now_ = now_ + 2 * PartitionSplit::kShortRound;
  AnswerAll(SplitStep::kPrepare);
  EXPECT_FALSE(core_->IsHeldForSplit());
  AnswerAll(SplitStep::kPrepare);
  EXPECT_TRUE(core_->IsHeldForSplit());
}

TEST_F(PartitionSplitTest, WhatIsUnderWayIsWaitedForButNotForLong) {
  are_writes_idle_ = false;
  Want();
  AnswerAll(SplitStep::kPrepare);
  EXPECT_TRUE(core_->IsHeldForSplit());
  EXPECT_TRUE(asked_.empty());
  Pass(PartitionSplit::kDrainMax);
  EXPECT_FALSE(core_->IsHeldForSplit());
  EXPECT_EQ(core_->WriteGate(), ErrorCode::kOk);
  EXPECT_EQ(core_->ballot(), Ballot(8)) << "no child was made";
}

TEST_F(PartitionSplitTest, WhoIsBusyIsAskedAgainAndGivenUpInTime) {
  Want();
  AnswerAll(SplitStep::kPrepare);
  const Asked late = asked_[2];
  AnswerAll(SplitStep::kComplete, ErrorCode::kBusy);
  Pass(PartitionSplit::kAskAgainSoon);
  ASSERT_EQ(asked_.size(), 3);
  now_ = now_ + PartitionSplit::kCompleteMax;
  AnswerAll(SplitStep::kComplete, ErrorCode::kBusy);
  EXPECT_FALSE(core_->IsHeldForSplit());
  EXPECT_EQ(core_->WriteGate(), ErrorCode::kOk);
  EXPECT_EQ(core_->ballot(), Ballot(8)) << "nobody was asked for the child";
  late.answered(ErrorCode::kOk, {});
  EXPECT_EQ(core_->role(), kPrimary) << "what comes late changes nothing";
  EXPECT_TRUE(asked_.empty());
  Pass(PartitionSplit::kPauseMin);
  ASSERT_EQ(asked_.size(), 3) << "the next attempt";
  EXPECT_EQ(asked_[0].request.ballot, Ballot(8));
}

TEST_F(PartitionSplitTest, APauseEndsTheAttempt) {
  Want();
  AnswerAll(SplitStep::kPrepare);
  Want(SplitStatus::kPaused);
  EXPECT_FALSE(core_->IsHeldForSplit());
  asked_.clear();
  Pass(PartitionSplit::kPauseMax);
  EXPECT_TRUE(asked_.empty());
}

// Seed 151800281: where nothing else changed the ballot the children stayed for ever.
TEST_F(PartitionSplitTest, WhatWasMadeForASplitThatIsCancelledIsOfNoUseByTheNextBallot) {
  Want();
  AnswerAll(SplitStep::kPrepare);
  Want(SplitStatus::kPaused);
  EXPECT_EQ(core_->role(), kPrimary) << "it may go on";
  EXPECT_FALSE(split_->IsActive());
  Want(SplitStatus::kNotSplit);
  AnswerUpdateOf(last_, ErrorCode::kOk, 4);
  EXPECT_EQ(core_->role(), kPrimary);
  EXPECT_EQ(core_->ballot(), Ballot(9));
  EXPECT_FALSE(split_->IsActive());
  // Nothing was made under this one.
  Want(SplitStatus::kNotSplit);
  EXPECT_EQ(core_->role(), kPrimary);
  EXPECT_EQ(core_->ballot(), Ballot(9));
}

TEST_F(PartitionSplitTest, ACancelEndsTheAttemptAndThenForgetsIt) {
  Want();
  AnswerAll(SplitStep::kPrepare);
  ASSERT_TRUE(core_->IsHeldForSplit());
  Want(SplitStatus::kNotSplit);
  EXPECT_FALSE(core_->IsHeldForSplit());
  split_->Proceed();
  AnswerUpdateOf(last_, ErrorCode::kOk, 4);
  EXPECT_EQ(core_->ballot(), Ballot(9));
  EXPECT_FALSE(split_->IsActive());
}

// An older copy of the meta server's state was put back.
TEST_F(PartitionSplitTest, WhatWasSplitBeforeIsNotSplitAgain) {
  ConfigurationUpdateRequest entry{.info = core_->app(), .config = core_->configuration()};
  entry.info.partition_count = 2;
  entry.meta_split_status = static_cast<int32_t>(SplitStatus::kSplitting);
  split_->NoteSync(entry);
  split_->Proceed();
  EXPECT_TRUE(asked_.empty());
  EXPECT_NE(Text().find("an older one"), std::string::npos) << Text();
}

TEST_F(PartitionSplitTest, AnotherBallotEndsItAndAsksWhetherItIsStillWanted) {
  Want();
  Step(GroupCheckReceived{1, {.config = From(kA, 9, kSecondary)}});
  ASSERT_EQ(core_->role(), kSecondary);
  AnswerAll(SplitStep::kPrepare);
  EXPECT_FALSE(child_.has_value());
  EXPECT_TRUE(asked_.empty());
}

TEST_F(PartitionSplitTest, ARefusalLeavesThePrimaryInOffice) {
  Want();
  AnswerAll(SplitStep::kPrepare);
  AnswerAll(SplitStep::kComplete);
  const auto* update = Sent<SendConfigurationUpdate>(last_);
  const Effects refused = Step(ConfigurationUpdateAnswered{
      update->serial, ErrorCode::kOk, {ErrorCode::kInvalidVersion, Group(8, kB, {kA, kC}), 4}});
  AnswerUpdateOf(refused, ErrorCode::kOk, 4);
  EXPECT_EQ(core_->role(), kPrimary);
  EXPECT_EQ(core_->ballot(), Ballot(9));
  EXPECT_FALSE(child_.has_value());
  split_->Proceed();
  EXPECT_GT(syncs_, 0) << "whether it is still wanted";
}

}  // namespace
}  // namespace arion
