// When a mutation passed its stages, and how long each took. SPDX-License-Identifier: Apache-2.0
#include "stats/write_times.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace arion {
namespace {

TEST(WriteTimesTest, StagesAreAllOfTheTime) {
  WriteTimes times;
  times.Appended(Decree(7), 3, Instant(150));
  EXPECT_EQ(times.Find(Decree(7)), nullptr);
  times.Durable(3, Instant(170), Instant(300));
  times.Committed(Decree(7), Instant(350));
  ASSERT_NE(times.Find(Decree(7)), nullptr);
  EXPECT_THAT(StagesOf(*times.Find(Decree(7)), Instant(100), Instant(360), Instant(365)),
              testing::ElementsAre(50, 20, 130, 50, 10, 5));
  times.Appended(Decree(7 + WriteTimes::kRemembered), 4, Instant(400));
  EXPECT_EQ(times.Find(Decree(7)), nullptr) << "its place is taken";
}

TEST(WriteTimesTest, AMutationAppendedAgainIsTimedAnew) {
  WriteTimes times;
  times.Appended(Decree(7), 3, Instant(150));
  times.Durable(3, Instant(170), Instant(300));
  times.Appended(Decree(7), 4, Instant(500));
  times.Committed(Decree(7), Instant(520));
  EXPECT_EQ(times.Find(Decree(7)), nullptr) << "not durable again yet";
  times.Durable(4, Instant(510), Instant(530));
  EXPECT_THAT(StagesOf(*times.Find(Decree(7)), Instant(490), Instant(540), Instant(540)),
              testing::ElementsAre(10, 10, 20, 0, 10, 0));
}

TEST(WriteTimesTest, OneThatWasNeverAppendedHereIsNotKnown) {
  WriteTimes times;
  times.Durable(3, Instant(170), Instant(300));
  times.Committed(Decree(7), Instant(350));
  EXPECT_EQ(times.Find(Decree(7)), nullptr) << "never primary";
  times.Appended(Decree(7), 3, Instant(150));
  times.Durable(3, Instant(170), Instant(300));
  times.Committed(Decree(7 + WriteTimes::kRemembered), Instant(350));
  EXPECT_EQ(times.Find(Decree(7)), nullptr) << "another decree in its place was committed";
}

TEST(WriteTimesTest, TheFirstWordThatItIsDurableCounts) {
  WriteTimes times;
  times.Appended(Decree(7), 3, Instant(150));
  times.Durable(3, Instant(170), Instant(300));
  times.Durable(3, Instant(900), Instant(999));
  times.Committed(Decree(7), Instant(350));
  EXPECT_EQ(times.Find(Decree(7))->submitted, Instant(170));
  EXPECT_EQ(times.Find(Decree(7))->durable, Instant(300));
}

}  // namespace
}  // namespace arion
