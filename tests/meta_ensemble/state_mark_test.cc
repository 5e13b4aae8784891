// SPDX-License-Identifier: Apache-2.0
#include "meta_ensemble/state_mark.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace arion {
namespace {

using testing::AllOf;
using testing::HasSubstr;

const StateMark kMark{.phase = StateMark::Phase::kMoving,
                      .to = StateMark::To::kJournal,
                      .id = "0123456789abcdef",
                      .journal = "10.0.0.1:34601 /data/\"meta\"",
                      .zookeeper = "z1:2181 /c",
                      .unix_seconds = 1700000000};

std::string TextOf(const absl::Status& status) { return std::string(status.message()); }

TEST(StateMark, IsReadAsItWasWritten) {
  EXPECT_EQ(*StateMark::Parse(kMark.ToJson()), kMark);
  StateMark moved = kMark;
  moved.phase = StateMark::Phase::kMoved;
  moved.to = StateMark::To::kZooKeeper;
  EXPECT_EQ(*StateMark::Parse(moved.ToJson()), moved);
  EXPECT_EQ(kMark.ToJson(),
            "{\"phase\":\"moving\",\"to\":\"journal\",\"id\":\"0123456789abcdef\",\"journal\":"
            "\"10.0.0.1:34601 /data/\\\"meta\\\"\",\"zookeeper\":\"z1:2181 /c\",\"unix_seconds\":"
            "1700000000}");
}

TEST(StateMark, WhatIsNoneIsNotGuessed) {
  const std::string whole = kMark.ToJson();
  for (size_t length = 0; length < whole.size(); ++length)
    EXPECT_TRUE(absl::IsDataLoss(StateMark::Parse(whole.substr(0, length)).status())) << length;
  for (const char* text :
       {"[]", "null", "{\"phase\":\"gone\",\"to\":\"journal\",\"id\":\"1\",\"unix_seconds\":1}",
        "{\"phase\":\"moved\",\"to\":\"journal\",\"id\":\"\",\"unix_seconds\":1}",
        "{\"phase\":\"moved\",\"to\":\"journal\",\"id\":\"1\",\"unix_seconds\":\"1\"}",
        "{\"phase\":1,\"to\":\"journal\",\"id\":\"1\",\"unix_seconds\":1}"})
    EXPECT_TRUE(absl::IsDataLoss(StateMark::Parse(text).status())) << text;
}

TEST(MayBeginFromJournal, AnEmptyClusterIsNotBegunByAccident) {
  StateDirectory directory{.path = "/m"};
  EXPECT_TRUE(MayBeginFromJournal(directory).ok()) << "a new one";
  directory.has_moved_journal = true;
  EXPECT_THAT(TextOf(MayBeginFromJournal(directory)),
              AllOf(HasSubstr("/m/meta.journal.moved"), HasSubstr("--to journal")));
  directory.note = kMark;
  EXPECT_THAT(TextOf(MayBeginFromJournal(directory)),
              AllOf(HasSubstr("interrupted"), HasSubstr("--to journal"), HasSubstr("z1:2181 /c")));
  directory.note->to = StateMark::To::kZooKeeper;
  EXPECT_THAT(TextOf(MayBeginFromJournal(directory)),
              AllOf(HasSubstr("moved to ZooKeeper at z1:2181 /c, 2023-11-14 22:13:20 UTC"),
                    HasSubstr("state = zookeeper")));
  directory.has_journal = true;
  EXPECT_TRUE(MayBeginFromJournal(directory).ok()) << "it is the place";
}

TEST(MayLeadUnder, OnlyWhereTheDirectorySaysSo) {
  StateDirectory directory{.path = "/m"};
  const auto may = [&](const StateMark& mark) {
    return MayLeadUnder(mark.ToJson(), "/c/arion/moved", directory);
  };
  EXPECT_THAT(TextOf(may(kMark)), AllOf(HasSubstr("node /c/arion/moved"), HasSubstr("interrupted"),
                                        HasSubstr("--to journal"), HasSubstr("10.0.0.1:34601")));
  directory.note = kMark;
  EXPECT_TRUE(may(kMark).ok()) << "state_mark/P1";
  directory.has_journal = true;
  EXPECT_FALSE(may(kMark).ok()) << "state_mark/P1";
  directory.has_journal = false;
  StateMark other = kMark;
  other.id = "1";
  EXPECT_FALSE(may(other).ok());
  StateMark moved = kMark;
  moved.phase = StateMark::Phase::kMoved;
  EXPECT_THAT(TextOf(may(moved)),
              AllOf(HasSubstr("/c/arion/moved"), HasSubstr("was moved to the journal of 10.0.0.1"),
                    HasSubstr("--to zookeeper")));
  EXPECT_THAT(TextOf(MayLeadUnder("x", "/c/arion/moved", directory)),
              HasSubstr("node /c/arion/moved holds 'x'"));
}

}  // namespace
}  // namespace arion
