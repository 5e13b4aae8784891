// SPDX-License-Identifier: Apache-2.0
#include "main/knocking_servers.h"
#include "base/cluster_identity.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/log.h"
#include "meta_state/cluster_warning.h"

namespace arion {
namespace {

using testing::HasSubstr;
using Tables = KnockingServers::Tables;

constexpr Endpoint kA{0x0a000001, 34801}, kB{0x0a000002, 34801};

class KnockingServersTest : public testing::Test {
 protected:
  KnockingServersTest() { CHECK(ours_.Adopt(1) && theirs_.Adopt(0xdeadbeef) && others_.Adopt(3)); }
  ClusterIdentity ours_{"a"}, theirs_{"a"}, others_{"b"};
  const Instant now_ = Instant(0) + absl::Hours(1);
  KnockingServers knocking_;
};

TEST_F(KnockingServersTest, AMetaServerWithoutTablesIsToldThatItsStateMayBeLostAndTheCommand) {
  EXPECT_FALSE(knocking_.Warning(ours_, Tables::kNone, now_));
  knocking_.Note(ours_, kA, theirs_.tag(), now_);
  knocking_.Note(ours_, kB, theirs_.tag(), now_);
  const auto warning = knocking_.Warning(ours_, Tables::kNone, now_);
  ASSERT_TRUE(warning);
  EXPECT_EQ(warning->count, 2);
  EXPECT_THAT(warning->problem, HasSubstr("may be lost"));
  EXPECT_THAT(warning->way, HasSubstr("recover -s 10.0.0.1:34801,10.0.0.2:34801"));
}

TEST_F(KnockingServersTest, OneWithTablesIsToldBothReadings) {
  knocking_.Note(ours_, kA, theirs_.tag(), now_);
  const auto warning = knocking_.Warning(ours_, Tables::kSome, now_);
  ASSERT_TRUE(warning);
  EXPECT_THAT(warning->way, HasSubstr("look at their meta_servers"));
  EXPECT_THAT(warning->way, HasSubstr("recover"));
}

TEST_F(KnockingServersTest, ServersOfAnotherNameOrWithoutAnIdSayNothingOfOurState) {
  knocking_.Note(ours_, kA, others_.tag(), now_);
  knocking_.Note(ours_, kA, ClusterIdentity("a").tag(), now_);
  knocking_.Note(ours_, kA, 0, now_);
  EXPECT_FALSE(knocking_.Warning(ours_, Tables::kNone, now_));
}

TEST_F(KnockingServersTest, WhoKnocksNoMoreIsForgotten) {
  knocking_.Note(ours_, kA, theirs_.tag(), now_);
  EXPECT_FALSE(knocking_.Warning(ours_, Tables::kNone,
                                 now_ + KnockingServers::kKnockedFor + absl::Seconds(1)));
}

TEST_F(KnockingServersTest, TheIdIsLearnedAnewOnlyFromThoseWhoKnock) {
  knocking_.Note(ours_, kA, theirs_.tag(), now_);
  ASSERT_TRUE(knocking_.LearnFrom({kB}, 0, now_, &ours_).ok());
  EXPECT_EQ(ours_.id(), 1u);
  ASSERT_TRUE(knocking_.LearnFrom({kA, kB}, 0, now_, &ours_).ok());
  EXPECT_EQ(ours_.id(), 0u);
  EXPECT_FALSE(ours_.DiffersIn(theirs_.tag()));
  EXPECT_TRUE(ours_.Adopt(0xdeadbeef));
  EXPECT_FALSE(knocking_.Warning(ours_, Tables::kSome, now_)) << "they are let in";
  EXPECT_EQ(ours_.tag(), theirs_.tag());
}

TEST_F(KnockingServersTest, ServersThatTookTheNewIdAreNotShutOut) {
  knocking_.Note(ours_, kA, theirs_.tag(), now_);
  const absl::Status refused = knocking_.LearnFrom({kA}, 1, now_, &ours_);
  EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << refused;
  EXPECT_THAT(std::string(refused.message()), HasSubstr(".arion-cluster"));
  EXPECT_EQ(ours_.id(), 1u);
}

}  // namespace
}  // namespace arion
