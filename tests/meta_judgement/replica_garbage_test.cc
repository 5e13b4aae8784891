// SPDX-License-Identifier: Apache-2.0
#include "meta_judgement/replica_garbage.h"

#include <gtest/gtest.h>

namespace arion {
namespace {

using Pids = std::vector<PartitionId>;
constexpr PartitionId kHere{2, 0}, kUnknown{9, 0};

// Table 2 of one partition with two members at .1 and .2; .3 asks about it.
class UnneededOfTest : public testing::Test {
 protected:
  UnneededOfTest() {
    for (const Endpoint node : {a_, b_, c_}) state_.nodes[node].alive = true;
    Table& table = state_.tables[2];
    table.info = {.status = AppStatus::kAvailable, .app_id = 2, .partition_count = 1};
    table.partitions.resize(1);
    Partition& partition = table.partitions[0];
    partition.config.pid = kHere;
    partition.config.ballot = Ballot(4);
    partition.config.max_replica_count = 2;
    partition.config.primary = a_;
    partition.config.secondaries = {b_};
    partition.serving = {a_, b_};
  }
  Pids Unneeded(FunctionLevel level = FunctionLevel::kSteady) {
    return UnneededOf(state_, level, c_, {kHere, kUnknown, {2, 7}}, 1000);
  }
  Partition& partition() { return state_.tables[2].partitions[0]; }

  const Endpoint a_ = *Endpoint::Parse("10.0.0.1:34801"), b_ = *Endpoint::Parse("10.0.0.2:34801"),
                 c_ = *Endpoint::Parse("10.0.0.3:34801");
  ClusterState state_;
};

TEST_F(UnneededOfTest, WhatOthersHoldWholeIsNotNeededHere) {
  EXPECT_EQ(Unneeded(), Pids{kHere}) << "nothing is said of what the meta server does not know";
  EXPECT_EQ(Unneeded(FunctionLevel::kFreezed), Pids());
}
TEST_F(UnneededOfTest, WhileAMemberIsAwayOrNotProvenEverythingIsNeeded) {
  state_.nodes[b_].alive = false;
  EXPECT_EQ(Unneeded(), Pids());
  state_.nodes[b_].alive = true;
  partition().serving.erase(b_);
  EXPECT_EQ(Unneeded(), Pids());
}
TEST_F(UnneededOfTest, AMemberNeedsItsOwn) {
  partition().config.secondaries = {c_};
  partition().serving = {a_, c_};
  EXPECT_EQ(Unneeded(), Pids());
}
TEST_F(UnneededOfTest, ADroppedTableIsNeededAsLongAsItCanBeRecalled) {
  AppInfo& info = state_.tables[2].info;
  info.status = AppStatus::kDropped;
  info.expire_second = 1001;
  EXPECT_EQ(Unneeded(), Pids());
  info.expire_second = 1000;
  EXPECT_EQ(Unneeded(), Pids{kHere});
}

}  // namespace
}  // namespace arion
