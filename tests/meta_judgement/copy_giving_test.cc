// SPDX-License-Identifier: Apache-2.0
#include "meta_judgement/copy_giving.h"

#include <gtest/gtest.h>

#include "meta_judgement/partition_guardian.h"
#include "tests/meta/one_partition.h"

namespace arion {
namespace {

// Two partitions of 3 copies on A, B and C; D has none.
class CopyGivingTest : public OnePartitionTest {
 protected:
  CopyGivingTest() {
    Table& table = state_.tables[1];
    table.info.partition_count = 2;
    table.partitions.push_back(table.partitions[0]);
    table.partitions[1].config.pid = kOther;
    for (int32_t index = 0; index < 2; ++index) SetMembers(index, kA, {kB, kC});
    for (Endpoint node : {kA, kB, kC, kD}) Has(node, 80);
  }
  void SetMembers(int32_t index, Endpoint primary, std::vector<Endpoint> secondaries) {
    Partition& partition = state_.tables[1].partitions[static_cast<size_t>(index)];
    partition.config.primary = primary;
    partition.config.secondaries = secondaries;
    partition.serving.insert(primary);
    partition.serving.insert(secondaries.begin(), secondaries.end());
    for (auto& [endpoint, node] : state_.nodes) {
      if (!partition.config.IsMember(endpoint)) continue;
      const bool leads = endpoint == primary;
      node.replicas[partition.config.pid] = {
          .pid = partition.config.pid,
          .status = leads ? PartitionStatus::kPrimary : PartitionStatus::kSecondary,
          .disk_tag = "ssd"};
    }
  }
  void Has(Endpoint node, int64_t percent) {
    ConfigSyncRequest sync{
        .node = node, .stored_replicas = std::vector<ReplicaInfo>{}, .number = 1};
    for (const auto& [pid, report] : state_.nodes[node].replicas)
      sync.stored_replicas->push_back(report);
    sync.disks = {{.tag = "ssd",
                   .total_bytes = 1000,
                   .available_bytes = 100 + 10 * percent,
                   .available_bytes_min = 100}};
    NoteReports(state_, sync, 0, absl::Seconds(10), now_);
  }
  // The steps, carried out as far as the meta server keeps them.
  std::vector<Intent> Intents() {
    std::vector<Intent> intents;
    const GuardianPlan plan = PlanPartitions(state_, FunctionLevel::kSteady, {}, now_);
    for (const GuardianPlan::Step& step : plan.steps) {
      Partition& partition = *state_.FindPartition(step.pid);
      if (step.intent) intents.push_back(*step.intent);
      if (!step.intent || !partition.intent || !partition.intent->SaysTheSame(*step.intent))
        partition.intent = step.intent;
    }
    return intents;
  }

  static constexpr PartitionId kOther{1, 1};
};

TEST_F(CopyGivingTest, NothingIsGivenWhereThereIsRoom) { EXPECT_TRUE(Intents().empty()); }

TEST_F(CopyGivingTest, ADiskThatIsNearlyFullGivesOneCopyAfterTheOtherToWhereThereIsMuchRoom) {
  Has(kC, 9);
  for (int look = 0; look < 2; ++look) {
    const std::vector<Intent> intents = Intents();
    ASSERT_EQ(intents.size(), 1u);
    EXPECT_EQ(intents[0].type, ConfigType::kAddSecondaryForLoadBalance);
    EXPECT_EQ(intents[0].node, kD);
  }
  // It is made: the giver's is one too many, though D has fewer.
  state_.tables[1].partitions[0].intent.reset();
  SetMembers(0, kA, {kB, kC, kD});
  ASSERT_EQ(Intents().size(), 1u);
  EXPECT_EQ(state_.tables[1].partitions[0].intent->type, ConfigType::kRemove);
  EXPECT_EQ(state_.tables[1].partitions[0].intent->node, kC);
  // Its directory is still there.
  SetMembers(0, kA, {kB, kD});
  EXPECT_TRUE(Intents().empty());
  state_.nodes[kC].replicas.erase(kPid);
  ASSERT_EQ(Intents().size(), 1u);
  EXPECT_EQ(state_.tables[1].partitions[1].intent->node, kD);
}

TEST_F(CopyGivingTest, WhoHasMoreRoomAgainGivesNothingMore) {
  Has(kC, 9);
  ASSERT_EQ(Intents().size(), 1u);
  Has(kC, 14);
  ASSERT_EQ(Intents().size(), 1u) << "it goes on";
  Has(kC, 15);
  EXPECT_TRUE(Intents().empty());
  Has(kC, 10);
  EXPECT_TRUE(Intents().empty());
}

TEST_F(CopyGivingTest, WhereNobodyHasMuchRoomNothingIsGiven) {
  Has(kC, 9);
  Has(kD, 19);
  EXPECT_TRUE(Intents().empty());
}

TEST_F(CopyGivingTest, TheFullestTwoGiveFirst) {
  SetMembers(1, kB, {kA, kC});
  Has(kA, 5);
  Has(kB, 8);
  Has(kC, 7);
  const CopyGiving giving(state_);
  const auto& partitions = state_.tables[1].partitions;
  EXPECT_EQ(giving.GiverOf(partitions[0].config), kC);
  EXPECT_TRUE(giving.MayGive(partitions[0]));
  EXPECT_EQ(giving.GiverOf(partitions[1].config), kA);
  EXPECT_TRUE(giving.MayGive(partitions[1]));
  SetMembers(0, kA, {kB, kD});
  EXPECT_FALSE(CopyGiving(state_).MayGive(partitions[0])) << "two others are fuller than B";
}

TEST_F(CopyGivingTest, APrimaryKeepsItsCopy) {
  Has(kA, 9);
  EXPECT_TRUE(Intents().empty());
}

}  // namespace
}  // namespace arion
