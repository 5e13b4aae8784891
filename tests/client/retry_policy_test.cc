// SPDX-License-Identifier: Apache-2.0
#include "client/retry_policy.h"
#include "env/environment.h"

#include <gtest/gtest.h>

#include <set>

namespace arion {
namespace {

using Verdict = AttemptVerdict;

// retry_policy/K2, from the other side: the whole list of errors that say "not done".
TEST(RetryPolicy, OnlyRefusalsLeaveNothingBehind) {
  const std::set<ErrorCode> refusals = {ErrorCode::kObjectNotFound,
                                        ErrorCode::kInvalidState,
                                        ErrorCode::kInactiveState,
                                        ErrorCode::kServiceNotActive,
                                        ErrorCode::kParentPartitionMisused,
                                        ErrorCode::kNotEnoughMember,
                                        ErrorCode::kCapacityExceeded,
                                        ErrorCode::kBusy,
                                        ErrorCode::kSplitting,
                                        ErrorCode::kDiskInsufficient,
                                        ErrorCode::kOperationDisabled,
                                        ErrorCode::kHandlerNotFound,
                                        ErrorCode::kAclDeny,
                                        ErrorCode::kUnauthenticated,
                                        ErrorCode::kInvalidParameters};
  for (int i = 1; i < kErrorCodeCount; ++i) {
    const auto error = static_cast<ErrorCode>(i);
    EXPECT_EQ(JudgeAttempt(error).effect == Verdict::Effect::kNone, refusals.contains(error))
        << error;
  }
}

TEST(RetryPolicy, AWrongServerIsForgottenAndTheOperationTriedAgain) {
  for (ErrorCode error : {ErrorCode::kObjectNotFound, ErrorCode::kInvalidState, ErrorCode::kTimeout,
                          ErrorCode::kNetworkFailure}) {
    EXPECT_EQ(JudgeAttempt(error).routes, Verdict::Routes::kForgetPartition) << error;
    EXPECT_EQ(JudgeAttempt(error).next, Verdict::Next::kRetry) << error;
  }
  EXPECT_EQ(JudgeAttempt(ErrorCode::kParentPartitionMisused).routes, Verdict::Routes::kForgetTable);
}

TEST(RetryPolicy, TheRightServerIsAskedAgainWithoutLookup) {
  for (ErrorCode error : {ErrorCode::kNotEnoughMember, ErrorCode::kCapacityExceeded}) {
    EXPECT_EQ(JudgeAttempt(error).routes, Verdict::Routes::kKeep) << error;
    EXPECT_EQ(JudgeAttempt(error).next, Verdict::Next::kRetry) << error;
  }
}

TEST(RetryPolicy, ABusyServerIsLeftAlone) {
  for (ErrorCode error : {ErrorCode::kBusy, ErrorCode::kSplitting, ErrorCode::kDiskInsufficient}) {
    EXPECT_EQ(JudgeAttempt(error).next, Verdict::Next::kGiveUp) << error;
    EXPECT_EQ(JudgeAttempt(error).refusal, absl::StatusCode::kResourceExhausted) << error;
  }
}

class Fixed : public Random {
 public:
  explicit Fixed(uint64_t value) : value_(value) {}
  uint64_t Next() override { return value_; }

 private:
  const uint64_t value_;
};

TEST(RetryPolicy, PausesDoubleUpToTheMostAndAreSpread) {
  const RetryPause pause{.first = absl::Milliseconds(8), .most = absl::Seconds(1)};
  Fixed none(0);
  EXPECT_EQ(PauseAfter(1, pause, none), absl::Milliseconds(8));
  EXPECT_EQ(PauseAfter(2, pause, none), absl::Milliseconds(16));
  EXPECT_EQ(PauseAfter(7, pause, none), absl::Milliseconds(512));
  EXPECT_EQ(PauseAfter(8, pause, none), absl::Seconds(1));
  EXPECT_EQ(PauseAfter(1000000, pause, none), absl::Seconds(1));
  Fixed most(4000000);  // half of 8 ms, in nanoseconds
  EXPECT_EQ(PauseAfter(1, pause, most), absl::Milliseconds(4));
}

TEST(RetryPolicy, AGonePrimaryIsLookedForMoreOftenThanABusyOneIsAsked) {
  const RetryPause pause;
  Fixed none(0);
  EXPECT_EQ(PauseAfter(20, pause, none), absl::Seconds(1));
  EXPECT_EQ(PauseAfter(20, pause.WithoutPrimary(), none), absl::Milliseconds(100));
  const RetryPause short_one{.most = absl::Milliseconds(16)};
  EXPECT_EQ(short_one.WithoutPrimary().most, absl::Milliseconds(16)) << "never longer";
}

}  // namespace
}  // namespace arion
