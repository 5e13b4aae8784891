// SPDX-License-Identifier: Apache-2.0
#include "main/descriptor_limit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace arion {
namespace {

using testing::HasSubstr;

TEST(DescriptorLimit, TooFewAreRefusedWithTheLimitAndTheRemedy) {
  const absl::Status status = SharesOf(100, 10).status();
  EXPECT_TRUE(absl::IsResourceExhausted(status));
  EXPECT_THAT(std::string(status.message()), HasSubstr("is 100, at least 128"));
  EXPECT_THAT(std::string(status.message()), HasSubstr("ulimit -n"));
}

TEST(DescriptorLimit, TablesAreSharedByTheEnginesButNeverLessThanTheyTake) {
  EXPECT_EQ(SharesOf(65536, 100)->tables_per_engine, 245);
  EXPECT_EQ(SharesOf(65536, 1)->tables_per_engine, 384) << "more replicas may come";
  EXPECT_EQ(SharesOf(256, 10)->tables_per_engine, 20);
}

TEST(DescriptorLimit, TenThousandConnectionsFitIntoTwentyThousand) {
  EXPECT_GE(SharesOf(20000, 64)->connections, 10000 + 250);
  EXPECT_THAT(SharesOf(20000, 64)->description, HasSubstr("11250 for connections"));
}

TEST(DescriptorLimit, WithPlentyAllTablesStayOpen) {
  EXPECT_EQ(SharesOf(1 << 20, 64)->tables_per_engine, -1);
  EXPECT_THAT(SharesOf(1 << 20, 64)->description, HasSubstr("at most 1048576"));
}

}  // namespace
}  // namespace arion
