// SPDX-License-Identifier: Apache-2.0
#include "meta_judgement/balance_planner.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace arion {
namespace {

constexpr Endpoint kA{1, 34801}, kB{2, 34801}, kC{3, 34801}, kD{4, 34801};

class BalancePlannerTest : public testing::Test {
 protected:
  BalancePlannerTest() {
    for (Endpoint node : {kA, kB, kC}) state_.nodes[node] = {.alive = true, .collected = true};
    state_.tables[1].info = {.status = AppStatus::kAvailable, .app_id = 1, .max_replica_count = 3};
  }
  Partition& Add(Endpoint primary, std::vector<Endpoint> secondaries, int32_t app_id = 1) {
    Table& table = state_.tables[app_id];
    table.info.status = AppStatus::kAvailable;
    table.info.max_replica_count = static_cast<int32_t>(secondaries.size()) + 1;
    Partition partition;
    partition.config = {.pid = {app_id, table.info.partition_count++},
                        .ballot = Ballot(3),
                        .max_replica_count = table.info.max_replica_count,
                        .primary = primary,
                        .secondaries = secondaries};
    partition.serving = {secondaries.begin(), secondaries.end()};
    partition.serving.insert(primary);
    table.partitions.push_back(partition);
    return table.partitions.back();
  }
  // Carries plans out until there is none; how many moves that took.
  int Settle() {
    int moves = 0;
    for (auto plan = PlanBalance(state_, 2); !plan.empty() && moves < 1000;
         plan = PlanBalance(state_, 2)) {
      for (const BalanceMove& move : plan) {
        ++moves;
        Partition& partition = *state_.FindPartition(move.pid);
        PartitionConfiguration& config = partition.config;
        partition.serving.insert(move.to);
        if (move.kind == BalanceMove::Kind::kCopySecondary) {
          EXPECT_TRUE(config.IsSecondary(move.from));
          EXPECT_FALSE(config.IsMember(move.to));
          std::replace(config.secondaries.begin(), config.secondaries.end(), move.from, move.to);
          continue;
        }
        EXPECT_EQ(config.primary, move.from);
        EXPECT_EQ(config.IsSecondary(move.to), move.kind == BalanceMove::Kind::kMovePrimary);
        if (config.IsSecondary(move.to))
          std::replace(config.secondaries.begin(), config.secondaries.end(), move.to, move.from);
        config.primary = move.to;
      }
    }
    return moves;
  }
  int64_t Spread(int32_t app_id, bool only_primaries) {
    std::map<Endpoint, int64_t> counts;
    for (const auto& [endpoint, node] : state_.nodes) counts[endpoint] = 0;
    for (const Partition& partition : state_.tables[app_id].partitions) {
      ++counts[partition.config.primary];
      if (only_primaries) continue;
      for (Endpoint node : partition.config.secondaries) ++counts[node];
    }
    int64_t most = 0, fewest = INT64_MAX;
    for (const auto& [endpoint, count] : counts) {
      most = std::max(most, count);
      fewest = std::min(fewest, count);
    }
    return most - fewest;
  }
  ClusterState state_;
};

TEST_F(BalancePlannerTest, PrimariesMoveToSecondariesFirst) {
  for (int i = 0; i < 6; ++i) Add(kA, {kB, kC});
  const auto plan = PlanBalance(state_, 2);
  ASSERT_EQ(plan.size(), 2u);
  EXPECT_NE(plan[0].pid, plan[1].pid);
  EXPECT_EQ(Settle(), 4);
  EXPECT_EQ(Spread(1, true), 0);
  EXPECT_TRUE(PlanBalance(state_, 2).empty());
}

TEST_F(BalancePlannerTest, ATableThatIsBeingSplitIsLeftAlone) {
  for (int i = 0; i < 6; ++i) Add(kA, {kB, kC});
  for (int i = 0; i < 6; ++i) Add(kB, {kA, kC}, 2);
  Table& table = state_.tables[1];
  for (int32_t i = 6; i < 12; ++i)
    table.partitions.emplace_back().config = {.pid = {1, i}, .ballot = kBallotOfUnregistered};
  table.info.partition_count = 12;
  table.split = TableSplit{.from = 6};
  const auto plan = PlanBalance(state_, 100);
  EXPECT_FALSE(plan.empty());
  for (const BalanceMove& move : plan) EXPECT_EQ(move.pid.app_id, 2);
  // What is there of it still has to be whole.
  table.partitions[0].config.primary = {};
  EXPECT_TRUE(PlanBalance(state_, 100).empty());
}

TEST_F(BalancePlannerTest, AChainOfMovesGoesOverServersInBetween) {
  // A can give only to B, and only B can give to C.
  for (int i = 0; i < 3; ++i) Add(kA, {kB});
  for (int i = 0; i < 2; ++i) Add(kB, {kC});
  Add(kC, {kB});
  using enum BalanceMove::Kind;
  EXPECT_EQ(PlanBalance(state_, 2), (std::vector<BalanceMove>{{kMovePrimary, {1, 3}, kB, kC},
                                                              {kMovePrimary, {1, 0}, kA, kB}}));
  Settle();
  EXPECT_EQ(Spread(1, true), 0);
}

TEST_F(BalancePlannerTest, ANewServerGetsCopiesAndPrimaries) {
  for (int i = 0; i < 16; ++i) {
    const Endpoint all[] = {kA, kB, kC};
    Add(all[i % 3], {all[(i + 1) % 3], all[(i + 2) % 3]});
    Add(all[i % 3], {all[(i + 1) % 3]}, 2);
  }
  EXPECT_TRUE(PlanBalance(state_, 2).empty());
  state_.nodes[kD] = {.alive = true, .collected = true};
  EXPECT_EQ(PlanBalance(state_, 2)[0].kind, BalanceMove::Kind::kCopyPrimary);
  EXPECT_LT(Settle(), 40);
  for (int32_t app_id : {1, 2}) {
    EXPECT_LE(Spread(app_id, true), 1);
    EXPECT_LE(Spread(app_id, false), 1);
  }
}

TEST_F(BalancePlannerTest, WhoseDiskHasLessThanAFifthLeftGetsNoNewCopies) {
  for (int i = 0; i < 4; ++i) Add(kA, {});
  state_.nodes[kB].disks = {{.tag = "ssd", .total_bytes = 1000, .available_bytes = 200}};
  state_.nodes[kC].disks = {{.tag = "ssd", .total_bytes = 1000, .available_bytes = 199}};
  for (const BalanceMove& move : PlanBalance(state_, 4)) EXPECT_EQ(move.to, kB);
  EXPECT_FALSE(PlanBalance(state_, 4).empty());
}

TEST_F(BalancePlannerTest, WhereNoDiskHasAFifthLeftAllButNearlyFullOnesGetCopies) {
  for (int i = 0; i < 4; ++i) Add(kA, {});
  for (Endpoint node : {kA, kB, kC})
    state_.nodes[node].disks = {{.tag = "ssd", .total_bytes = 1000, .available_bytes = 150}};
  state_.nodes[kC].nearly_full = {"ssd"};
  for (const BalanceMove& move : PlanBalance(state_, 4)) EXPECT_EQ(move.to, kB);
  EXPECT_FALSE(PlanBalance(state_, 4).empty());
}

// A full server keeps the fewest replicas: it would be chosen for each move, and none would happen.
TEST_F(BalancePlannerTest, WhoTookNoReplicaGetsNoNewCopies) {
  for (int i = 0; i < 4; ++i) Add(kA, {});
  state_.FindPartition({1, 2})->passed_over[kC] = Instant(1);
  using enum BalanceMove::Kind;
  EXPECT_EQ(PlanBalance(state_, 2), (std::vector<BalanceMove>{{kCopyPrimary, {1, 0}, kA, kB},
                                                              {kCopyPrimary, {1, 1}, kA, kB}}));
  Settle();
  EXPECT_EQ(Spread(1, true), 2);
  for (int i = 0; i < 3; ++i) Add(kA, {kB}, 2);
  for (int i = 0; i < 3; ++i) Add(kB, {kA}, 2);
  EXPECT_TRUE(PlanBalance(state_, 2).empty());
  state_.FindPartition({1, 2})->passed_over.clear();
  EXPECT_FALSE(PlanBalance(state_, 2).empty());
}

TEST_F(BalancePlannerTest, NothingMovesWhileAnythingIsWrongOrUnderWay) {
  for (int i = 0; i < 6; ++i) Add(kA, {kB, kC});
  ASSERT_FALSE(PlanBalance(state_, 2).empty());
  const ClusterState good = state_;
  const auto idle = [&](auto spoil) {
    spoil();
    EXPECT_TRUE(PlanBalance(state_, 2).empty());
    state_ = good;
  };
  idle([&] { state_.nodes[kC].alive = false; });
  idle([&] { state_.nodes[kB].collected = false; });
  // The guardian moves primaries away from there.
  idle([&] { state_.nodes[kC].slow_disks = {"ssd"}; });
  idle([&] { state_.nodes[kC].disks = {{.tag = "ssd", .takes_no_writes = true}}; });
  idle([&] { state_.nodes[kA].slow_members = {kC}; });
  idle([&] { state_.tables[1].partitions[5].config.secondaries.pop_back(); });
  idle([&] { state_.tables[1].partitions[5].serving.erase(kB); });
  idle([&] {
    Partition& partition = state_.tables[1].partitions[5];
    partition.pending = partition.config;
  });
  idle([&] { state_.tables[1].partitions[5].intent = Intent{}; });
  idle([&] { state_.tables[1].partitions[5].planned = {Intent{}}; });
  idle([&] { state_.tables[1].partitions[5].primary_deadline = Instant(1); });
  idle([&] { state_.tables[1].info.status = AppStatus::kRecalling; });
  idle([&] { state_.tables[1].partitions_change = true; });
}

TEST_F(BalancePlannerTest, ASlowServerAndWhatItHasIsLeftAloneAndTheRestIsBalanced) {
  state_.nodes[kD] = {.alive = true, .collected = true, .slow_disks = {"ssd"}};
  for (int i = 0; i < 20; ++i) Add(kD, {kA, kB});
  for (int i = 0; i < 6; ++i) Add(kA, {kB, kC}, 2);
  const auto plan = PlanBalance(state_, 4);
  ASSERT_EQ(plan.size(), 4u);
  for (const BalanceMove& move : plan) EXPECT_EQ(move.pid.app_id, 2);
  Settle();
  EXPECT_EQ(Spread(1, true), 20);
}

TEST_F(BalancePlannerTest, AServerWhoseOpenFilesCarryNoMoreGetsNoCopies) {
  state_.nodes[kD] = {.alive = true, .collected = true, .replicas_max = 0};
  for (int i = 0; i < 6; ++i) Add(kA, {kB, kC});
  for (const BalanceMove& move : PlanBalance(state_, 10)) EXPECT_NE(move.to, kD);
  state_.nodes[kD].replicas_max = 100;
  bool takes = false;
  for (const BalanceMove& move : PlanBalance(state_, 10)) takes |= move.to == kD;
  EXPECT_TRUE(takes);
}

TEST_F(BalancePlannerTest, WhereNoCopyMayBeMadeTheNextTablesPrimariesMove) {
  state_.nodes[kD] = {.alive = true, .collected = true};
  for (Endpoint node : {kA, kB, kC})  // only a copy on D would help
    for (int i = 0; i < 2; ++i) {
      std::vector<Endpoint> others = {kA, kB, kC};
      std::erase(others, node);
      Add(node, others);
    }
  for (int i = 0; i < 6; ++i) Add(kA, {kB, kC}, 2);
  const auto plan = PlanBalance(state_, 2, BalanceBy::kPrimaries);
  ASSERT_EQ(plan.size(), 2u);
  for (const BalanceMove& move : plan) {
    EXPECT_EQ(move.pid.app_id, 2);
    EXPECT_EQ(move.kind, BalanceMove::Kind::kMovePrimary);
  }
}

}  // namespace
}  // namespace arion
