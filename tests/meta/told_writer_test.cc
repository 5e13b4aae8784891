// SPDX-License-Identifier: Apache-2.0
#include "meta/told_writer.h"

#include <gtest/gtest.h>

#include "tests/meta/part_fixture.h"

namespace arion {
namespace {

class ToldWriterTest : public PartFixture {
 protected:
  ToldWriterTest() {
    Table& table = state_.tables[1];
    table.info = {.app_id = 1, .partition_count = 1};
    table.partitions.resize(1);
    table.partitions[0].config.primary = ServerAt(1);
    table.is_committed_unstored = true;
    state_.nodes[ServerAt(1)] = {.alive = true, .collected = true};
  }
  void StoreWhenDue() {
    OnStrand([&] { told_.StoreWhenDue(env_.clock().Now()); });
  }

  ClusterState state_;
  MetaServerOptions options_;
  ToldWriter told_{state_, store_, options_};
};

TEST_F(ToldWriterTest, StoresOnceInAnIntervalWhatIsNew) {
  StoreWhenDue();
  ASSERT_EQ(played_.commits.size(), 1u);
  EXPECT_EQ(played_.commits[0].batch.size(), 2u) << "what is committed, and the server";
  EXPECT_EQ(played_.commits[0].need, StoreNeed::kWhileRoom);
  EXPECT_TRUE(state_.listed.empty());
  AnswerStore();
  EXPECT_TRUE(state_.listed.contains(ServerAt(1)));
  state_.tables[1].is_committed_unstored = true;
  StoreWhenDue();
  EXPECT_TRUE(played_.commits.empty()) << "not due";
  world_.RunFor(options_.guardian_interval);
  StoreWhenDue();
  EXPECT_EQ(played_.commits.size(), 1u);
}

TEST_F(ToldWriterTest, WhatCanNotBeStoredIsTriedAgainWhenItIsDueNext) {
  StoreWhenDue();
  AnswerStore(absl::ResourceExhaustedError("full"));
  EXPECT_TRUE(state_.tables[1].is_committed_unstored);
  EXPECT_TRUE(state_.listed.empty());
  world_.RunFor(options_.guardian_interval);
  StoreWhenDue();
  EXPECT_EQ(played_.commits.size(), 1u);
}

TEST_F(ToldWriterTest, OfATableThatGetsALeaderNothingIsStored) {
  Partition& partition = state_.tables[1].partitions[0];
  partition.pending = partition.config;
  partition.config.primary = {};
  state_.nodes.clear();
  StoreWhenDue();
  EXPECT_TRUE(played_.commits.empty());
  EXPECT_TRUE(state_.tables[1].is_committed_unstored);
}

}  // namespace
}  // namespace arion
