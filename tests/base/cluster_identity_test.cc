// SPDX-License-Identifier: Apache-2.0
#include "base/cluster_identity.h"

#include <gtest/gtest.h>

namespace arion {
namespace {

TEST(ClusterIdentityTest, WhatIsNotKnownGoesWithEverything) {
  ClusterIdentity a("a"), b("b");
  EXPECT_EQ(a.DiffersIn(0), std::nullopt);
  EXPECT_EQ(a.DiffersIn(a.tag()), std::nullopt);
  ASSERT_TRUE(a.Adopt(7));
  EXPECT_EQ(a.DiffersIn(ClusterIdentity("a").tag()), std::nullopt) << "one that has just started";
  EXPECT_NE(a.DiffersIn(b.tag()), std::nullopt);
}

TEST(ClusterIdentityTest, ClustersOfOneNameDifferInTheirId) {
  ClusterIdentity a("a"), namesake("a");
  ASSERT_TRUE(a.Adopt(0x01234567));
  ASSERT_TRUE(namesake.Adopt(0x01234568));
  ASSERT_NE(a.DiffersIn(namesake.tag()), std::nullopt);
  EXPECT_NE(a.DiffersIn(namesake.tag())->find("id"), std::string_view::npos);
}

TEST(ClusterIdentityTest, AnIdIsTakenOnce) {
  ClusterIdentity a("a");
  EXPECT_TRUE(a.Adopt(7));
  EXPECT_TRUE(a.Adopt(7));
  EXPECT_FALSE(a.Adopt(8));
  EXPECT_EQ(a.id(), 7u);
  EXPECT_EQ(a.ToString(), "\"a\" (id 00000007)");
}

TEST(ClusterIdentityTest, TagsHoldTheIdAndFit) {
  ClusterIdentity a("");
  EXPECT_NE(a.tag() >> 32, 0u);
  ASSERT_TRUE(a.Adopt(0xfedcba98));
  EXPECT_EQ(ClusterIdentity::IdOf(a.tag()), 0xfedcba98u);
  EXPECT_LT(a.tag(), uint64_t{1} << 52);
}

TEST(ClusterIdentityTest, IdsAreWrittenAndRead) {
  EXPECT_EQ(ParseClusterId(FormatClusterId(0xfedcba98)), 0xfedcba98);
  for (const char* none : {"", "1", "00000000", "000000zz", "000000001"})
    EXPECT_EQ(ParseClusterId(none), std::nullopt) << none;
}

}  // namespace
}  // namespace arion
