// SPDX-License-Identifier: Apache-2.0
#include "config/config_value.h"

#include <gtest/gtest.h>

namespace arion {
namespace {

TEST(ConfigValueTest, IntervalsNeedTheirUnit) {
  EXPECT_EQ(*ParseInterval("9s"), absl::Seconds(9));
  EXPECT_EQ(*ParseInterval("500ms"), absl::Milliseconds(500));
  for (const char* bad : {"9", "", "-3s", "0s", "soon", "inf"})
    EXPECT_FALSE(ParseInterval(bad).ok()) << bad;
}

TEST(ConfigValueTest, SizesTakeBinaryUnits) {
  EXPECT_EQ(*ParseSize("1048576"), 1u << 20);
  EXPECT_EQ(*ParseSize("32 MiB"), 32u << 20);
  EXPECT_EQ(*ParseSize("2g"), uint64_t{2} << 30);
  for (const char* bad :
       {"", "MiB", "1 parsec", "-1", "99999999999999999999", "18446744073709551615k"}) {
    EXPECT_FALSE(ParseSize(bad).ok()) << bad;
  }
}

TEST(ConfigValueTest, NumbersKeepTheirRange) {
  EXPECT_EQ(*ParseInteger("5", 1, 5), 5);
  for (const char* bad : {"0", "6", "five", "5x", ""})
    EXPECT_FALSE(ParseInteger(bad, 1, 5).ok()) << bad;
}

TEST(ConfigValueTest, AddressesNeedAPort) {
  EXPECT_EQ(ParseAddress("127.0.0.1:34601")->ToString(), "127.0.0.1:34601");
  EXPECT_EQ(ParseNamedAddresses("127.0.0.1:1, a.b:2")->size(), 2u);
  EXPECT_EQ(ParseListenAddress("0.0.0.0:34601")->port, 34601);
  EXPECT_FALSE(ParseAddress("0.0.0.0:34601").ok());
  for (const char* bad :
       {"", "127.0.0.1", "127.0.0.1:0", "127.0.0.1:70000", "300.1.1.1:5", ":34601", "a:b"}) {
    EXPECT_FALSE(ParseAddress(bad).ok()) << bad;
  }
}

TEST(ConfigValueTest, DisksHaveATagAndAPathOnce) {
  auto disks = ParseDisks("ssd1:/data/1/,ssd2:/data/2");
  ASSERT_TRUE(disks.ok()) << disks.status();
  EXPECT_EQ((*disks)[0], std::make_pair(std::string("ssd1"), std::string("/data/1")));
  for (const char* bad :
       {"", "/data/1", "a:/x,a:/y", "a:/x,b:/x/", "a:", ":/x", "a:/x:y", "a:/x,"}) {
    EXPECT_FALSE(ParseDisks(bad).ok()) << bad;
  }
}

}  // namespace
}  // namespace arion
