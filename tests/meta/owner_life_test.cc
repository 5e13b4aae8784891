// SPDX-License-Identifier: Apache-2.0
#include "meta/owner_life.h"

#include <gtest/gtest.h>

#include <functional>
#include <memory>

namespace arion {
namespace {

TEST(OwnerLifeTest, RunsOnlyWhileTheOwnerLives) {
  OwnerLife life;
  auto owner = std::make_shared<int>(0);
  int sum = 0;
  auto before = life.While([&](int n) { sum += n; });
  life.Begin(owner);
  auto after = life.While([&](int n) { sum += n; });
  before(1);
  EXPECT_EQ(sum, 0) << "bound before the owner was known";
  after(2);
  EXPECT_EQ(sum, 2);
  owner.reset();
  after(4);
  EXPECT_EQ(sum, 2);
}

TEST(OwnerLifeTest, TheOwnerLivesUntilItReturns) {
  OwnerLife life;
  auto owner = std::make_shared<int>(7);
  life.Begin(owner);
  int seen = 0;
  life.While([&, raw = owner.get()] {
    owner.reset();
    seen = *raw;
  })();
  EXPECT_EQ(seen, 7);
}

}  // namespace
}  // namespace arion
