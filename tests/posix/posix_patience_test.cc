// SPDX-License-Identifier: Apache-2.0
#include "posix/posix_patience.h"

#include <gtest/gtest.h>

#include <future>
#include <memory>
#include <vector>

namespace arion {
namespace {

TEST(Patience, WhatEndsIsWaitedFor) {
  const auto value = std::make_shared<int>(0);
  const auto job = [value] { *value = 1; };
  EXPECT_EQ(RunWithPatience({job}, absl::Minutes(1)), std::vector<bool>{true});
  EXPECT_EQ(*value, 1);
}

TEST(Patience, OneThatHangsHoldsUpNoOther) {
  auto go_on = std::make_shared<std::promise<void>>();
  auto hang = [hung = go_on->get_future().share()] { hung.wait(); };
  EXPECT_EQ(RunWithPatience({hang, [] {}, hang}, absl::Milliseconds(200)),
            (std::vector<bool>{false, true, false}));
  go_on->set_value();
}

}  // namespace
}  // namespace arion
