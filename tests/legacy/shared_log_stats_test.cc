// SPDX-License-Identifier: Apache-2.0
#include "legacy/shared_log_stats.h"

#include <gtest/gtest.h>

namespace arion {
namespace {

TEST(SharedLogStats, WithoutFilesThereIsNoneWhateverWasRead) {
  SharedLogStats stats;
  EXPECT_EQ(SharedLogText(stats), "no older version's shared log\n");
  stats.bytes_read = 100;
  stats.mutations_taken = 5;
  stats.SetBlocking({"1.0 by 3 decrees (not open)"});
  EXPECT_EQ(SharedLogText(stats), "no older version's shared log\n");
}

TEST(SharedLogStats, BeforeTheFirstRoundNobodyIsKnownToHoldIt) {
  SharedLogStats stats;
  stats.files = 3;
  stats.bytes = 4096;
  stats.bytes_read = 100;
  stats.mutations_taken = 5;
  EXPECT_EQ(SharedLogText(stats),
            "3 files, 4096 bytes left; 100 bytes read, 5 mutations taken over; held back by nobody "
            "known yet\n");
}

TEST(SharedLogStats, WhoHoldsItStandsBelowALineEach) {
  SharedLogStats stats;
  stats.files = 1;
  stats.bytes = 10;
  stats.SetBlocking({"1.0 by 3 decrees (not open)", "2.1 by 1 decrees (no checkpoint yet)"});
  EXPECT_EQ(
      SharedLogText(stats),
      "1 files, 10 bytes left; 0 bytes read, 0 mutations taken over; held back by 2 replicas\n"
      "1.0 by 3 decrees (not open)\n"
      "2.1 by 1 decrees (no checkpoint yet)\n");
  stats.SetBlocking({});
  EXPECT_TRUE(stats.Blocking().empty());
}

}  // namespace
}  // namespace arion
