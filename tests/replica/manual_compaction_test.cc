// When a compaction that was asked for begins, and what is told of it. SPDX-License-Identifier: Apache-2.0
#include "replica/compaction_slots.h"

#include <gtest/gtest.h>

#include "data_api/compaction_wishes.h"
#include "messages/table_environments.h"
#include "tests/replica/server_world.h"

namespace arion {
namespace {

using Terms = Engine::CompactionTerms;
constexpr int64_t kMidnight = 1700000000;

TEST(DueCompactionTest, OnceIsDueFromItsTimeOnUntilItHasRun) {
  const auto wishes = CompactionWishes::From({{kEnvCompactOnce, "1700001000"},
                                              {kEnvCompactOnceLevel, "2"},
                                              {kEnvCompactOnceBottommost, "force"}});
  EXPECT_EQ(DueCompaction(wishes, 0, 1700000999, kMidnight), std::nullopt);
  EXPECT_EQ(DueCompaction(wishes, 0, 1700001000, kMidnight),
            (Terms{.target_level = 2, .bottommost = true}));
  EXPECT_TRUE(DueCompaction(wishes, 1700000999999, 1800000000, kMidnight));
  EXPECT_FALSE(DueCompaction(wishes, 1700001000000, 1800000000, kMidnight));
}

TEST(DueCompactionTest, DailyIsDueForAnHourOfEachOfItsTimes) {
  const auto wishes = CompactionWishes::From({{kEnvCompactDaily, "15:00,03:00"}});
  const int64_t three = kMidnight + 3 * 3600, four = three + 3600;
  EXPECT_FALSE(DueCompaction(wishes, 0, three - 1, kMidnight));
  EXPECT_TRUE(DueCompaction(wishes, 0, three, kMidnight));
  EXPECT_TRUE(DueCompaction(wishes, 1000 * (three - 100), four - 1, kMidnight));
  EXPECT_FALSE(DueCompaction(wishes, 0, four, kMidnight)) << "set in the morning, for the night";
  EXPECT_FALSE(DueCompaction(wishes, 1000 * (three + 1), four - 1, kMidnight));
  EXPECT_TRUE(DueCompaction(wishes, 1000 * (three + 1), kMidnight + 15 * 3600, kMidnight));
}

TEST(DueCompactionTest, NothingIsDueWhereItIsDisabledOrUnreadable) {
  EXPECT_FALSE(
      DueCompaction(CompactionWishes::From({{kEnvCompactOnce, "1"}, {kEnvCompactDisabled, "true"}}),
                    0, 1700000000, kMidnight));
  const auto wishes = CompactionWishes::From({{kEnvCompactOnce, "soon"}, {kEnvCompactDaily, "3"}});
  EXPECT_FALSE(wishes.Any());
}

TEST(CompactionSlotsTest, OneOfADiskAtATimeAndAsManyOfATableAsItAllows) {
  const auto slots = std::make_shared<CompactionSlots>();
  auto first = slots->TryTake(0, 1, 0);
  ASSERT_NE(first, nullptr);
  EXPECT_EQ(slots->TryTake(0, 2, 0), nullptr) << "of the same disk";
  EXPECT_EQ(slots->TryTake(1, 1, 1), nullptr) << "of the same table, which allows one";
  const auto second = slots->TryTake(1, 1, 2);
  EXPECT_NE(second, nullptr);
  EXPECT_EQ(slots->Now().running, 2);
  first = nullptr;
  EXPECT_NE(slots->TryTake(0, 2, 0), nullptr);
}

class ManualCompactionTest : public ReplicaServerWorld {
 protected:
  ManualCompactionTest() { meta_.SetReplicaCount(1); }
  ManualCompactStatus Reported(const Server& server) {
    const auto it = meta_.reports().find(server.address);
    if (it == meta_.reports().end()) return ManualCompactStatus::kIdle;
    for (const ReplicaInfo& report : it->second)
      if (report.pid == kPid)
        return static_cast<ManualCompactStatus>(report.manual_compact_status.value_or(-1));
    return ManualCompactStatus::kIdle;
  }
  void Wish(const std::string& key, const std::string& value) {
    meta_.app().envs[key] = value;
    meta_.app().version = meta_.app().version.value_or(0) + 1;
    world_.RunFor(absl::Seconds(6));  // a config sync
  }
  std::string UnixSeconds(Server& server, int64_t later = 0) {
    return std::to_string(server.node.environment().clock().WallMicros() / 1000000 + later);
  }
};

TEST_F(ManualCompactionTest, ItRunsOnceIsReportedAndRunsAgainWhenAskedAgain) {
  Server& server = AddServer();
  ASSERT_TRUE(MakePrimary(server));
  ASSERT_EQ(Put(server, 1, "one"), ErrorCode::kOk);
  world_.RunFor(absl::Seconds(6));
  EXPECT_EQ(Reported(server), ManualCompactStatus::kIdle);
  Wish(kEnvCompactOnce, UnixSeconds(server));
  world_.RunFor(absl::Seconds(6));
  EXPECT_EQ(Reported(server), ManualCompactStatus::kFinished);
  Wish(kEnvCompactOnce, UnixSeconds(server, 60));
  EXPECT_EQ(Reported(server), ManualCompactStatus::kIdle) << "its time has not come";
  world_.RunFor(absl::Seconds(80));
  EXPECT_EQ(Reported(server), ManualCompactStatus::kFinished);
  EXPECT_EQ(Get(server, 1), "one");
}

TEST_F(ManualCompactionTest, WhatIsDisabledDoesNotRun) {
  Server& server = AddServer();
  ASSERT_TRUE(MakePrimary(server));
  Wish(kEnvCompactDisabled, "true");
  Wish(kEnvCompactOnce, UnixSeconds(server));
  world_.RunFor(absl::Seconds(30));
  EXPECT_EQ(Reported(server), ManualCompactStatus::kIdle);
  Wish(kEnvCompactDisabled, "false");
  world_.RunFor(absl::Seconds(20));
  EXPECT_EQ(Reported(server), ManualCompactStatus::kFinished);
}

}  // namespace
}  // namespace arion
