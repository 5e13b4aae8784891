// Addresses from which a cluster may be administered, as they are written. SPDX-License-Identifier: Apache-2.0
#include "config/access_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace arion {
namespace {

using testing::HasSubstr;

std::string RefusedRange(std::string_view text) {
  const auto ranges = ParseAddressRanges(text);
  return ranges.ok() ? "(no error)" : std::string(ranges.status().message());
}

TEST(AccessRulesTest, AnAddressIsARangeOfOne) {
  const auto ranges = ParseAddressRanges("10.0.0.7");
  ASSERT_TRUE(ranges.ok()) << ranges.status();
  ASSERT_EQ(ranges->size(), 1u);
  EXPECT_EQ((*ranges)[0].first, 0x0a000007u);
  EXPECT_EQ((*ranges)[0].last, 0x0a000007u);
}

TEST(AccessRulesTest, ALengthSaysHowManyBitsAreTheRanges) {
  const auto ranges = ParseAddressRanges("10.1.0.0/16, 127.0.0.1/32,0.0.0.0/0");
  ASSERT_TRUE(ranges.ok()) << ranges.status();
  ASSERT_EQ(ranges->size(), 3u);
  EXPECT_EQ((*ranges)[0].first, 0x0a010000u);
  EXPECT_EQ((*ranges)[0].last, 0x0a01ffffu);
  EXPECT_EQ((*ranges)[1].first, (*ranges)[1].last);
  EXPECT_EQ((*ranges)[2].first, 0u);
  EXPECT_EQ((*ranges)[2].last, 0xffffffffu);
}

TEST(AccessRulesTest, NothingIsNoRange) {
  EXPECT_TRUE(ParseAddressRanges("")->empty());
  EXPECT_TRUE(ParseAddressRanges(" , ")->empty());
}

TEST(AccessRulesTest, WhatIsNoRangeIsNamedAndNothingIsTakenOfTheRest) {
  for (const char* text : {"10.0.0.0/33", "10.0.0.0/-1", "10.0.0.0/", "10.0.0.0/x", "10.0.0",
                           "office", "10.0.0.1, office"})
    EXPECT_THAT(RefusedRange(text), HasSubstr("is no address or range; write 10.0.0.7 or")) << text;
}

TEST(AccessRulesTest, ARangeThatDoesNotBeginAtItsFirstAddressIsAMistake) {
  EXPECT_THAT(RefusedRange("10.0.0.7/24"),
              HasSubstr("\"10.0.0.7/24\" has bits set behind its first 24"));
}

TEST(AccessRulesTest, OfIpv6ItIsSaidThatNobodyComesByIt) {
  EXPECT_THAT(RefusedRange("fe80::1"), HasSubstr("is IPv6, and no peer comes by it"));
}

}  // namespace
}  // namespace arion
