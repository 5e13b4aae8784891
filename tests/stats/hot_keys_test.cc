// SPDX-License-Identifier: Apache-2.0
#include "stats/hot_keys.h"

#include <absl/strings/str_cat.h>
#include <gtest/gtest.h>

namespace arion {
namespace {

constexpr absl::Duration kTick = absl::Microseconds(100);

class HotKeysTest : public testing::Test {
 protected:
  // A tenth of `requests` are for "hot", the others for a thousand keys.
  void Ask(int requests, KeyUse use = KeyUse::kRead) {
    for (int i = 0; i < requests; ++i, now_ = now_ + kTick)
      keys_.Note(use, i % 10 == 0 ? "hot" : absl::StrCat("k", i * 7919 % 1000), now_);
  }
  HotKeys keys_{42};
  Instant now_{1'000'000};
};

TEST_F(HotKeysTest, TheKeyOfATenthOfAllRequestsIsFirstWithAboutItsRate) {
  Ask(100'000);
  const auto top = keys_.Top(3, now_);
  ASSERT_EQ(top.size(), 3u);
  EXPECT_EQ(top[0].key, "hot");
  EXPECT_EQ(top[0].use, KeyUse::kRead);
  EXPECT_NEAR(top[0].share, 0.1, 0.03);
  EXPECT_NEAR(top[0].per_second, 1000, 300);
  EXPECT_LT(top[1].share, 0.05);
}

TEST_F(HotKeysTest, ReadsAndWritesAreToldApart) {
  Ask(20'000, KeyUse::kRead);
  Ask(20'000, KeyUse::kWrite);
  const auto top = keys_.Top(2, now_);
  ASSERT_EQ(top.size(), 2u);
  EXPECT_EQ(top[0].key, "hot");
  EXPECT_EQ(top[1].key, "hot");
  EXPECT_NE(top[0].use, top[1].use);
}

TEST_F(HotKeysTest, WhatWasHotTwoMinutesAgoIsForgotten) {
  Ask(20'000);
  EXPECT_TRUE(keys_.Top(1, now_ + absl::Minutes(2)).empty());
  now_ = now_ + absl::Minutes(2);
  for (int i = 0; i < 5000; ++i) keys_.Note(KeyUse::kRead, "new", now_);
  const auto top = keys_.Top(5, now_);
  ASSERT_EQ(top.size(), 1u);
  EXPECT_EQ(top[0].key, "new");
}

TEST_F(HotKeysTest, ALongKeyIsKeptInPart) {
  for (int i = 0; i < 100; ++i) keys_.Note(KeyUse::kWrite, std::string(60'000, 'x'), now_);
  ASSERT_EQ(keys_.Top(1, now_).size(), 1u);
  EXPECT_EQ(keys_.Top(1, now_)[0].key.size(), HotKeys::kKeyBytesMax);
}

}  // namespace
}  // namespace arion
