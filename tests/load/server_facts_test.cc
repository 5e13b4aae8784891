// SPDX-License-Identifier: Apache-2.0
#include "tools/load/run/server_facts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace arion::load {
namespace {

using testing::ElementsAre;
using testing::Pair;

const Endpoint kOne = *Endpoint::Parse("127.0.0.1:1"), kTwo = *Endpoint::Parse("127.0.0.1:2"),
               kThree = *Endpoint::Parse("127.0.0.1:3");

TEST(ServerFactsTest, BuildDurabilityAndDataAreOfThePages) {
  EXPECT_EQ(FactsText(ParseSamples("arion_build_info{version=\"0.1.0\",commit=\"abc\"} 1\n"),
                      {{{"name", "durability"}, {"value", "os"}},
                       {{"name", "data_dirs"}, {"value", "a:/x,b:/y"}}}),
            "arion 0.1.0 (abc), durability os, data a:/x,b:/y");
  EXPECT_EQ(FactsText({}, {}), "arion ? (?), durability ?, data ?");
}

TEST(ServerFactsTest, ServersThatSayTheSameShareALine) {
  EXPECT_THAT(
      LinesOf({{kOne, "b"}, {kTwo, "a"}, {kThree, "b"}}),
      ElementsAre(Pair("server 127.0.0.1:1 and 1 more", "b"), Pair("server 127.0.0.1:2", "a")));
  EXPECT_TRUE(LinesOf({}).empty());
}

}  // namespace
}  // namespace arion::load
