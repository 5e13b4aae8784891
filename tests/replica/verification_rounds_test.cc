// What a primary does with what members answer: Verification over members that a test scripts.
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <vector>

#include "verification/verification.h"

namespace arion {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Endpoint Node(int i) { return {0x0a000000u + static_cast<uint32_t>(i), 34801}; }

// Members count what they hold as soon as they are asked, unless `answer` says otherwise.
class VerificationRounds : public testing::Test {
 protected:
  VerificationRounds() {
    group_ = Verification::Group{
        .ballot = Ballot(3), .members = {Node(1), Node(2), Node(3)}, .last_prepared = Decree(10)};
    answer_ = [this](Endpoint member, const CountContentRequest&) {
      return Counted(sums_[member]);
    };
    run_ = std::make_shared<Verification>(
        PartitionId{2, 1}, 100,
        Verification::Hooks{
            .group = [this] { return group_; },
            .ask =
                [this](Endpoint member, const CountContentRequest& request, auto answered) {
                  if (request.verdict) told_.emplace_back(member, request);
                  if (!request.verdict) asked_.push_back(request);
                  if (errors_.contains(member)) return answered(errors_[member], {});
                  answered(ErrorCode::kOk,
                           request.verdict ? CountContentResponse{} : answer_(member, request));
                },
            .write_nothing = [this] { ++written_; },
            .now = [this] { return now_; },
            .wall_seconds = [] { return int64_t{5000}; },
            .margin_seconds = [] { return int64_t{3600}; },
            .after =
                [this](absl::Duration delay, absl::AnyInvocable<void()> then) {
                  tasks_.emplace(now_ + delay, std::move(then));
                },
            .done =
                [this](VerifyReplicasResponse result) {
                  result_ = std::move(result);
                  told_at_end_ = told_.size();
                }});
  }
  static CountContentResponse Counted(int64_t sum) {
    return {.state = CountState::kDone,
            .records = 1,
            .sum = sum,
            .ranges = std::vector<KeyRangeSum>{{"", 1, sum}}};
  }
  void Run(absl::Duration time) {
    const Instant end = now_ + time;
    while (!tasks_.empty() && tasks_.begin()->first <= end) {
      auto task = tasks_.extract(tasks_.begin());
      now_ = task.key();
      task.mapped()();
    }
    now_ = end;
  }
  std::vector<Endpoint> Told() const {
    std::vector<Endpoint> members;
    for (const auto& [member, request] : told_) members.push_back(member);
    return members;
  }

  Instant now_{1000};
  std::optional<Verification::Group> group_;
  std::map<Endpoint, int64_t> sums_ = {{Node(1), 7}, {Node(2), 7}, {Node(3), 7}};
  std::map<Endpoint, ErrorCode> errors_;
  std::function<CountContentResponse(Endpoint, const CountContentRequest&)> answer_;
  std::vector<CountContentRequest> asked_;
  std::vector<std::pair<Endpoint, CountContentRequest>> told_;
  size_t told_at_end_ = 0;
  int written_ = 0;
  std::multimap<Instant, absl::AnyInvocable<void()>> tasks_;
  std::optional<VerifyReplicasResponse> result_;
  std::shared_ptr<Verification> run_;
};

TEST_F(VerificationRounds, TheOthersHearTheVerdictBeforeThisOneDoes) {
  sums_[Node(1)] = 8;
  run_->Start();
  Run(absl::Seconds(5));
  ASSERT_TRUE(result_);
  EXPECT_EQ(result_->verdict, ContentVerdictKind::kMajority);
  EXPECT_THAT(Told(), ElementsAre(Node(2), Node(3), Node(1)));
  EXPECT_EQ(told_at_end_, 2u) << "the result is noted before it may set itself aside";
  EXPECT_EQ(told_.back().second.sum, 7);
}

TEST_F(VerificationRounds, WithoutAMajorityNoSumIsTold) {
  sums_[Node(1)] = 8;
  sums_[Node(2)] = 9;
  run_->Start();
  Run(absl::Seconds(5));
  ASSERT_TRUE(result_);
  EXPECT_EQ(result_->verdict, ContentVerdictKind::kUndecided);
  for (const auto& [member, request] : told_) EXPECT_FALSE(request.sum);
}

TEST_F(VerificationRounds, AMemberThatHasPassedTheDecreeIsAskedForOneFurtherAhead) {
  answer_ = [this](Endpoint member, const CountContentRequest& request) {
    if (member == Node(2) && request.decree < Decree(14))
      return CountContentResponse{.state = CountState::kMissed, .ranges = {}};
    return Counted(sums_[member]);
  };
  run_->Start();
  Run(absl::Seconds(10));
  ASSERT_TRUE(result_);
  EXPECT_EQ(result_->verdict, ContentVerdictKind::kEqual) << result_->why;
  EXPECT_EQ(asked_.front().decree, Decree(10)) << "where nobody writes: what is prepared";
  EXPECT_EQ(result_->decree, Decree(14));
}

TEST_F(VerificationRounds, WhereNobodyWritesAnEmptyWriteTellsThatTheDecreeIsCommitted) {
  answer_ = [this](Endpoint member, const CountContentRequest&) {
    if (written_ == 0 && member != Node(1))
      return CountContentResponse{.state = CountState::kWaiting, .ranges = {}};
    return Counted(sums_[member]);
  };
  run_->Start();
  Run(absl::Seconds(5));
  ASSERT_TRUE(result_);
  EXPECT_EQ(result_->verdict, ContentVerdictKind::kEqual) << result_->why;
  EXPECT_EQ(written_, 1);
}

TEST_F(VerificationRounds, UnderAnotherBallotItBeginsAnew) {
  answer_ = [this](Endpoint member, const CountContentRequest& request) {
    if (request.ballot == Ballot(3))
      return CountContentResponse{.state = CountState::kCounting, .ranges = {}};
    return Counted(sums_[member]);
  };
  run_->Start();
  Run(absl::Seconds(3));
  EXPECT_FALSE(result_);
  group_->ballot = Ballot(4);
  Run(absl::Seconds(5));
  ASSERT_TRUE(result_);
  EXPECT_EQ(result_->verdict, ContentVerdictKind::kEqual) << result_->why;
  for (const auto& [member, request] : told_) EXPECT_EQ(request.ballot, Ballot(4));
}

TEST_F(VerificationRounds, AServerOfAnOlderVersionIsSaidNotToBeVerified) {
  errors_[Node(3)] = ErrorCode::kHandlerNotFound;
  run_->Start();
  Run(absl::Seconds(5));
  ASSERT_TRUE(result_);
  EXPECT_EQ(result_->verdict, ContentVerdictKind::kUnverified);
  EXPECT_THAT(result_->why, HasSubstr("10.0.0.3:34801: its server is of a version"));
}

TEST_F(VerificationRounds, OneThatStaysSilentEndsNothingButItsOwnPart) {
  errors_[Node(3)] = ErrorCode::kTimeout;
  run_->Start();
  Run(absl::Seconds(10));
  EXPECT_FALSE(result_) << "it may come back";
  Run(absl::Seconds(30));
  ASSERT_TRUE(result_);
  EXPECT_EQ(result_->verdict, ContentVerdictKind::kUnverified);
  EXPECT_THAT(result_->why, HasSubstr("no answer"));
}

TEST_F(VerificationRounds, WhoIsNotPrimaryGivesUpInTheEnd) {
  group_.reset();
  run_->Start();
  Run(absl::Minutes(1));
  ASSERT_TRUE(result_);
  EXPECT_EQ(result_->verdict, ContentVerdictKind::kUnverified);
  EXPECT_TRUE(told_.empty());
}

}  // namespace
}  // namespace arion
