// SPDX-License-Identifier: Apache-2.0
#include "env/clock.h"

#include <gtest/gtest.h>

namespace arion {
namespace {

constexpr int64_t kDay = int64_t{86400} * 1000000, kTrue = int64_t{1'800'000'000} * 1000000;

class HandClock : public Clock {
 public:
  Instant Now() const override { return now; }
  int64_t WallMicros() const override { return wall; }
  Instant now{1'000'000'000};
  int64_t wall = kTrue;
};

TEST(ClockTest, WithoutAnAgreementNothingIsExpiredForGood) {
  HandClock clock;
  EXPECT_EQ(AgreedWallMicros(clock), kTrue);
  EXPECT_EQ(WallForGood(clock), std::nullopt);
  EXPECT_EQ(ExpiredForGood(clock), 0u);
}

TEST(ClockTest, AWrongWallClockNeitherExpiresNorKeepsARecord) {
  HandClock clock;
  clock.wall = kTrue + 30 * kDay;
  clock.agreed().Agree(kTrue, clock.now);
  EXPECT_EQ(AgreedWallMicros(clock), kTrue);
  EXPECT_EQ(WallForGood(clock), kTrue - kMarginMicros);
  clock.wall = kTrue - 30 * kDay;
  EXPECT_EQ(AgreedWallMicros(clock), kTrue);
  EXPECT_EQ(WallForGood(clock), clock.wall - kMarginMicros) << "by both clocks";
}

TEST(ClockTest, AnAgreementGoesOnByTheMonotonicClock) {
  HandClock clock;
  clock.agreed().Agree(kTrue, clock.now);
  clock.now = clock.now + absl::Seconds(30);
  clock.wall = kTrue + kDay;  // it jumped
  EXPECT_EQ(AgreedWallMicros(clock), kTrue + 30'000'000);
  clock.now = clock.now + absl::Seconds(30);
  EXPECT_EQ(WallForGood(clock), std::nullopt) << "nobody has said so for a minute";
  EXPECT_EQ(AgreedWallMicros(clock), kTrue + 60'000'000) << "for readers it goes on";
}

TEST(ClockTest, ANewProcessBeginsWithoutOne) {
  HandClock clock;
  clock.agreed().Agree(kTrue, clock.now);
  clock.agreed().Forget();
  EXPECT_EQ(WallForGood(clock), std::nullopt);
}

}  // namespace
}  // namespace arion
