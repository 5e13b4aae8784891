// SPDX-License-Identifier: Apache-2.0
#include "tools/shell/copy/copy_rate.h"

#include <gtest/gtest.h>

namespace arion::shell {
namespace {

TEST(CopyRateTest, RecordsOrBytes) {
  EXPECT_EQ(CopyRate::Parse("5000")->most, 5000);
  EXPECT_EQ(CopyRate::Parse("5000")->unit, CopyRate::Unit::kRecords);
  for (const auto& [text, bytes] :
       {std::pair("100B", 100.0), {"2KiB", 2048.0}, {"3MiB", 3.0 * (1 << 20)}}) {
    EXPECT_EQ(CopyRate::Parse(text)->most, bytes) << text;
    EXPECT_EQ(CopyRate::Parse(text)->unit, CopyRate::Unit::kBytes) << text;
  }
  for (const char* text : {"", "0", "-1", "MiB", "1.5MiB", "5k", "20MB", "5000/s", "0KiB"})
    EXPECT_TRUE(absl::IsInvalidArgument(CopyRate::Parse(text).status())) << text;
}

// How many records may go in that time, asked for as fast as possible.
int64_t Gone(CopyPace& pace, absl::Time from, absl::Duration time, int64_t bytes = 0) {
  int64_t gone = 0;
  for (absl::Time now = from; now < from + time; now += absl::Milliseconds(1)) {
    while (pace.next() <= now) {
      pace.Take(1, bytes, now);
      ++gone;
    }
  }
  return gone;
}

TEST(CopyPaceTest, ItIsKept) {
  const absl::Time now = absl::FromUnixSeconds(1'000'000);
  CopyPace pace({.most = 1000});
  EXPECT_NEAR(static_cast<double>(Gone(pace, now, absl::Seconds(10))), 10'000, 150);
  CopyPace by_bytes({.unit = CopyRate::Unit::kBytes, .most = 1000});
  EXPECT_NEAR(static_cast<double>(Gone(by_bytes, now, absl::Seconds(10), 100)), 100, 3);
}

TEST(CopyPaceTest, APauseIsNotMadeUpFor) {
  const absl::Time now = absl::FromUnixSeconds(1'000'000);
  CopyPace pace({.most = 1000});
  Gone(pace, now, absl::Seconds(1));
  EXPECT_LE(Gone(pace, now + absl::Seconds(60), absl::Seconds(1)), 1150);
}

TEST(CopyPaceTest, WithoutABoundNothingWaits) {
  CopyPace pace({});
  pace.Take(1'000'000, 1'000'000, absl::FromUnixSeconds(1));
  EXPECT_EQ(pace.next(), absl::InfinitePast());
}

}  // namespace
}  // namespace arion::shell
