// The older tools' search for hot keys: what stands out, and what each question is answered.
// SPDX-License-Identifier: Apache-2.0
#include "stats/hot_key_search.h"

#include <gtest/gtest.h>

namespace arion {
namespace {

using Hot = HotKeys::Hot;
constexpr PartitionId kSearched{2, 1};
const Instant kBegin = Instant(0) + absl::Hours(1);

// One key read 1,000 times a second, nine others 10 times.
std::vector<Hot> OneIsHot() {
  std::vector<Hot> top = {{.key = "hot", .per_second = 1000, .share = 0.9}};
  for (int i = 0; i < 9; ++i)
    top.push_back({.key = std::string(1, static_cast<char>('a' + i)), .per_second = 10});
  return top;
}

class HotKeySearchTest : public testing::Test {
 protected:
  DetectHotkeyResponse Ask(DetectAction action, const std::vector<Hot>& top = {},
                           HotkeyType type = HotkeyType::kRead) {
    return search_.Answer({.type = type, .action = action, .pid = kSearched}, top, now_);
  }
  HotKeySearch search_;
  Instant now_ = kBegin;
};

TEST(FindHotKeyTest, AnOutlierIsFound) {
  EXPECT_EQ(FindHotKey(OneIsHot(), KeyUse::kRead), "hot");
  EXPECT_EQ(FindHotKey({}, KeyUse::kRead), std::nullopt);
}

TEST(FindHotKeyTest, AKeyOfTheOtherUseIsNone) {
  EXPECT_EQ(FindHotKey(OneIsHot(), KeyUse::kWrite), std::nullopt);
  std::vector<Hot> top = OneIsHot();
  top.insert(top.begin(), {.use = KeyUse::kWrite, .key = "w", .per_second = 5000, .share = 1});
  EXPECT_EQ(FindHotKey(top, KeyUse::kRead), "hot");
  EXPECT_EQ(FindHotKey(top, KeyUse::kWrite), "w") << "the only one";
}

TEST(FindHotKeyTest, ASmallShareIsNotHot) {
  std::vector<Hot> top = OneIsHot();
  top[0].share = HotKeySearch::kShareMin - 0.01;
  EXPECT_EQ(FindHotKey(top, KeyUse::kRead), std::nullopt);
}

TEST(FindHotKeyTest, WhereOthersAreAlikeTwiceAsMuchIsHot) {
  std::vector<Hot> top = OneIsHot();
  top[0].per_second = 19;
  EXPECT_EQ(FindHotKey(top, KeyUse::kRead), std::nullopt);
  top[0].per_second = 20;
  EXPECT_EQ(FindHotKey(top, KeyUse::kRead), "hot");
}

TEST(FindHotKeyTest, WhereOthersDifferWidelyMoreIsNeeded) {
  // Mean 55, deviation 45: 5 deviations above the mean are 280.
  std::vector<Hot> top = {{.key = "hot", .per_second = 279, .share = 0.5},
                          {.key = "a", .per_second = 100},
                          {.key = "b", .per_second = 10}};
  EXPECT_EQ(FindHotKey(top, KeyUse::kRead), std::nullopt);
  top[0].per_second = 280;
  EXPECT_EQ(FindHotKey(top, KeyUse::kRead), "hot");
}

TEST_F(HotKeySearchTest, WithoutASearchNothingIsTold) {
  const DetectHotkeyResponse answer = Ask(DetectAction::kQuery, OneIsHot());
  EXPECT_EQ(answer.err, ErrorCode::kBusy);
  EXPECT_EQ(answer.err_hint, "Can't get hotkey now, now state: STOPPED");
}

TEST_F(HotKeySearchTest, WhatWasFoundIsKeptUntilItIsStopped) {
  EXPECT_EQ(Ask(DetectAction::kStart).err_hint, "starting to detect READ hotkey");
  EXPECT_EQ(Ask(DetectAction::kQuery, OneIsHot()).hotkey_result, "hot");
  now_ = now_ + HotKeySearch::kPatience * 2;
  EXPECT_EQ(Ask(DetectAction::kQuery).hotkey_result, "hot") << "it is hot no more";
  const DetectHotkeyResponse again = Ask(DetectAction::kStart);
  EXPECT_EQ(again.err, ErrorCode::kBusy);
  EXPECT_EQ(again.err_hint, "a READ hotkey was found: stop before a new start");
  EXPECT_EQ(Ask(DetectAction::kStop).err, ErrorCode::kOk);
  EXPECT_EQ(Ask(DetectAction::kStart).err, ErrorCode::kOk);
}

TEST_F(HotKeySearchTest, ASearchThatFindsNothingEndsByItself) {
  Ask(DetectAction::kStart);
  now_ = now_ + HotKeySearch::kPatience;
  EXPECT_EQ(Ask(DetectAction::kQuery).err_hint, "Can't get hotkey now, now state: FINE_DETECTING");
  EXPECT_EQ(Ask(DetectAction::kStart).err_hint, "still detecting READ hotkey");
  now_ = now_ + absl::Nanoseconds(1);
  EXPECT_EQ(Ask(DetectAction::kQuery, OneIsHot()).err_hint,
            "Can't get hotkey now, now state: STOPPED");
}

TEST_F(HotKeySearchTest, ReadsAndWritesAreSearchedApart) {
  Ask(DetectAction::kStart);
  EXPECT_EQ(Ask(DetectAction::kStart, {}, HotkeyType::kWrite).err_hint,
            "starting to detect WRITE hotkey");
  EXPECT_EQ(Ask(DetectAction::kQuery, OneIsHot(), HotkeyType::kWrite).err, ErrorCode::kBusy);
  EXPECT_EQ(Ask(DetectAction::kQuery, OneIsHot()).hotkey_result, "hot");
}

TEST_F(HotKeySearchTest, BytesThatCanNotBePrintedAreEscaped) {
  Ask(DetectAction::kStart);
  EXPECT_EQ(Ask(DetectAction::kQuery, {{.key = std::string("\0k", 2), .per_second = 9, .share = 1}})
                .hotkey_result,
            "\\x00k");
}

}  // namespace
}  // namespace arion
