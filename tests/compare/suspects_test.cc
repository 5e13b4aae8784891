// SPDX-License-Identifier: Apache-2.0
#include "tools/compare/suspects.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

namespace arion::compare {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

RecordState Holding(uint64_t value) { return {.exists = true, .value_hash = value}; }

// Two sides, as they are told to be; reads and waits are noted.
class SuspectsTest : public testing::Test {
 protected:
  Verdicts Judge(std::vector<Suspect> suspects) {
    const auto read = [](std::map<std::string, std::vector<RecordState>>& side,
                         const std::vector<Suspect>& wanted) -> LookHooks::States {
      std::vector<RecordState> states;
      for (const Suspect& one : wanted) {
        // Each read takes the next of what is told; the last one stays.
        auto& told = side[one.key];
        states.push_back(told.empty() ? RecordState{} : told.front());
        if (told.size() > 1) told.erase(told.begin());
      }
      return states;
    };
    const auto verdicts = JudgeSuspects(
        std::move(suspects), {.read_here = [&](const auto& all) { return read(here_, all); },
                              .read_there = [&](const auto& all) { return read(there_, all); },
                              .catch_up =
                                  [&](const std::set<int32_t>& partitions) {
                                    waits_.push_back(partitions);
                                    if (on_wait_) on_wait_();
                                    return absl::OkStatus();
                                  }});
    EXPECT_TRUE(verdicts.ok()) << verdicts.status();
    return *verdicts;
  }
  static std::vector<std::string> Keys(const std::vector<Suspect>& suspects) {
    std::vector<std::string> keys;
    for (const Suspect& one : suspects) keys.push_back(one.key);
    return keys;
  }

  std::map<std::string, std::vector<RecordState>> here_, there_;
  std::vector<std::set<int32_t>> waits_;
  std::function<void()> on_wait_;
};

TEST_F(SuspectsTest, NobodyIsAskedAboutNothing) {
  const Verdicts verdicts = Judge({});
  EXPECT_THAT(verdicts.different, IsEmpty());
  EXPECT_THAT(waits_, IsEmpty());
}

TEST_F(SuspectsTest, WhatComesWithTheLagAgrees) {
  here_["k"] = {Holding(2)};
  there_["k"] = {Holding(1)};
  on_wait_ = [this] { there_["k"] = {Holding(2)}; };
  const Verdicts verdicts = Judge({{.partition = 3, .key = "k"}});
  EXPECT_THAT(verdicts.different, IsEmpty());
  EXPECT_THAT(verdicts.changing, IsEmpty());
  EXPECT_THAT(waits_, ElementsAre(std::set<int32_t>{3}));
}

TEST_F(SuspectsTest, WhatStaysDifferentIsCalledSoAtTheSecondLook) {
  here_["missing there"] = {Holding(1)};
  there_["missing here"] = {Holding(1)};
  here_["other"] = {Holding(1)};
  there_["other"] = {Holding(2)};
  here_["same"] = there_["same"] = {Holding(3)};
  const Verdicts verdicts = Judge({{.partition = 0, .key = "missing there"},
                                   {.partition = 0, .key = "same"},
                                   {.partition = 1, .key = "missing here"},
                                   {.partition = 2, .key = "other"}});
  EXPECT_THAT(Keys(verdicts.different), ElementsAre("missing there", "missing here", "other"));
  EXPECT_EQ(verdicts.different[2].here, Holding(1));
  EXPECT_EQ(verdicts.different[2].there, Holding(2));
  EXPECT_FALSE(verdicts.different[0].there.exists);
  EXPECT_THAT(waits_, ElementsAre(std::set<int32_t>{0, 1, 2}, std::set<int32_t>{0, 1, 2}));
}

// 1 became 5 and 1 again between the two reads of this side: that side was at 5 then.
TEST_F(SuspectsTest, WhatLooksDifferentOnceMayHaveBeenOnItsWay) {
  here_["k"] = {Holding(1)};
  there_["k"] = {Holding(5), Holding(1)};
  EXPECT_THAT(Judge({{.partition = 0, .key = "k"}}).different, IsEmpty());
  EXPECT_EQ(waits_.size(), 2u);
}

TEST_F(SuspectsTest, WhatChangesAllTheTimeIsFollowedWhereThatSideHasWhatThisOneHad) {
  for (uint64_t i = 1; i < 100; ++i) here_["k"].push_back(Holding(i));
  // Never what is read right before it or behind it, but always what was here a moment before.
  there_["k"] = {Holding(1000)};
  for (uint64_t i = 1; i < 100; ++i) there_["k"].push_back(Holding(i));
  const Verdicts verdicts = Judge({{.partition = 0, .key = "k"}});
  EXPECT_THAT(verdicts.different, IsEmpty());
  EXPECT_THAT(verdicts.changing, IsEmpty());
  EXPECT_EQ(waits_.size(), 1u);
}

TEST_F(SuspectsTest, WhatNeverStandsStillIsNotCalledDifferent) {
  for (uint64_t i = 1; i < 1000; ++i) here_["k"].push_back(Holding(i));
  there_["k"] = {Holding(5000)};
  const Verdicts verdicts = Judge({{.partition = 0, .key = "k"}});
  EXPECT_THAT(verdicts.different, IsEmpty());
  EXPECT_THAT(Keys(verdicts.changing), ElementsAre("k"));
  EXPECT_EQ(waits_.size(), static_cast<size_t>(kLooksMax));
}

TEST_F(SuspectsTest, ErrorsEndIt) {
  const LookHooks::States one = std::vector<RecordState>(1);
  LookHooks hooks{
      .read_here = [&](const auto&) { return one; },
      .read_there = [&](const auto&) -> LookHooks::States { return absl::UnavailableError("x"); },
      .catch_up = [](const auto&) { return absl::OkStatus(); }};
  EXPECT_TRUE(absl::IsUnavailable(JudgeSuspects({{}}, hooks).status()));
  hooks.catch_up = [](const auto&) { return absl::FailedPreconditionError("paused"); };
  EXPECT_TRUE(absl::IsFailedPrecondition(JudgeSuspects({{}}, hooks).status()));
}

}  // namespace
}  // namespace arion::compare
