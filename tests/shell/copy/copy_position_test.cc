// SPDX-License-Identifier: Apache-2.0
#include "tools/shell/copy/copy_position.h"

#include <gtest/gtest.h>

#include "base/raw_key.h"

namespace arion::shell {
namespace {

using Positions = std::vector<CopyPosition>;

const std::string kEarly = JoinRawKey("a", ""), kLate = JoinRawKey("z", "");

TEST(CopyPositionTest, OfThePartitionsThatThereAreNothingChanges) {
  const Positions positions = {{{0, 2}, kEarly, false}, {{1, 2}, std::nullopt, true}};
  EXPECT_EQ(DivideAgain(positions, {{0, 2}, {1, 2}}), positions);
}

TEST(CopyPositionTest, BothHalvesGoOnBehindTheSameKey) {
  EXPECT_EQ(DivideAgain({{{0, 2}, kEarly, false}, {{1, 2}, kLate, true}},
                        {{0, 4}, {1, 4}, {2, 4}, {3, 4}}),
            (Positions{{{0, 4}, kEarly, false},
                       {{1, 4}, std::nullopt, true},
                       {{2, 4}, kEarly, false},
                       {{3, 4}, std::nullopt, true}}));
}

TEST(CopyPositionTest, APartitionMayBeSplitBeforeTheOthers) {
  EXPECT_EQ(
      DivideAgain({{{0, 2}, kEarly, false}, {{1, 2}, kLate, false}}, {{0, 4}, {1, 2}, {2, 4}}),
      (Positions{{{0, 4}, kEarly, false}, {{1, 2}, kLate, false}, {{2, 4}, kEarly, false}}));
}

TEST(CopyPositionTest, OfTwoThatAreOneTheLowerKeyCounts) {
  const auto joined = [](CopyPosition one, CopyPosition other) {
    one.share = {0, 4};
    other.share = {2, 4};
    return DivideAgain({one, other}, {{0, 2}}).at(0);
  };
  EXPECT_EQ(joined({.after = kLate}, {.after = kEarly}).after, kEarly);
  EXPECT_EQ(joined({.after = kLate}, {}).after, std::nullopt) << "one has not begun";
  EXPECT_EQ(joined({.is_done = true}, {.after = kLate}).after, kLate);
  EXPECT_EQ(joined({.after = kLate}, {.is_done = true}).after, kLate);
  EXPECT_FALSE(joined({.is_done = true}, {.after = kLate}).is_done);
  EXPECT_TRUE(joined({.is_done = true}, {.is_done = true}).is_done);
}

TEST(CopyPositionTest, ACopyOfOnePartitionStaysOne) {
  EXPECT_EQ(DivideAgain({{{1, 2}, kEarly, false}}, {{0, 4}, {1, 4}, {2, 4}, {3, 4}}),
            (Positions{{{1, 4}, kEarly, false}, {{3, 4}, kEarly, false}}));
}

TEST(CopyPositionTest, CountsThatDoNotDoubleBeginWhereTheLowestIs) {
  const Positions divided =
      DivideAgain({{{0, 2}, kEarly, false}, {{1, 2}, kLate, false}}, {{0, 3}, {1, 3}, {2, 3}});
  ASSERT_EQ(divided.size(), 3u);
  for (const CopyPosition& position : divided) EXPECT_EQ(position.after, kEarly);
}

TEST(CopyPositionTest, AHashBelongsToOneShare) {
  const ShareIndex mixed({{0, 4}, {1, 2}, {2, 4}});
  EXPECT_TRUE(mixed.IsWhole());
  for (uint64_t hash = 0; hash < 40; ++hash)
    EXPECT_EQ(mixed.Find(hash), hash % 2 == 1 ? 1u : hash % 4 == 0 ? 0u : 2u) << hash;
  const ShareIndex one({{1, 2}});
  EXPECT_FALSE(one.IsWhole());
  EXPECT_EQ(one.Find(2), std::nullopt);
  EXPECT_EQ(one.Find(3), 0u);
}

}  // namespace
}  // namespace arion::shell
