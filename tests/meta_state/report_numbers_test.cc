// SPDX-License-Identifier: Apache-2.0
#include "meta_state/report_numbers.h"

#include <gtest/gtest.h>

namespace arion {
namespace {

TEST(ReportNumbersTest, GivesEachOnce) {
  ReportNumbers numbers(7);
  EXPECT_EQ(numbers.last(), 7);
  EXPECT_EQ(numbers.Next(), 8);
  EXPECT_EQ(numbers.Next(), 9);
  EXPECT_EQ(numbers.last(), 9);
}

}  // namespace
}  // namespace arion
