// SPDX-License-Identifier: Apache-2.0
#include "replica/init_info.h"

#include <gtest/gtest.h>

#include "tests/support/fixtures.h"

namespace arion {
namespace {

TEST(InitInfo, A29_EncodesExactlyTheFixture) {
  const std::string path = SpecFixtures() + "/info/.init-info";
  REQUIRE_FIXTURE(path);
  const InitInfo info{.ballot = Ballot(3), .durable = Decree(0), .offset_in_shared_log = 6500};
  EXPECT_EQ(EncodeInitInfo(info), Slurp(path));
  EXPECT_EQ(DecodeInitInfo(Slurp(path)).value(), info);
}

TEST(InitInfo, ReadsExtraKeysOnlyBesideAllFour) {
  const auto with_all = DecodeInitInfo(
      R"({"crc":1,"init_ballot":7,"init_durable_decree":5,"init_offset_in_shared_log":1,"init_offset_in_private_log":9})");
  ASSERT_TRUE(with_all.ok()) << with_all.status();
  EXPECT_EQ(with_all->ballot, Ballot(7));
  EXPECT_EQ(with_all->offset_in_private_log, 9);
  EXPECT_FALSE(DecodeInitInfo(R"({"crc":1,"init_ballot":7})").ok());
}

TEST(InitInfo, MissingKeysReadZero) {
  const auto info = DecodeInitInfo(R"({"init_ballot":7})");
  ASSERT_TRUE(info.ok()) << info.status();
  EXPECT_EQ(*info, InitInfo{.ballot = Ballot(7)});
}

TEST(InitInfo, DamageIsDataLoss) {
  for (const char* bytes :
       {"", "{", "[1]", "null", R"({"init_ballot":"3"})", R"({"init_ballot":1.5})",
        R"({"init_ballot":99999999999999999999})", "\0\0\0\0"})
    EXPECT_TRUE(absl::IsDataLoss(DecodeInitInfo(bytes).status())) << bytes;
  const std::string deep(100000, '[');
  EXPECT_TRUE(absl::IsDataLoss(DecodeInitInfo(deep).status()));
}

}  // namespace
}  // namespace arion
