// SPDX-License-Identifier: Apache-2.0
#include "base/strong_int.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>

namespace arion {
namespace {

using Number = StrongInt<struct NumberTag>;
constexpr int64_t kLeast = std::numeric_limits<int64_t>::min();
constexpr int64_t kMost = std::numeric_limits<int64_t>::max();

TEST(StrongIntTest, SumsAndDifferencesAreThoseOfInt64) {
  EXPECT_EQ(Number(5) + 3, Number(8));
  EXPECT_EQ(Number(5) - 8, Number(-3));
  EXPECT_EQ(Number(5) - Number(8), -3);
  Number number(5);
  EXPECT_EQ(++number, Number(6));
}

TEST(StrongIntTest, NothingGoesBeyondTheEnds) {
  EXPECT_EQ(Number(kMost) + 1, Number(kMost));
  EXPECT_EQ(Number(kLeast) - 1, Number(kLeast));
  EXPECT_EQ(Number(kLeast) + -1, Number(kLeast));
  EXPECT_EQ(Number(kMost) - -1, Number(kMost));
  EXPECT_EQ(Number(kMost) - Number(kLeast), kMost);
  EXPECT_EQ(Number(kLeast) - Number(kMost), kLeast);
  Number number(kMost);
  EXPECT_EQ(++number, Number(kMost));
}

}  // namespace
}  // namespace arion
