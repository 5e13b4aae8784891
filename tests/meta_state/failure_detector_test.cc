// SPDX-License-Identifier: Apache-2.0
#include "meta_state/failure_detector.h"

#include <gtest/gtest.h>

namespace arion {
namespace {

using Verdict = FailureDetector::Verdict;
constexpr Endpoint kNode{1, 34801};
constexpr Endpoint kOther{2, 34801};

Instant At(absl::Duration since_start) { return Instant(0) + since_start; }
absl::Duration S(double seconds) { return absl::Seconds(seconds); }

TEST(FailureDetectorTest, DeathComesExactlyOneGraceAfterTheLastBeacon) {
  FailureDetector detector({.grace = S(10)});
  EXPECT_EQ(detector.NextDeadline(), Instant::InfiniteFuture());
  EXPECT_EQ(detector.OnBeacon(kNode, {1}, At(S(1))), Verdict::kCameAlive);
  EXPECT_EQ(detector.OnBeacon(kNode, {1}, At(S(4))), Verdict::kAlive);
  EXPECT_EQ(detector.NextDeadline(), At(S(14)));
  EXPECT_TRUE(detector.Expire(At(S(14)) - absl::Nanoseconds(1)).empty());
  EXPECT_EQ(detector.Expire(At(S(14))), std::vector<Endpoint>{kNode});
  EXPECT_TRUE(detector.Expire(At(S(15))).empty()) << "told once";
  EXPECT_EQ(detector.NextDeadline(), Instant::InfiniteFuture());
  EXPECT_EQ(detector.OnBeacon(kNode, {1}, At(S(20))), Verdict::kCameAlive);
}

TEST(FailureDetectorTest, TheEarliestDeadlineOfAllNodesCounts) {
  FailureDetector detector({.grace = S(10)});
  detector.OnBeacon(kNode, {1}, At(S(1)));
  detector.OnBeacon(kOther, {1}, At(S(2)));
  EXPECT_EQ(detector.NextDeadline(), At(S(11)));
  detector.OnBeacon(kNode, {1}, At(S(3)));
  EXPECT_EQ(detector.NextDeadline(), At(S(12)));
  EXPECT_EQ(detector.Expire(At(S(12))), std::vector<Endpoint>{kOther});
}

TEST(FailureDetectorTest, NodesOfStoredConfigurationsGetAGraceToShowUp) {
  FailureDetector detector({.grace = S(10)});
  detector.AssumeAlive(kNode, At(S(5)));
  EXPECT_EQ(detector.OnBeacon(kNode, {7}, At(S(6))), Verdict::kAlive);
  EXPECT_EQ(detector.NextDeadline(), At(S(16)));
}

TEST(FailureDetectorTest, ALargerStartTimeIsARestartAndASmallerOneSaysNothing) {
  FailureDetector detector({.grace = S(10), .max_successive_unstable_restarts = 0});
  detector.OnBeacon(kNode, {100}, At(S(1)));
  detector.OnBeacon(kNode, {100}, At(S(2)));
  EXPECT_EQ(detector.OnBeacon(kNode, {101}, At(S(5))), Verdict::kRestarted);
  EXPECT_EQ(detector.FormerServiceEnd(kNode), At(S(2)));
  EXPECT_EQ(detector.OnBeacon(kNode, {100}, At(S(6))), Verdict::kAlive)
      << "late, of the old process";
  EXPECT_EQ(detector.OnBeacon(kNode, {101}, At(S(7))), Verdict::kAlive);
  EXPECT_EQ(detector.OnBeacon(kNode, {}, At(S(8))), Verdict::kAlive);
  EXPECT_EQ(detector.Deaths(kNode), 0);
  detector.Expire(At(S(30)));
  EXPECT_EQ(detector.OnBeacon(kNode, {102}, At(S(31))), Verdict::kRestarted)
      << "dead and restarted";
  EXPECT_EQ(detector.Deaths(kNode), 1);
  EXPECT_EQ(detector.Deaths(kOther), 0);
}

TEST(FailureDetectorTest, AProcessThatWasDeadIsNewWhereItsStartTimeIsAnother) {
  FailureDetector detector({.grace = S(10), .max_successive_unstable_restarts = 0});
  detector.OnBeacon(kNode, {100}, At(S(1)));
  detector.Expire(At(S(20)));
  EXPECT_EQ(detector.OnBeacon(kNode, {50}, At(S(31))), Verdict::kRestarted)
      << "its clock is behind";
  EXPECT_EQ(detector.FormerServiceEnd(kNode), At(S(1)));
  EXPECT_EQ(detector.OnBeacon(kNode, {50}, At(S(32))), Verdict::kAlive);
  EXPECT_EQ(detector.OnBeacon(kNode, {51}, At(S(33))), Verdict::kRestarted);
  detector.Expire(At(S(60)));
  EXPECT_EQ(detector.OnBeacon(kNode, {51}, At(S(61))), Verdict::kCameAlive) << "it was cut off";
}

// Seed 84100493: its wall clock had been set back while it was down for a moment.
TEST(FailureDetectorTest, AnotherProcessIdIsANewProcessWhateverTheClockSays) {
  FailureDetector detector({.grace = S(10), .max_successive_unstable_restarts = 0});
  detector.OnBeacon(kNode, {100, 1}, At(S(1)));
  EXPECT_EQ(detector.OnBeacon(kNode, {50, 2}, At(S(5))), Verdict::kRestarted);
  EXPECT_EQ(detector.FormerServiceEnd(kNode), At(S(1)));
  EXPECT_EQ(detector.OnBeacon(kNode, {50, 2}, At(S(6))), Verdict::kAlive);
  EXPECT_EQ(detector.OnBeacon(kNode, {100, 1}, At(S(7))), Verdict::kFormer) << "late";
  EXPECT_EQ(detector.OnBeacon(kNode, {50, 2}, At(S(8))), Verdict::kAlive);
  EXPECT_EQ(detector.OnBeacon(kNode, {50, 3}, At(S(9))), Verdict::kRestarted);
  EXPECT_EQ(detector.OnBeacon(kNode, {50, 1}, At(S(10))), Verdict::kFormer) << "later still";
}

// Seed 91200145: the running process kept its lease while another was to lead in its place.
TEST(FailureDetectorTest, WhoIsTakenForAFormerProcessGetsNoLeaseUntilItWasDead) {
  FailureDetector detector({.grace = S(10), .max_successive_unstable_restarts = 0});
  detector.OnBeacon(kNode, {1, 1}, At(S(1)));
  EXPECT_EQ(detector.OnBeacon(kNode, {3, 3}, At(S(5))), Verdict::kRestarted);
  EXPECT_EQ(detector.OnBeacon(kNode, {2, 2}, At(S(7))), Verdict::kRestarted)
      << "late, of a process between them that was never heard";
  EXPECT_EQ(detector.FormerServiceEnd(kNode), At(S(5)));
  EXPECT_EQ(detector.OnBeacon(kNode, {3, 3}, At(S(8))), Verdict::kFormer);
  EXPECT_TRUE(detector.Expire(At(S(16))).empty());
  EXPECT_EQ(detector.Expire(At(S(17))), std::vector{kNode});
  EXPECT_EQ(detector.OnBeacon(kNode, {3, 3}, At(S(18))), Verdict::kRestarted);
  EXPECT_EQ(detector.OnBeacon(kNode, {3, 3}, At(S(19))), Verdict::kAlive);
}

TEST(FailureDetectorTest, ANodeThatChangesItsVersionIsNewByItsStartTime) {
  FailureDetector detector({.grace = S(10), .max_successive_unstable_restarts = 0});
  detector.OnBeacon(kNode, {100}, At(S(1)));
  EXPECT_EQ(detector.OnBeacon(kNode, {101, 1}, At(S(2))), Verdict::kRestarted)
      << "it tells one now";
  EXPECT_EQ(detector.OnBeacon(kNode, {100}, At(S(3))), Verdict::kAlive) << "late, of the older one";
  EXPECT_EQ(detector.OnBeacon(kNode, {50, 2}, At(S(4))), Verdict::kRestarted);
  EXPECT_EQ(detector.OnBeacon(kNode, {102}, At(S(5))), Verdict::kRestarted) << "none any more";
  EXPECT_EQ(detector.OnBeacon(kNode, {50, 2}, At(S(6))), Verdict::kFormer) << "late";
}

TEST(FailureDetectorTest, ANodeThatRestartsAgainAndAgainIsNotAnsweredUntilItStaysUp) {
  // The default guard: five restarts, each within 600 s of the one before.
  FailureDetector detector({.grace = S(10)});
  int64_t start_time = 0;
  Instant now = At(S(1));
  detector.OnBeacon(kNode, {++start_time}, now);
  for (int i = 1; i <= 4; ++i) {
    now = now + S(599);
    EXPECT_EQ(detector.OnBeacon(kNode, {++start_time}, now), Verdict::kRestarted) << i;
  }
  now = now + S(599);
  EXPECT_EQ(detector.OnBeacon(kNode, {++start_time}, now), Verdict::kRefused);
  EXPECT_EQ(detector.OnBeacon(kNode, {start_time}, now + S(3)), Verdict::kRefused);
  EXPECT_FALSE(detector.Expire(now).empty()) << "refused beacons keep nobody alive";
  EXPECT_EQ(detector.OnBeacon(kNode, {start_time}, now + S(599)), Verdict::kRefused);
  EXPECT_EQ(detector.OnBeacon(kNode, {start_time}, now + S(600)), Verdict::kRestarted);
  EXPECT_EQ(detector.OnBeacon(kNode, {start_time}, now + S(601)), Verdict::kAlive);
}

TEST(FailureDetectorTest, AStableRunForgivesEarlierRestarts) {
  FailureDetector detector({.grace = S(10), .max_successive_unstable_restarts = 2});
  Instant now = At(S(1));
  int64_t start_time = 0;
  detector.OnBeacon(kNode, {++start_time}, now);
  for (int i = 0; i < 5; ++i) {
    now = now + S(10);
    EXPECT_EQ(detector.OnBeacon(kNode, {++start_time}, now), Verdict::kRestarted);
    now = now + S(600);
    EXPECT_EQ(detector.OnBeacon(kNode, {++start_time}, now), Verdict::kRestarted);
  }
}

}  // namespace
}  // namespace arion
