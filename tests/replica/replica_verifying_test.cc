// A replica's part in verifications by itself; with its server: verification_test.cc,
// verification_rounds_test.cc. SPDX-License-Identifier: Apache-2.0
#include "replica/replica_verifying.h"
#include "data_api/apply_queue.h"
#include "verification/content_count.h"

#include <vector>

#include "tests/replica/part_world.h"

namespace arion {
namespace {

class ReplicaVerifyingTest : public PartWorld {
 protected:
  ReplicaVerifyingTest() {
    applies_ = std::make_shared<ApplyQueue>(strand_, ApplyQueue::Hooks{});
    verifying_.emplace(host_, kPart, 0, *core_, *office_, *work_, *applies_, engine_,
                       ReplicaVerifying::Hooks{
                           .call = [](Endpoint, const char*, const std::string&, absl::Duration,
                                      const auto&) { ADD_FAILURE() << "there is no other member"; },
                           .write_nothing = [this] { ++empty_writes_; },
                           .fence = [this](const std::string& why) { fenced_.push_back(why); },
                           .tag = [] { return std::string("[2.1]"); }});
  }
  CountContentRequest Question() const {
    return {.pid = kPart,
            .ballot = core_->ballot(),
            .primary = core_->primary(),
            .run = 5,
            .decree = engine_->last_applied(),
            .now = int64_t{ExpiryNow(env_.clock())},
            .margin = ContentCount::kMarginSecondsMin};
  }
  CountContentResponse Ask(const CountContentRequest& question) {
    CountContentResponse answer;
    Do([&] { answer = verifying_->Count(question); });
    return answer;
  }
  VerifyReplicasResponse Tool(VerifyAction action) {
    VerifyReplicasResponse answer;
    Do([&] { answer = verifying_->Answer({.pid = kPart, .action = action}); });
    return answer;
  }

  std::shared_ptr<ApplyQueue> applies_;
  std::optional<ReplicaVerifying> verifying_;
  int empty_writes_ = 0;
  std::vector<std::string> fenced_;
};

TEST_F(ReplicaVerifyingTest, WhoIsNoMemberCountsNothingAndStartsNothing) {
  EXPECT_EQ(Ask(Question()).err, ErrorCode::kInvalidState);
  EXPECT_EQ(Tool(VerifyAction::kStart).err, ErrorCode::kInvalidState);
}

TEST_F(ReplicaVerifyingTest, AMemberCountsUnderItsBallotOnly) {
  MakePrimary();
  CountContentRequest question = Question();
  question.ballot = question.ballot + 1;
  EXPECT_EQ(Ask(question).err, ErrorCode::kInvalidState);
  EXPECT_EQ(Ask(Question()).err, ErrorCode::kOk);
  Run(absl::Minutes(1));
  EXPECT_EQ(Ask(Question()).state, CountState::kDone);
}

TEST_F(ReplicaVerifyingTest, WhoKnowsAnotherPartitionCountIsNotCompared) {
  MakePrimary();
  CountContentRequest question = Question();
  question.partition_count = core_->app().partition_count * 2;
  EXPECT_EQ(Ask(question).state, CountState::kRefused);
  question.partition_count = core_->app().partition_count;
  EXPECT_NE(Ask(question).state, CountState::kRefused);
}

TEST_F(ReplicaVerifyingTest, AClockFarFromThePrimarysIsRefused) {
  MakePrimary();
  CountContentRequest question = Question();
  question.now += 10 * ContentCount::kClocksApartSeconds;
  EXPECT_EQ(Ask(question).state, CountState::kRefused);
}

TEST_F(ReplicaVerifyingTest, OnlyWhoDiffersFromTheMajorityIsFenced) {
  MakePrimary();
  CountContentRequest verdict = Question();
  for (const int64_t records : {0, 1}) {
    verdict.verdict.reset();
    Ask(verdict);
    Run(absl::Minutes(1));
    const CountContentResponse counted = Ask(verdict);
    ASSERT_EQ(counted.state, CountState::kDone);
    verdict.verdict = ContentVerdictKind::kMajority;
    verdict.records = counted.records + records;
    verdict.sum = counted.sum;
    Ask(verdict);
    Run(absl::Seconds(1));
    EXPECT_EQ(fenced_.size(), static_cast<size_t>(records));
    ++verdict.run;
  }
}

TEST_F(ReplicaVerifyingTest, APrimaryVerifiesWhenItIsAsked) {
  MakePrimary();
  EXPECT_EQ(Tool(VerifyAction::kStart).err, ErrorCode::kOk);
  Run(absl::Minutes(2));
  EXPECT_NE(Tool(VerifyAction::kQuery).state, VerificationState::kRunning);
  EXPECT_TRUE(fenced_.empty());
}

TEST_F(ReplicaVerifyingTest, NothingIsCountedAfterTheEnd) {
  MakePrimary();
  Ask(Question());
  Do([&] {
    office_->Close();
    work_->Close();
    verifying_->Close();
  });
  EXPECT_EQ(Ask(Question()).err, ErrorCode::kInvalidState);
  Run(absl::Minutes(1));
}

}  // namespace
}  // namespace arion
