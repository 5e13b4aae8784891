// Who has least, counting what was proposed and chosen. SPDX-License-Identifier: Apache-2.0
#include "meta_judgement/placement_planner.h"

#include <algorithm>

#include "tests/meta/one_partition.h"

namespace arion {
namespace {

class PlacementPlannerTest : public OnePartitionTest {
 protected:
  static bool Anybody(Endpoint) { return true; }
  static constexpr Endpoint kAll[] = {kA, kB, kC, kD};
};

TEST_F(PlacementPlannerTest, AfterManyChoicesFromEqualServersNumbersDifferByOneAtMost) {
  PlacementPlanner planner(state_);
  std::map<Endpoint, int> primaries, replicas;
  for (int i = 0; i < 10; ++i) {
    const Endpoint primary = planner.FewestPrimaries(Anybody);
    planner.AddPrimary(primary, 1);
    ++primaries[primary], ++replicas[primary];
    const Endpoint secondary =
        planner.FewestReplicas(1, [&](Endpoint node) { return node != primary; });
    ASSERT_NE(secondary, primary);
    planner.AddReplica(secondary, 1);
    ++replicas[secondary];
  }
  for (const auto& counts : {primaries, replicas}) {
    ASSERT_EQ(counts.size(), 4u);
    const auto [least, most] = std::minmax_element(
        counts.begin(), counts.end(), [](auto& a, auto& b) { return a.second < b.second; });
    EXPECT_LE(most->second - least->second, 1);
  }
}

TEST_F(PlacementPlannerTest, ConfigurationsCountAsTheyAre) {
  Members(kA, {kB});
  const PlacementPlanner planner(state_);
  EXPECT_EQ(planner.FewestPrimaries({kA, kB}), kB);
  EXPECT_EQ(planner.FewestPrimaries({kD, kC}), kD) << "of equal ones the first";
  EXPECT_EQ(planner.FewestPrimaries(Anybody), kC) << "as many primaries as B, fewer replicas";
  EXPECT_EQ(planner.MostReplicas({kC, kB, kA}), kB);
  EXPECT_FALSE(planner.MostReplicas({}).IsValid());
}

TEST_F(PlacementPlannerTest, WhatIsProposedCountsAsIfItHadHappened) {
  partition().intent = Intent{.type = ConfigType::kAssignPrimary, .target = kA, .node = kA};
  EXPECT_EQ(PlacementPlanner(state_).FewestPrimaries({kA, kB}), kB);
  EXPECT_EQ(PlacementPlanner(state_).MostReplicas({kB, kA}), kA);
  partition().intent = Intent{.type = ConfigType::kUpgradeToPrimary, .target = kA, .node = kA};
  EXPECT_EQ(PlacementPlanner(state_).FewestPrimaries({kA, kB}), kB);
  EXPECT_EQ(PlacementPlanner(state_).MostReplicas({kB, kA}), kB) << "it has its replica already";
  partition().intent = Intent{.type = ConfigType::kAddSecondary, .target = kB, .node = kA};
  EXPECT_EQ(PlacementPlanner(state_).FewestPrimaries({kA, kB}), kA);
  EXPECT_EQ(PlacementPlanner(state_).MostReplicas({kB, kA}), kA);
  partition().intent = Intent{.type = ConfigType::kRemove, .target = kB, .node = kA};
  EXPECT_EQ(PlacementPlanner(state_).MostReplicas({kB, kA}), kB);
}

TEST_F(PlacementPlannerTest, WhoIsDeadOrHasNotReportedIsNotChosen) {
  Dead(kA);
  state_.nodes[kB].collected = false;
  const PlacementPlanner planner(state_);
  EXPECT_EQ(planner.FewestPrimaries(Anybody), kC);
  EXPECT_EQ(planner.FewestReplicas(1, Anybody), kC);
  EXPECT_FALSE(planner.FewestReplicas(1, [](Endpoint node) { return node == kB; }).IsValid());
}

TEST_F(PlacementPlannerTest, FewOfTheTableGoesBeforeFewInAll) {
  PlacementPlanner planner(state_);
  planner.AddReplica(kA, 2);
  planner.AddReplica(kA, 2);
  for (Endpoint node : {kB, kC, kD}) planner.AddReplica(node, 1);
  EXPECT_EQ(planner.FewestReplicas(1, Anybody), kA);
  EXPECT_EQ(planner.FewestReplicas(2, Anybody), kB);
}

TEST_F(PlacementPlannerTest, TheLimitOfOpenFilesCountsWhatWasJustChosen) {
  PlacementPlanner planner(state_);
  EXPECT_TRUE(planner.HasRoom(kA)) << "it says nothing of a limit";
  state_.nodes[kA].replicas_max = 1;
  EXPECT_TRUE(planner.HasRoom(kA));
  planner.AddReplica(kA, 1);
  EXPECT_FALSE(planner.HasRoom(kA));
}

}  // namespace
}  // namespace arion
