// Who is what in a configuration. SPDX-License-Identifier: Apache-2.0
#include "messages/configuration.h"

#include <gtest/gtest.h>

#include <set>

namespace arion {
namespace {

constexpr Endpoint kFirst{1, 34801}, kSecond{2, 34801}, kOutsider{3, 34801};

TEST(PartitionConfigurationTest, EachServerHasOneRole) {
  PartitionConfiguration config;
  config.primary = kFirst;
  config.secondaries = {kSecond};
  EXPECT_EQ(config.RoleOf(kFirst), PartitionStatus::kPrimary);
  EXPECT_EQ(config.RoleOf(kSecond), PartitionStatus::kSecondary);
  EXPECT_EQ(config.RoleOf(kOutsider), PartitionStatus::kInactive);
  EXPECT_TRUE(config.IsSecondary(kSecond));
  EXPECT_FALSE(config.IsSecondary(kFirst));
  EXPECT_TRUE(config.IsMember(kFirst));
  EXPECT_FALSE(config.IsMember(kOutsider));
  EXPECT_EQ(config.MemberCount(), 2u);
}

TEST(PartitionConfigurationTest, WhereNobodyLeadsNoServerIsThePrimary) {
  const PartitionConfiguration config;
  ASSERT_EQ(config.primary, Endpoint());
  EXPECT_EQ(config.RoleOf(Endpoint()), PartitionStatus::kInactive);
  EXPECT_EQ(config.MemberCount(), 0u);
}

TEST(PartitionStatusTest, EachStatusHasANameOfItsOwn) {
  std::set<std::string_view> names;
  for (int i = 0; i <= static_cast<int>(PartitionStatus::kSplit); ++i)
    names.insert(PartitionStatusName(static_cast<PartitionStatus>(i)));
  EXPECT_EQ(names.size(), static_cast<size_t>(PartitionStatus::kSplit) + 1);
  EXPECT_EQ(PartitionStatusName(static_cast<PartitionStatus>(99)), "unknown");
  EXPECT_EQ(PartitionStatusName(PartitionStatus::kPotentialSecondary), "learner");
}

TEST(AppStatusTest, NamesAreThoseOfTheProtocol) {
  EXPECT_EQ(AppStatusName(AppStatus::kAvailable), "AS_AVAILABLE");
  EXPECT_EQ(AppStatusName(AppStatus::kDropped), "AS_DROPPED");
  EXPECT_EQ(AppStatusName(static_cast<AppStatus>(99)), "AS_INVALID");
}

}  // namespace
}  // namespace arion
