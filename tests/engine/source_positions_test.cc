// SPDX-License-Identifier: Apache-2.0
#include "engine/source_positions.h"

#include <gtest/gtest.h>

namespace arion {
namespace {

TEST(SourcePositionsTest, APlaceCoversWhatIsNotBehindItAndNotLater) {
  const SourcePosition at{
      .cluster_id = 2, .duplication_id = 7, .decree = Decree(5), .updates = 3, .timestamp_us = 100};
  EXPECT_TRUE(at.Covers(Decree(5), 3, 100));
  EXPECT_TRUE(at.Covers(Decree(4), 9, 90));
  EXPECT_FALSE(at.Covers(Decree(5), 4, 100));
  EXPECT_FALSE(at.Covers(Decree(6), 1, 100));
  EXPECT_FALSE(at.Covers(Decree(4), 1, 101)) << "another history";
}

TEST(SourcePositionsTest, AFewOfEachClusterAreKept) {
  SourcePositions positions;
  for (int id = 1; id <= 4; ++id)
    EXPECT_TRUE(
        positions.Note({.cluster_id = 2, .duplication_id = id, .timestamp_us = 10 - id}).empty());
  EXPECT_TRUE(positions.Note({.cluster_id = 3, .duplication_id = 1}).empty());
  EXPECT_TRUE(positions.Note({.cluster_id = 2, .duplication_id = 2, .timestamp_us = 20}).empty());
  EXPECT_EQ(positions.Note({.cluster_id = 2, .duplication_id = 9}),
            (std::vector<SourcePositions::Id>{{2, 4}}))
      << "the oldest, but not the new one";
  EXPECT_EQ(positions.Find({2, 4}), std::nullopt);
  EXPECT_EQ(positions.Find({2, 2})->timestamp_us, 20);
  EXPECT_EQ(positions.all().size(), 5u);
}

TEST(SourcePositionsTest, TextsReadBack) {
  const SourcePosition position{.cluster_id = 127,
                                .duplication_id = 1700000000,
                                .decree = Decree(5),
                                .updates = 3,
                                .timestamp_us = 1'700'000'000'000'000};
  EXPECT_EQ(SourceIdText({127, 1700000000}), "127.1700000000");
  EXPECT_EQ(SourcePlaceText(position), "5 3 1700000000000000");
  EXPECT_EQ(ParseSourcePosition("127.1700000000", "5 3 1700000000000000"), position);
  for (const auto& [id, place] : {std::pair{"127", "5 3 1"},
                                  {"128.1", "5 3 1"},
                                  {"-1.1", "5 3 1"},
                                  {"1.x", "5 3 1"},
                                  {"1.1", "5 3"},
                                  {"1.1", ""}})
    EXPECT_EQ(ParseSourcePosition(id, place), std::nullopt) << id << ", " << place;
}

}  // namespace
}  // namespace arion
