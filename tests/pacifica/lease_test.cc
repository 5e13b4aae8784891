// SPDX-License-Identifier: Apache-2.0
#include "pacifica/lease.h"

#include <gtest/gtest.h>

namespace arion {
namespace {

constexpr Instant At(int64_t seconds) { return Instant(seconds * 1'000'000'000); }

TEST(WorkerLeaseTest, NothingIsHeldBeforeTheFirstAck) {
  WorkerLease lease(absl::Seconds(9));
  EXPECT_FALSE(lease.Held(At(0)));
  EXPECT_FALSE(lease.WasGranted());
}

TEST(WorkerLeaseTest, RunsFromTheSendingNotFromTheAnswer) {
  WorkerLease lease(absl::Seconds(9));
  EXPECT_TRUE(lease.Acknowledged(At(100), At(104)));
  EXPECT_EQ(lease.expires_at(), At(109));
  EXPECT_TRUE(lease.Held(Instant(At(109).nanos() - 1)));
  EXPECT_FALSE(lease.Held(At(109)));
}

TEST(WorkerLeaseTest, AnAnswerThatComesAfterItsLeaseGrantsNothing) {
  WorkerLease lease(absl::Seconds(9));
  EXPECT_FALSE(lease.Acknowledged(At(100), At(109)));
  EXPECT_FALSE(lease.Held(At(109)));
  EXPECT_FALSE(lease.WasGranted());
}

TEST(WorkerLeaseTest, AnswersOutOfOrderNeverShortenIt) {
  WorkerLease lease(absl::Seconds(9));
  lease.Acknowledged(At(103), At(104));
  EXPECT_FALSE(lease.Acknowledged(At(100), At(105)));
  EXPECT_EQ(lease.expires_at(), At(112));
}

TEST(WorkerLeaseTest, SaysWhenItIsHeldAgain) {
  WorkerLease lease(absl::Seconds(9));
  EXPECT_TRUE(lease.Acknowledged(At(100), At(101)));
  EXPECT_FALSE(lease.Acknowledged(At(103), At(104))) << "held all along";
  EXPECT_FALSE(lease.Held(At(113)));
  EXPECT_TRUE(lease.Acknowledged(At(112), At(113)));
}

TEST(WorkerLeaseTest, ASendTimeInTheFutureIsNoGrant) {
  WorkerLease lease(absl::Seconds(9));
  EXPECT_FALSE(lease.Acknowledged(At(101), At(100)));
  EXPECT_FALSE(lease.Held(At(100)));
}

TEST(WorkerLeaseDeathTest, ALeaseHasALength) {
  EXPECT_DEATH(WorkerLease(absl::ZeroDuration()), "no moment would be held");
}

TEST(WorkerLeaseTest, ForgetEndsIt) {
  WorkerLease lease(absl::Seconds(9));
  lease.Acknowledged(At(100), At(101));
  lease.Forget();
  EXPECT_FALSE(lease.Held(At(102)));
}

}  // namespace
}  // namespace arion
