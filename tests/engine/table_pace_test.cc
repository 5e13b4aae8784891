// SPDX-License-Identifier: Apache-2.0
#include "engine/table_pace.h"

#include <gtest/gtest.h>

namespace arion {
namespace {

constexpr absl::Duration kTook = absl::Milliseconds(1);

Instant At(int64_t millis) { return Instant() + absl::Milliseconds(millis); }

TEST(TablePaceTest, WhereNoLogIsSyncedAFlushDoesNotRest) {
  TablePace pace;
  EXPECT_EQ(pace.RestAfter(kTook, 0, At(1)), absl::ZeroDuration());
  EXPECT_GT(pace.RestAfter(kTook, 5, At(2)), absl::ZeroDuration());
  EXPECT_EQ(pace.RestAfter(kTook, 5, At(40)), absl::ZeroDuration());
}

TEST(TablePaceTest, BesideLogsItRestsInProportionToWhatAPieceTookButNotLong) {
  TablePace pace;
  EXPECT_EQ(pace.RestAfter(kTook, 1, At(1)), TablePace::kRests * kTook);
  // Between two syncs, too.
  EXPECT_EQ(pace.RestAfter(kTook, 1, At(20)), TablePace::kRests * kTook);
  EXPECT_EQ(pace.RestAfter(absl::Seconds(1), 2, At(60)), TablePace::kRestMax);
}

}  // namespace
}  // namespace arion
