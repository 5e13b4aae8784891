// SPDX-License-Identifier: Apache-2.0
#include "meta_state/configuration_change.h"

#include <gtest/gtest.h>

namespace arion {
namespace {

constexpr Endpoint kA{1, 34801}, kB{2, 34801}, kC{3, 34801}, kD{4, 34801};
constexpr PartitionId kPid{1, 0};

class ConfigurationChangeTest : public testing::Test {
 protected:
  ConfigurationChangeTest() {
    Table& table = state_.tables[1];
    table.info = {.status = AppStatus::kAvailable, .app_id = 1, .partition_count = 1};
    table.partitions.resize(1);
    for (Endpoint node : {kA, kB, kC, kD}) state_.nodes[node] = {.alive = true, .collected = true};
    Now(kA, {kB, kC});
  }
  Partition& partition() { return state_.tables[1].partitions[0]; }
  void Now(Endpoint primary, std::vector<Endpoint> secondaries, std::vector<Endpoint> drops = {}) {
    partition() = {};
    partition().config = {.pid = kPid,
                          .ballot = Ballot(5),
                          .max_replica_count = 3,
                          .primary = primary,
                          .secondaries = std::move(secondaries),
                          .last_drops = std::move(drops)};
  }
  UpdateJudgement Judge(ConfigType type, Endpoint node, Endpoint primary,
                        std::vector<Endpoint> secondaries) {
    request_ = {.config = partition().config, .type = type, .node = node};
    request_.config.ballot = Ballot(6);
    request_.config.primary = primary;
    request_.config.secondaries = std::move(secondaries);
    request_.config.last_committed_decree = Decree(42);
    return JudgeUpdate(state_, FunctionLevel::kSteady, request_);
  }
  bool Applies(ConfigType type, Endpoint node, Endpoint primary,
               std::vector<Endpoint> secondaries) {
    judgement_ = Judge(type, node, primary, std::move(secondaries));
    return judgement_.verdict == UpdateVerdict::kApply;
  }

  ClusterState state_;
  ConfigurationUpdateRequest request_;
  UpdateJudgement judgement_;
};

TEST_F(ConfigurationChangeTest, AnAppliedUpdateRaisesTheBallotByOneAndKeepsTheRequestedOrder) {
  Now(kA, {kB}, {kC, kD});
  ASSERT_TRUE(Applies(ConfigType::kUpgradeToSecondary, kC, kA, {kC, kB}));
  const PartitionConfiguration& next = judgement_.next;
  EXPECT_EQ(next.ballot, Ballot(6));
  EXPECT_EQ(next.secondaries, (std::vector{kC, kB}));
  EXPECT_EQ(next.last_drops, std::vector{kD}) << "a member is no dropped node";
  EXPECT_EQ(next.last_committed_decree, Decree(42));
  EXPECT_EQ(next.max_replica_count, 3);
}

TEST_F(ConfigurationChangeTest, RemovedNodesAreRememberedNewestLastAtMostThree) {
  Now(kA, {kB, kC}, {kC, kD, Endpoint{9, 1}});
  ASSERT_TRUE(Applies(ConfigType::kRemove, kC, kA, {kB}));
  EXPECT_EQ(judgement_.next.last_drops, (std::vector{kD, Endpoint{9, 1}, kC}));
  ASSERT_TRUE(Applies(ConfigType::kDowngradeToInactive, kB, kA, {kC}));
  EXPECT_EQ(judgement_.next.last_drops, (std::vector{kD, Endpoint{9, 1}, kB}));
}

TEST_F(ConfigurationChangeTest, EachTypeAllowsItsOwnChangeOnly) {
  EXPECT_TRUE(Applies(ConfigType::kDowngradeToSecondary, kA, {}, {kB, kC, kA}));
  EXPECT_TRUE(Applies(ConfigType::kPrimaryForceUpdateBallot, kA, kA, {kC, kB}));
  EXPECT_TRUE(Applies(ConfigType::kRemove, kD, kA, {kB, kC})) << "a learner: members stay";
  EXPECT_TRUE(Applies(ConfigType::kDowngradeToInactive, kA, {}, {kB, kC})) << "it lost its replica";

  EXPECT_FALSE(Applies(ConfigType::kDowngradeToSecondary, kB, {}, {kB, kC, kA}));
  EXPECT_FALSE(Applies(ConfigType::kPrimaryForceUpdateBallot, kB, kA, {kB, kC}));
  EXPECT_FALSE(Applies(ConfigType::kPrimaryForceUpdateBallot, kA, kA, {kB}));
  EXPECT_FALSE(Applies(ConfigType::kRemove, kB, kA, {}));
  EXPECT_FALSE(Applies(ConfigType::kRemove, kB, kA, {kB}));
  EXPECT_FALSE(Applies(ConfigType::kUpgradeToSecondary, kD, kA, {kB, kC, kD, kD}));
  EXPECT_FALSE(Applies(ConfigType::kUpgradeToSecondary, kB, kA, {kB, kC, kB}));
  EXPECT_FALSE(Applies(ConfigType::kAddSecondary, kD, kA, {kB, kC, kD}));
  EXPECT_FALSE(Applies(ConfigType::kInvalid, kB, kA, {kC}));
}

TEST_F(ConfigurationChangeTest, OnlyTheChosenNodeBecomesPrimary) {
  Now({}, {kB, kC}, {kA});
  EXPECT_FALSE(Applies(ConfigType::kUpgradeToPrimary, kB, kB, {kC})) << "nobody was chosen";
  partition().intent = Intent{.type = ConfigType::kUpgradeToPrimary, .target = kB, .node = kB};
  EXPECT_TRUE(Applies(ConfigType::kUpgradeToPrimary, kB, kB, {kC}));
  EXPECT_FALSE(Applies(ConfigType::kUpgradeToPrimary, kC, kC, {kB}));
  Now({}, {}, {});
  partition().intent = Intent{.type = ConfigType::kAssignPrimary, .target = kD, .node = kD};
  EXPECT_TRUE(Applies(ConfigType::kAssignPrimary, kD, kD, {}));
}

TEST_F(ConfigurationChangeTest, TheDeadNeitherChangeNorJoin) {
  state_.nodes[kA].alive = false;
  EXPECT_FALSE(Applies(ConfigType::kRemove, kB, kA, {kC}));
  state_.nodes[kA].alive = true;
  state_.nodes[kB].alive = false;
  EXPECT_TRUE(Applies(ConfigType::kRemove, kB, kA, {kC}));
  Now(kA, {kC});
  EXPECT_FALSE(Applies(ConfigType::kUpgradeToSecondary, kB, kA, {kC, kB}));
}

TEST_F(ConfigurationChangeTest, ARestartedPrimaryMayResumeOrStepBackButWhatItSentBeforeIsRefused) {
  partition().primary_deadline = Instant(5);
  EXPECT_FALSE(Applies(ConfigType::kRemove, kB, kA, {kC}));
  EXPECT_TRUE(Applies(ConfigType::kPrimaryForceUpdateBallot, kA, kA, {kB, kC}));
  EXPECT_TRUE(Applies(ConfigType::kDowngradeToSecondary, kA, {}, {kB, kC, kA}));
  partition().suspects.insert(kA);
  EXPECT_FALSE(Applies(ConfigType::kPrimaryForceUpdateBallot, kA, kA, {kB, kC}));
  Now(kA, {});
  partition().suspects.insert(kA);
  EXPECT_TRUE(Applies(ConfigType::kPrimaryForceUpdateBallot, kA, kA, {})) << "nobody else has more";
}

TEST_F(ConfigurationChangeTest, AnOlderVersionsPrimaryThatBeganAnewGivesWayToItsSecondaries) {
  state_.nodes[kA].is_older = true;
  Judge(ConfigType::kPrimaryForceUpdateBallot, kA, kA, {kB, kC});
  const auto at = [&](FunctionLevel level) { return JudgeUpdate(state_, level, request_).verdict; };
  EXPECT_EQ(at(FunctionLevel::kSteady), UpdateVerdict::kGivesWay);
  EXPECT_EQ(at(FunctionLevel::kFreezed), UpdateVerdict::kGivesWay)
      << "it would answer reads too early";
  Now(kA, {});
  EXPECT_TRUE(Applies(ConfigType::kPrimaryForceUpdateBallot, kA, kA, {})) << "nobody is there";
}

TEST_F(ConfigurationChangeTest, RepeatsStaleBallotsAndPendingChangesAreToldApart) {
  Judge(ConfigType::kRemove, kB, kA, {kC});
  auto verdict = [&] { return JudgeUpdate(state_, FunctionLevel::kSteady, request_).verdict; };
  request_.config.ballot = Ballot(5);
  EXPECT_EQ(verdict(), UpdateVerdict::kOutdated);
  request_.config.ballot = Ballot(7);
  EXPECT_EQ(verdict(), UpdateVerdict::kOutdated);
  request_.config.ballot = Ballot(6);
  partition().pending = request_.config;
  EXPECT_EQ(verdict(), UpdateVerdict::kPending);
  Install(partition(), *partition().pending, ConfigType::kRemove, Instant(0));
  request_.config.last_drops.clear();
  EXPECT_EQ(verdict(), UpdateVerdict::kRepeat);
  const auto freezed = [&] {
    return JudgeUpdate(state_, FunctionLevel::kFreezed, request_).verdict;
  };
  EXPECT_EQ(freezed(), UpdateVerdict::kRepeat) << "it was carried out before";
  request_.config.ballot = Ballot(7);
  EXPECT_EQ(freezed(), UpdateVerdict::kFreezed);
}

// Who may not step down, or has restarted, goes on as primary.
TEST_F(ConfigurationChangeTest, FreezedOnlyTheBallotOfAPrimaryRises) {
  Judge(ConfigType::kPrimaryForceUpdateBallot, kA, kA, {kB, kC});
  const auto at = [&](FunctionLevel level) { return JudgeUpdate(state_, level, request_).verdict; };
  EXPECT_EQ(at(FunctionLevel::kFreezed), UpdateVerdict::kApply);
  EXPECT_EQ(at(FunctionLevel::kBlind), UpdateVerdict::kFreezed);
  Judge(ConfigType::kPrimaryForceUpdateBallot, kA, kA, {kB});
  EXPECT_EQ(at(FunctionLevel::kFreezed), UpdateVerdict::kOutdated);
  Judge(ConfigType::kDowngradeToSecondary, kA, {}, {kB, kC, kA});
  EXPECT_EQ(at(FunctionLevel::kFreezed), UpdateVerdict::kFreezed);
}

TEST_F(ConfigurationChangeTest, InstallRemembersWhoWasDroppedAndWhoServes) {
  partition().serving = {kA, kB, kC};
  Install(partition(), WithoutPrimary(partition().config), ConfigType::kInvalid, Instant(7));
  EXPECT_EQ(partition().serving, (std::set{kB, kC}));
  ASSERT_EQ(partition().dropped.size(), 1u);
  EXPECT_EQ(partition().dropped[0].node, kA);
  EXPECT_EQ(partition().dropped[0].at, Instant(7));
  EXPECT_EQ(partition().headless_since, Instant(7));
  EXPECT_EQ(partition().former_primary, kA);
}

TEST_F(ConfigurationChangeTest, ADroppedTablesPartitionsRememberTheirPrimaryLast) {
  PartitionConfiguration emptied = Emptied(partition().config);
  EXPECT_EQ(emptied.MemberCount(), 0u);
  EXPECT_EQ(emptied.last_drops, (std::vector{kB, kC, kA}));
  EXPECT_EQ(emptied.partition_flags, kPartitionDropped);
  EXPECT_EQ(emptied.ballot, Ballot(6));
}

}  // namespace
}  // namespace arion
