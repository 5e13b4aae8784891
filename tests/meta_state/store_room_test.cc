// SPDX-License-Identifier: Apache-2.0
#include "meta_state/store_room.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "meta_state/cluster_warning.h"

namespace arion {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(StoreWarningTest, SaysNothingWhileAllIsStored) {
  EXPECT_FALSE(StoreWarning({.available_bytes = 0}, absl::OkStatus())) << "not looked at yet";
}

TEST(StoreWarningTest, OfAFullDiskItSaysWhatIsRefusedAndWhatGoesOn) {
  StoreRoom room{.path = "/m", .reserve_bytes = 3 << 20, .is_short = true};
  auto warning = StoreWarning(room, absl::OkStatus());
  ASSERT_TRUE(warning);
  EXPECT_EQ(warning->kind, "meta_disk_full");
  EXPECT_THAT(warning->problem, HasSubstr("its disk is full (/m, 0.0 MiB available)"));
  EXPECT_THAT(warning->problem, HasSubstr("failovers go on with a reserve of 3.0 MiB"));
  EXPECT_THAT(warning->way, HasSubstr("make room"));

  room.reserve_bytes = 0;
  EXPECT_THAT(StoreWarning(room, absl::OkStatus())->problem, HasSubstr("a little room is left"));
  warning = StoreWarning(room, absl::ResourceExhaustedError("no space"));
  EXPECT_THAT(warning->problem, HasSubstr("no failover can be stored"));
  EXPECT_THAT(warning->problem, Not(HasSubstr("go on")));
}

TEST(StoreWarningTest, OfADiskThatFailsItSaysWhetherItIsTriedAgain) {
  auto warning = StoreWarning({}, absl::UnavailableError("read-only"));
  ASSERT_TRUE(warning);
  EXPECT_EQ(warning->kind, "state_not_stored");
  EXPECT_THAT(warning->problem, HasSubstr("can't store its state now: read-only"));
  EXPECT_THAT(warning->way, HasSubstr("tries again"));
  warning = StoreWarning({}, absl::DataLossError("sync failed"));
  EXPECT_THAT(warning->problem, HasSubstr("any more: sync failed"));
  EXPECT_THAT(warning->way, HasSubstr("start it anew"));
  warning =
      StoreWarning({.reserve_bytes = 1, .is_short = true}, absl::DataLossError("sync failed"));
  EXPECT_EQ(warning->kind, "state_not_stored") << "room is of no use to it";
}

}  // namespace
}  // namespace arion
