// SPDX-License-Identifier: Apache-2.0
#include "disks/directory_rest.h"

#include <gtest/gtest.h>

namespace arion {
namespace {

constexpr absl::Duration kMax = absl::Seconds(5);

class DirectoryRestTest : public testing::Test {
 protected:
  void Fail(int times) {
    for (int i = 0; i < times; ++i) rest_.OnSetAside(now_, kMax);
  }
  bool RestsAfter(absl::Duration later) { return rest_.IsResting(now_ + later); }

  DirectoryRest rest_;
  Instant now_ = Instant() + absl::Hours(1);
};

TEST_F(DirectoryRestTest, AFewFailuresAreThoseOfSingleFiles) {
  Fail(DirectoryRest::kFree);
  EXPECT_FALSE(RestsAfter(absl::ZeroDuration()));
}

TEST_F(DirectoryRestTest, EachFurtherOneDoublesTheRestUpToTheMost) {
  Fail(DirectoryRest::kFree + 1);
  EXPECT_TRUE(RestsAfter(absl::Milliseconds(999)));
  EXPECT_FALSE(RestsAfter(absl::Seconds(1)));
  Fail(2);
  EXPECT_TRUE(RestsAfter(absl::Milliseconds(3999)));
  EXPECT_FALSE(RestsAfter(absl::Seconds(4)));
  Fail(100);
  EXPECT_TRUE(RestsAfter(kMax - absl::Milliseconds(1)));
  EXPECT_FALSE(RestsAfter(kMax));
}

TEST_F(DirectoryRestTest, LongAgoIsForgotten) {
  Fail(10);
  now_ = now_ + DirectoryRest::kForgotten + absl::Seconds(1);
  Fail(1);
  EXPECT_FALSE(RestsAfter(absl::ZeroDuration()));
}

}  // namespace
}  // namespace arion
