// SPDX-License-Identifier: Apache-2.0
#include "base/nearest_name.h"

#include <gtest/gtest.h>

namespace arion {
namespace {

TEST(NearestNameTest, ASlipOfTheHandFindsItsName) {
  EXPECT_EQ(NearestName("durabilty", {"lease", "durability"}), "durability");
  EXPECT_EQ(NearestName("lsae", {"lease", "durability"}), "lease");
}

TEST(NearestNameTest, AnotherWordFindsNone) {
  EXPECT_EQ(NearestName("colour", {"lease", "durability"}), "");
  EXPECT_EQ(NearestName("", {}), "");
}

}  // namespace
}  // namespace arion
