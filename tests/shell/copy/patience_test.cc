// SPDX-License-Identifier: Apache-2.0
#include "tools/shell/copy/patience.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/status.h"

namespace arion::shell {
namespace {

const absl::Time kBegun = absl::UnixEpoch();

TEST(PatienceTest, WhatMayPassIsBorneWhileSomethingComesThrough) {
  Patience patience(absl::Seconds(10), kBegun);
  const absl::Status failover = absl::UnavailableError("failover");
  EXPECT_TRUE(patience.Judge(failover, kBegun + absl::Seconds(9)).ok());
  patience.Progressed(kBegun + absl::Seconds(9));
  EXPECT_TRUE(patience.Judge(failover, kBegun + absl::Seconds(18)).ok());
  const absl::Status end = patience.Judge(failover, kBegun + absl::Seconds(19));
  EXPECT_TRUE(absl::IsUnavailable(end));
  EXPECT_THAT(std::string(end.message()),
              testing::HasSubstr("failover; nothing came through for 10s"));
  EXPECT_EQ(patience.errors(), 3);
  EXPECT_EQ(patience.last_error(), "failover");
}

TEST(PatienceTest, WhatWouldBeAnsweredTheSameIsNot) {
  for (const absl::Status& error :
       {absl::InvalidArgumentError("too large"), absl::NotFoundError("no such table"),
        absl::PermissionDeniedError("no"), absl::FailedPreconditionError("denied")})
    EXPECT_EQ(Patience(absl::Hours(1), kBegun).Judge(error, kBegun), error);
  for (const absl::Status& error :
       {absl::ResourceExhaustedError("throttled"), absl::DeadlineExceededError("late"),
        absl::AbortedError("split"), absl::InternalError("disk")})
    EXPECT_TRUE(Patience(absl::Hours(1), kBegun).Judge(error, kBegun).ok());
}

TEST(PatienceTest, PausesGrowToABound) {
  EXPECT_EQ(Patience::PauseAfter(1), absl::Milliseconds(50));
  EXPECT_EQ(Patience::PauseAfter(2), absl::Milliseconds(100));
  EXPECT_EQ(Patience::PauseAfter(1000), absl::Seconds(5));
}

}  // namespace
}  // namespace arion::shell
