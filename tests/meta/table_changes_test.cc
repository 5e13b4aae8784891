// SPDX-License-Identifier: Apache-2.0
#include "meta/table_changes.h"

#include <gtest/gtest.h>

#include "meta_state/unix_seconds.h"
#include "tests/meta/part_fixture.h"

namespace arion {
namespace {

class TableChangesTest : public PartFixture {
 protected:
  TableChangesTest() {
    Table& table = state_.tables[1];
    table.info = {
        .status = AppStatus::kAvailable, .app_name = "t", .app_id = 1, .partition_count = 2};
    table.partitions.resize(2);
    for (int32_t i = 0; i < 2; ++i)
      table.partitions[i].config = {
          .pid = {1, i}, .ballot = Ballot(5), .max_replica_count = 3, .primary = ServerAt(1)};
  }
  Table& table() { return state_.tables[1]; }
  void Begin(std::optional<PartitionChange> of_partitions = std::nullopt) {
    AppInfo next = table().info;
    next.app_name = "next";
    OnStrand([&] {
      changes_.Begin({.next = next,
                      .of_partitions = of_partitions,
                      .done = [this](ErrorCode error) { Happened("done", error); }});
    });
  }
  bool Defers() {
    bool defers = false;
    OnStrand([&] {
      InboundRequest request = RequestFor("waits", "");
      defers = changes_.Defers(&table(), request);
    });
    return defers;
  }
  void Happened(const char* what, ErrorCode error = ErrorCode::kOk) {
    happened_ += what;
    if (error != ErrorCode::kOk) happened_ += "!";
    happened_ += " ";
  }

  ClusterState state_;
  std::string happened_;
  TableChanges changes_{state_,
                        store_,
                        env_.clock(),
                        {.changed = [this](Table&) { Happened("changed"); },
                         .given_up = [this] { Happened("given_up"); },
                         .judgeable = [this](PartitionId) { Happened("judgeable"); },
                         .again = [this](InboundRequest) { Happened("again"); }}};
};

TEST_F(TableChangesTest, IsStoredBeforeItIsShownAndThenOthersGoOn) {
  Begin();
  EXPECT_EQ(table().info.app_name, "t");
  EXPECT_TRUE(Defers());
  EXPECT_EQ(happened_, "");
  AnswerStore();
  EXPECT_EQ(table().info.app_name, "next");
  EXPECT_EQ(table().info.version, UnixSeconds(env_.clock()));
  EXPECT_EQ(happened_, "changed done judgeable judgeable again ");
  EXPECT_FALSE(Defers());
}

TEST_F(TableChangesTest, WaitsUntilNoPartitionIsOnItsWayToTheStore) {
  table().partitions[1].pending = table().partitions[1].config;
  Begin(WithReplicaCount(2));
  EXPECT_TRUE(table().partitions_change);
  EXPECT_TRUE(played_.commits.empty());
  table().partitions[1].pending.reset();
  OnStrand([&] { changes_.Continue(1); });
  ASSERT_EQ(played_.commits.size(), 1u);
  EXPECT_EQ(played_.commits[0].batch.size(), 3u);
  EXPECT_EQ(played_.commits[0].need, StoreNeed::kWhileRoom);
  OnStrand([&] { changes_.Continue(1); });
  EXPECT_EQ(played_.commits.size(), 1u);
  AnswerStore();
  for (const Partition& partition : table().partitions) {
    EXPECT_EQ(partition.config.max_replica_count, 2);
    EXPECT_FALSE(partition.pending.has_value());
  }
  EXPECT_FALSE(table().partitions_change);
}

TEST_F(TableChangesTest, PlansEndWhereTheMembersGo) {
  table().partitions[0].planned.resize(1);
  Begin(PartitionChange{ConfigType::kDropPartition, Emptied});
  AnswerStore();
  EXPECT_TRUE(table().partitions[0].planned.empty());
  EXPECT_EQ(table().partitions[0].config.ballot, Ballot(6));
}

TEST_F(TableChangesTest, WhatCanNotBeWrittenIsAsIfItHadNotBeenTried) {
  Begin(WithReplicaCount(2));
  AnswerStore(absl::ResourceExhaustedError("full"));
  EXPECT_EQ(table().info.app_name, "t");
  EXPECT_FALSE(table().partitions_change);
  EXPECT_FALSE(table().partitions[0].pending.has_value());
  EXPECT_EQ(happened_, "given_up done! judgeable judgeable ");
}

TEST_F(TableChangesTest, AfterAFailedSyncItStaysPending) {
  Begin(WithReplicaCount(2));
  AnswerStore(absl::DataLossError("sync"));
  EXPECT_TRUE(table().partitions[0].pending.has_value());
  EXPECT_TRUE(table().partitions_change);
  EXPECT_EQ(happened_, "done! judgeable judgeable ");
}

TEST_F(TableChangesTest, ASplitIsStoredWithItsTableAndInstalledWithIt) {
  AppInfo next = table().info;
  next.partition_count = 4;
  OnStrand([&] {
    changes_.Begin({.next = next,
                    .of_split = TableChanges::Change::OfSplit{TableSplit{.from = 2}},
                    .done = [this](ErrorCode error) { Happened("done", error); }});
  });
  EXPECT_TRUE(table().partitions_change);
  EXPECT_FALSE(table().split);
  ASSERT_EQ(played_.commits.front().batch.size(), 2u);
  EXPECT_EQ(played_.commits.front().batch[1].key, "/arion/split/1");
  AnswerStore();
  EXPECT_FALSE(table().partitions_change);
  EXPECT_EQ(table().split->from, 2);
  EXPECT_EQ(table().partitions.size(), 4u);
}

TEST_F(TableChangesTest, ARequestWaitsUntilNoPartitionChangesAndNoneBeginsMeanwhile) {
  const auto defers = [&] {
    bool defers = false;
    OnStrand([&] {
      InboundRequest request = RequestFor("waits", "");
      defers = changes_.DefersUntilStill(&table(), request);
    });
    return defers;
  };
  EXPECT_FALSE(defers());
  table().partitions[1].pending = table().partitions[1].config;
  EXPECT_TRUE(defers());
  EXPECT_TRUE(table().partitions_change);
  // A change of the table alone goes on, and what waits waits on.
  Begin();
  AnswerStore();
  EXPECT_EQ(happened_, "changed done judgeable judgeable again ");
  EXPECT_TRUE(table().partitions_change);
  happened_.clear();
  EXPECT_TRUE(defers());
  OnStrand([&] { changes_.Continue(1); });
  EXPECT_EQ(happened_, "");
  table().partitions[1].pending.reset();
  OnStrand([&] { changes_.Continue(1); });
  EXPECT_EQ(happened_, "again judgeable judgeable ");
  EXPECT_FALSE(table().partitions_change);
  EXPECT_FALSE(defers());
}

TEST_F(TableChangesTest, OneAtATime) {
  Begin();
  EXPECT_DEATH(changes_.Begin({.next = table().info}), "table_changes/T1");
}

TEST_F(TableChangesTest, RequestsThatWaitAreBounded) {
  Begin();
  for (size_t i = 0; i < TableChanges::kDeferredMax; ++i) EXPECT_TRUE(Defers());
  EXPECT_TRUE(answers_.empty());
  EXPECT_TRUE(Defers());
  EXPECT_EQ(answers_.find("waits")->second.first, ErrorCode::kBusy);
}

TEST_F(TableChangesTest, WhileItIsDroppedNobodyWaits) {
  table().info.status = AppStatus::kDropping;
  Begin();
  EXPECT_FALSE(Defers());
}

}  // namespace
}  // namespace arion
