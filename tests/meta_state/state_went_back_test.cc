// SPDX-License-Identifier: Apache-2.0
#include "meta_state/state_went_back.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "meta_overview/cluster_overview.h"
#include "tests/meta/one_partition.h"

namespace arion {
namespace {

using testing::HasSubstr;
using testing::Not;

class StateWentBackTest : public OnePartitionTest {
 protected:
  StateWentBackTest() {
    Members(kA, {kB, kC});
    table().info.app_name = "temp";
    table().info.version = 7;
  }
  Table& table() { return state_.tables[1]; }
  void Knows(Endpoint node, int64_t ballot, std::optional<int64_t> version) {
    Reports(node, {.ballot = Ballot(ballot), .table_version = version});
  }
};

TEST_F(StateWentBackTest, WhoKnowsWhatIsStoredOrLessShowsNothing) {
  Knows(kA, 5, 7);
  Knows(kB, 4, 6);
  Knows(kC, 5, std::nullopt);
  Knows(kD, kBallotMax.value() + 1, 7);  // damaged
  EXPECT_FALSE(StateWentBack(state_));
}

TEST_F(StateWentBackTest, ALargerBallotShowsItAlsoWhenItIsCaughtUp) {
  state_.nodes[kA].collected = false;
  Knows(kB, 6, 7);
  auto warning = StateWentBack(state_);
  ASSERT_TRUE(warning);
  EXPECT_EQ(warning->kind, "state_went_back");
  EXPECT_EQ(warning->count, 1);
  EXPECT_THAT(warning->problem, HasSubstr("servers knew larger ballots of 1.0 than"));
  EXPECT_THAT(warning->problem, HasSubstr(kB.ToString()));
  EXPECT_THAT(warning->problem, HasSubstr("environments"));
  EXPECT_THAT(warning->problem, HasSubstr("1 partition waits (1.0: a larger ballot than is stored "
                                          "was shown, and not every server"));
  EXPECT_THAT(warning->way, HasSubstr("get_app_envs"));
  EXPECT_THAT(warning->way, HasSubstr("recover -s SERVER"));
  partition().config.ballot = Ballot(7);
  Knows(kB, 6, 7);
  warning = StateWentBack(state_);
  ASSERT_TRUE(warning);
  EXPECT_THAT(warning->problem, Not(HasSubstr("waits")));
  EXPECT_THAT(warning->way, Not(HasSubstr("recover -s")));
  EXPECT_EQ(OverviewOf(state_, FunctionLevel::kSteady, 2).warnings, std::vector{*warning});
}

TEST_F(StateWentBackTest, ALaterDescriptionOfATableShowsIt) {
  Knows(kB, 5, 8);
  ASSERT_TRUE(StateWentBack(state_));
  EXPECT_THAT(StateWentBack(state_)->problem, HasSubstr("servers knew later descriptions of temp"));
  table().info.version.reset();
  Knows(kC, 6, 8);
  EXPECT_THAT(StateWentBack(state_)->problem,
              HasSubstr("larger ballots of 1.0 and later descriptions of temp"));
  EXPECT_EQ(StateWentBack(state_)->count, 1) << "tables";
}

TEST_F(StateWentBackTest, ItIsSaidForADaySinceItWasShownLast) {
  Knows(kB, 5, 8);
  now_ = now_ + absl::Hours(23);
  Knows(kB, 5, 8);
  now_ = now_ + absl::Hours(23);
  ForgetWhatWentBack(state_, now_);
  EXPECT_TRUE(StateWentBack(state_));
  ForgetWhatWentBack(state_, now_ + absl::Hours(2));
  EXPECT_FALSE(StateWentBack(state_));
}

TEST_F(StateWentBackTest, WhatWasDoubtfulWhenTheStateWasLearnedIsSaidForADay) {
  state_.learned_back = {.at = now_, .doubts = {"one", "two", "three", "four"}};
  const auto warning = StateLearnedBack(state_);
  ASSERT_TRUE(warning);
  EXPECT_EQ(warning->count, 4);
  EXPECT_THAT(warning->problem, HasSubstr("doubtful: one, two, three and 1 more"));
  EXPECT_EQ(OverviewOf(state_, FunctionLevel::kSteady, 2).warnings, std::vector{*warning});
  ForgetWhatWentBack(state_, now_ + absl::Hours(25));
  EXPECT_FALSE(StateLearnedBack(state_));
}

}  // namespace
}  // namespace arion
