// SPDX-License-Identifier: Apache-2.0
#include "main/descriptor_limit.h"
#include "posix/descriptor_reserve.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include "tests/support/no_descriptor_left.h"

namespace arion {
namespace {

using testing::HasSubstr;

TEST(DescriptorLimit, TooFewAreRefusedWithTheLimitTheNeedAndTheUnitsSetting) {
  const absl::Status status = CheckDescriptorLimit(100, 0);
  EXPECT_TRUE(absl::IsResourceExhausted(status));
  EXPECT_THAT(std::string(status.message()), HasSubstr("is 100, at least 128"));
  EXPECT_THAT(std::string(status.message()), HasSubstr("LimitNOFILE="));
  EXPECT_THAT(std::string(CheckDescriptorLimit(1024, 208).message()),
              HasSubstr("is 1024, at least 1120 are needed with the 208 replicas here"));
  EXPECT_TRUE(CheckDescriptorLimit(1024, 150).ok());
}

TEST(DescriptorLimit, TheSoftLimitIsRaisedToTheHardOne) {
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  rlimit low = before;
  low.rlim_cur = std::min<rlim_t>(100, before.rlim_max);
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &low), 0);
  EXPECT_EQ(RaiseDescriptorLimit(),
            static_cast<int64_t>(std::min<rlim_t>(before.rlim_max, 1 << 30)));
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
}

TEST(DescriptorLimit, AServerSeesThatItsLimitWasMet) {
  DescriptorReserve reserve(2);
  const OpenFileBudget::Look look = LookAtDescriptors(reserve);
  EXPECT_FALSE(look().is_met);
  {
    NoDescriptorLeft none;
    reserve.Close(reserve.Open("/dev/null", O_RDONLY | O_CLOEXEC, 0));
  }
  EXPECT_TRUE(reserve.is_whole());
  EXPECT_TRUE(look().is_met);
  EXPECT_FALSE(look().is_met);
}

}  // namespace
}  // namespace arion
