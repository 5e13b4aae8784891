// SPDX-License-Identifier: Apache-2.0
#include "sim_cluster/troubles.h"

#include "tests/sim_cluster/small_cluster.h"

namespace arion::sim {
namespace {

class TroublesTest : public SmallCluster {};

TEST_F(TroublesTest, AtMostThreeLastAtATime) {
  for (int i = 0; i < 3; ++i) {
    EXPECT_FALSE(troubles_.AreTooMany());
    troubles_.LastFor(absl::Seconds(10));
  }
  EXPECT_TRUE(troubles_.AreTooMany());
  world_.RunFor(absl::Seconds(11));
  EXPECT_FALSE(troubles_.AreTooMany());
}

TEST_F(TroublesTest, ItIsCalmWhenAllAreUpAndNothingLasts) {
  EXPECT_FALSE(troubles_.IsCalm());
  StartAll();
  EXPECT_TRUE(troubles_.IsCalm());
  bool has_ended = false;
  troubles_.LastFor(absl::Seconds(2), [&has_ended] { has_ended = true; });
  EXPECT_FALSE(troubles_.IsCalm());
  world_.RunFor(absl::Seconds(3));
  EXPECT_TRUE(has_ended);
  EXPECT_TRUE(troubles_.IsCalm());
}

TEST_F(TroublesTest, NothingBeginsForAWhileWhenACopyIsLost) {
  EXPECT_TRUE(troubles_.MayBegin());
  troubles_.LoseCopyOf(server(0));
  EXPECT_TRUE(groups_.HasLostCopy());
  EXPECT_TRUE(server(0).lost_copy);
  EXPECT_FALSE(troubles_.MayBegin());
  world_.RunFor(absl::Seconds(45));
  EXPECT_TRUE(troubles_.MayBegin());
}

TEST_F(TroublesTest, AFaultThatCouldNotBeIsNotCounted) {
  troubles_.Count(Fault::kDiskLost);
  troubles_.Discount(Fault::kDiskLost);
  EXPECT_EQ(troubles_.CountOf(Fault::kDiskLost), 0);
  EXPECT_EQ(troubles_.NumberNext(), 1);
  EXPECT_EQ(troubles_.NumberNext(), 2);
  EXPECT_EQ(troubles_.drawn(), 2);
}

}  // namespace
}  // namespace arion::sim
