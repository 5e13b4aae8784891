// SPDX-License-Identifier: Apache-2.0
#include "meta/held_updates.h"

#include <gtest/gtest.h>

namespace arion {
namespace {

InboundRequest Named(const char* name) {
  InboundRequest request;
  request.header.name = name;
  return request;
}

TEST(HeldUpdatesTest, GivesBackWhatWasHeldInOrderAndOnce) {
  HeldUpdates held;
  held.Hold({1, 0}, Named("a"));
  held.Hold({1, 1}, Named("other"));
  held.Hold({1, 0}, Named("b"));
  const std::vector<InboundRequest> taken = held.Take({1, 0});
  ASSERT_EQ(taken.size(), 2u);
  EXPECT_EQ(taken[0].header.name, "a");
  EXPECT_EQ(taken[1].header.name, "b");
  EXPECT_TRUE(held.Take({1, 0}).empty());
  EXPECT_EQ(held.Take({1, 1}).size(), 1u);
}

TEST(HeldUpdatesTest, HoldsSoManyOfAPartitionAndNoMore) {
  HeldUpdates held;
  for (size_t i = 0; i < 2 * HeldUpdates::kHeldMax; ++i) held.Hold({1, 0}, Named("a"));
  EXPECT_EQ(held.Take({1, 0}).size(), HeldUpdates::kHeldMax);
}

}  // namespace
}  // namespace arion
