// SPDX-License-Identifier: Apache-2.0
#include "replica_server/replica_routes.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace arion {
namespace {

using Phase = ReplicaRoutes::Phase;

TEST(ReplicaRoutesTest, AReplicaIsFoundOnlyWhileItIsOpen) {
  // Nobody looks into it.
  const auto owner = std::make_shared<int>();
  const std::shared_ptr<Replica> replica(owner, reinterpret_cast<Replica*>(owner.get()));
  ReplicaRoutes routes;
  EXPECT_FALSE(routes.Find({2, 1}));
  for (const Phase phase : {Phase::kLoading, Phase::kClosing, Phase::kClosed}) {
    routes.Set({2, 1}, phase, replica);
    EXPECT_EQ(routes.Find({2, 1})->phase, phase);
    EXPECT_EQ(routes.Find({2, 1})->replica, nullptr);
    EXPECT_TRUE(routes.OpenOf(2).empty());
  }
  routes.Set({2, 1}, Phase::kOpen, replica);
  EXPECT_EQ(routes.Find({2, 1})->replica, replica);
  EXPECT_EQ(routes.OpenOf(2).size(), 1u);
  EXPECT_TRUE(routes.OpenOf(1).empty());
  EXPECT_TRUE(routes.OpenOf(3).empty());
  routes.Erase({2, 1});
  EXPECT_FALSE(routes.Find({2, 1}));
}

}  // namespace
}  // namespace arion
