// SPDX-License-Identifier: Apache-2.0
#include "base/repeated_lines.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace arion {
namespace {

using Lines = std::vector<std::string>;

class RepeatedLinesTest : public testing::Test {
 protected:
  Lines Said() { return std::exchange(said_, {}); }
  Instant After(absl::Duration time) { return Instant() + time; }

  Lines said_;
  RepeatedLines lines_{[this](const std::string& line) { said_.push_back(line); }};
};

TEST_F(RepeatedLinesTest, WhatIsMetForManyIsSaidWhenItBeginsAndWhenItEnds) {
  for (int second = 0; second < 100; ++second)
    for (int i = 0; i < 400; ++i) lines_.Met(After(absl::Seconds(second)), "no room", "[2.7]");
  lines_.Look(After(absl::Seconds(130)));
  EXPECT_EQ(Said(), Lines{"[2.7] no room"});
  lines_.Look(After(absl::Seconds(160)));
  lines_.Look(After(absl::Seconds(170)));
  EXPECT_EQ(Said(), Lines{"no more: no room; 40000 times in 1m39s"});
  lines_.Met(After(absl::Seconds(200)), "no room", "[2.8]");
  EXPECT_EQ(Said(), Lines{"[2.8] no room"});
}

TEST_F(RepeatedLinesTest, WhatLastsIsSaidEveryTenMinutesWithACount) {
  for (int second = 0; second <= 1300; ++second)
    lines_.Met(After(absl::Seconds(second)), "no room", "[2.7]");
  EXPECT_EQ(Said(), (Lines{"[2.7] no room", "[2.7] no room; 601 times in 10m",
                           "[2.7] no room; 1201 times in 20m"}));
}

TEST_F(RepeatedLinesTest, AnotherConditionIsSaidAtOnceAndASingleOneNeedsNoEnd) {
  lines_.Met(After(absl::Seconds(1)), "no room", "[2.7]");
  lines_.Met(After(absl::Seconds(2)), "no leave", "[2.7]");
  EXPECT_EQ(Said(), (Lines{"[2.7] no room", "[2.7] no leave"}));
  lines_.Look(After(absl::Seconds(100)));
  EXPECT_EQ(Said(), Lines{});
}

}  // namespace
}  // namespace arion
