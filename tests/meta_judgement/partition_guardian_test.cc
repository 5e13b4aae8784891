// SPDX-License-Identifier: Apache-2.0
#include "meta_judgement/partition_guardian.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "meta_judgement/balance_planner.h"
#include "meta_judgement/older_everywhere.h"
#include "meta_judgement/succession.h"
#include "meta_state/cluster_warning.h"
#include "meta_state/configuration_change.h"
#include "tests/meta/one_partition.h"

namespace arion {
namespace {

class PartitionGuardianTest : public OnePartitionTest {
 protected:
  void FailsToLearn(Endpoint node) {
    partition().intent = Step().intent;
    Reports(node, {.status = PartitionStatus::kPotentialSecondary});
    Reports(node, {.status = PartitionStatus::kInactive});
  }
  static DiskReport Full() { return {.takes_no_writes = true}; }
  // One disk of `node`, beside another that takes writes where its replica does not lie.
  void ReportsDisk(Endpoint node, DiskReport disk, const char* tag = "ssd") {
    const bool is_member = partition().config.IsMember(node);
    std::vector<ReplicaInfo> replicas;
    if (is_member) replicas = {{.pid = kPid, .disk_tag = "ssd"}};
    for (ReplicaInfo& replica : replicas)
      replica.status = partition().config.primary == node ? PartitionStatus::kPrimary
                                                          : PartitionStatus::kSecondary;
    disk.tag = tag;
    std::vector<DiskReport> disks = {disk};
    if (disk.tag != "ssd") disks.push_back({.tag = "ssd"});
    NoteReports(state_, {.node = node, .stored_replicas = replicas, .number = 1, .disks = disks}, 0,
                absl::Seconds(10), now_);
  }
  // Proposed again and again for so long, in vain.
  void Asked(ConfigType type, Endpoint target, Endpoint node, absl::Duration time) {
    partition().intent = Intent{.type = type,
                                .target = target,
                                .node = node,
                                .times_sent = 10,
                                .last_sent = now_ - absl::Seconds(5),
                                .first_sent = now_ - time};
  }
  GuardianPlan::Step Step(FunctionLevel level = FunctionLevel::kSteady) {
    GuardianPlan plan = PlanPartitions(state_, level, options_, now_);
    next_look_ = plan.next_look;
    return plan.steps.empty() ? GuardianPlan::Step{} : plan.steps[0];
  }
  void Expect(ConfigType type, Endpoint target, Endpoint node) {
    GuardianPlan::Step step = Step();
    EXPECT_FALSE(step.write);
    ASSERT_TRUE(step.intent);
    EXPECT_EQ(static_cast<int>(step.intent->type), static_cast<int>(type));
    EXPECT_EQ(step.intent->target, target);
    EXPECT_EQ(step.intent->node, node);
  }
  void ExpectNothing() {
    GuardianPlan::Step step = Step();
    EXPECT_FALSE(step.write) << step.reason;
    EXPECT_FALSE(step.intent);
  }

  GuardianOptions options_;
};

// ---- What one partition needs next (meta/STATE.md 6)

TEST_F(PartitionGuardianTest, AHealthyPartitionIsLeftAlone) {
  Members(kA, {kB, kC});
  ExpectNothing();
}

TEST_F(PartitionGuardianTest, ANewPartitionGoesToTheNodeWithFewestPrimaries) {
  Table& other = state_.tables[2];
  other.info = {.status = AppStatus::kAvailable, .app_id = 2, .partition_count = 3};
  for (Endpoint node : {kA, kB, kD}) {
    Partition partition;
    partition.config = {
        .pid = {2, 0}, .ballot = Ballot(1), .max_replica_count = 1, .primary = node};
    other.partitions.push_back(partition);
  }
  Expect(ConfigType::kAssignPrimary, kC, kC);
}

TEST_F(PartitionGuardianTest, ManyNewPartitionsAreSpreadInOneLook) {
  Table& table = state_.tables[1];
  table.partitions.assign(10, table.partitions[0]);
  for (int i = 0; i < 10; ++i) table.partitions[static_cast<size_t>(i)].config.pid.index = i;
  std::map<Endpoint, int> primaries;
  for (const auto& step : PlanPartitions(state_, FunctionLevel::kSteady, options_, now_).steps) {
    ++primaries[step.intent->node];
  }
  EXPECT_EQ(primaries, (std::map<Endpoint, int>{{kA, 3}, {kB, 3}, {kC, 2}, {kD, 2}}));
}

TEST_F(PartitionGuardianTest, WithoutPrimaryTheAliveSecondaryWithFewestPrimariesIsUpgraded) {
  Members({}, {kB, kC}, {kA});
  Expect(ConfigType::kUpgradeToPrimary, kB, kB);
  Dead(kB);
  Expect(ConfigType::kUpgradeToPrimary, kC, kC);
  Dead(kC);
  ExpectNothing();
}

TEST_F(PartitionGuardianTest, WhoSteppedDownIsTheLastChoice) {
  Members({}, {kB, kC}, {});
  partition().former_primary = kB;
  Expect(ConfigType::kUpgradeToPrimary, kC, kC);
  Dead(kC);
  Expect(ConfigType::kUpgradeToPrimary, kB, kB);
}

TEST_F(PartitionGuardianTest, ADeadPrimaryIsRemovedByMetaItself) {
  Members(kA, {kB, kC}, {kD});
  Dead(kA);
  for (FunctionLevel level : {FunctionLevel::kSteady, FunctionLevel::kFreezed}) {
    GuardianPlan::Step step = Step(level);
    ASSERT_TRUE(step.write);
    EXPECT_EQ(step.write->ballot, Ballot(6));
    EXPECT_FALSE(step.write->primary.IsValid());
    EXPECT_EQ(step.write->secondaries, (std::vector{kB, kC}));
    EXPECT_EQ(step.write->last_drops, (std::vector{kD, kA}));
  }
}

TEST_F(PartitionGuardianTest, ADeadSecondaryIsRemovedByItsPrimary) {
  Members(kA, {kB, kC});
  Dead(kC);
  Expect(ConfigType::kDowngradeToInactive, kA, kC);
}

TEST_F(PartitionGuardianTest, ADeadSecondaryOfNobodyStays) {
  Members({}, {kB}, {kA});
  Dead(kB);
  ExpectNothing();
  // Though who led it last is back: what is stored does not say that it was the one.
  Reports(kA, {.ballot = Ballot(4)});
  ExpectNothing();
  EXPECT_TRUE(IsForsaken(state_, partition()));
  EXPECT_TRUE(Step().IsChoiceFailed(partition().config));
}

TEST_F(PartitionGuardianTest, AnAdministratorMayNameALeaderWhereNoSecondaryIsLeft) {
  Members({}, {kB}, {kA});
  const std::vector<Intent> named = {
      {.type = ConfigType::kAssignPrimary, .target = kA, .node = kA}};
  auto may_be_planned = [&] { return MayBePlanned(state_, options_, partition(), named, now_); };
  Reports(kA, {.ballot = Ballot(4)});
  state_.nodes[kB].collected = false;
  EXPECT_FALSE(may_be_planned()) << "it may have a copy, and says so any moment";
  Reports(kB, {.loading = true});
  EXPECT_FALSE(may_be_planned());
  Reports(kB, {.ballot = Ballot(5)});
  EXPECT_FALSE(may_be_planned());
  state_.nodes[kB].replicas.clear();
  EXPECT_TRUE(may_be_planned()) << "it lost its copy";
  Dead(kB);
  EXPECT_TRUE(may_be_planned());

  partition().planned = named;
  const GuardianPlan::Step step = Step();
  ASSERT_TRUE(step.write) << "nobody is primary among members that are not there";
  EXPECT_FALSE(step.planned);
  EXPECT_EQ(step.write->ballot, Ballot(6));
  EXPECT_EQ(step.write->MemberCount(), 0u);
  EXPECT_EQ(step.write->last_drops, (std::vector{kA, kB}));
  Install(partition(), *step.write, ConfigType::kInvalid, now_);
  Expect(ConfigType::kAssignPrimary, kA, kA);
  EXPECT_FALSE(Step().planned);

  Members({}, {kB}, {kA});
  state_.nodes[kA].replicas.clear();
  EXPECT_FALSE(may_be_planned()) << "it has no copy";
}

TEST_F(PartitionGuardianTest, TooManySecondariesLoseTheOneWithMostReplicas) {
  Members(kA, {kB, kC, kD});
  Table& other = state_.tables[2];
  other.info = {.status = AppStatus::kAvailable, .app_id = 2, .partition_count = 1};
  other.partitions.resize(1);
  other.partitions[0].config = {
      .pid = {2, 0}, .ballot = Ballot(1), .max_replica_count = 1, .primary = kC};
  Expect(ConfigType::kRemove, kA, kC);
}

TEST_F(PartitionGuardianTest, TooFewMembersForWritesAreUrgent) {
  Members(kA, {});
  partition().dropped = {{.node = kB, .at = now_}};
  Expect(ConfigType::kAddSecondary, kA, kB);  // the newest dropped one that is alive
  Dead(kB);
  Expect(ConfigType::kAddSecondary, kA, kC);
  options_.mutation_2pc_min_replica_count = 0;  // a majority
  Expect(ConfigType::kAddSecondary, kA, kC);
}

TEST_F(PartitionGuardianTest, WithNobodyDroppedTheEmptiestNodeLearns) {
  Members(kA, {kB});
  Expect(ConfigType::kAddSecondary, kA, kC);
  state_.nodes[kC].collected = false;
  Expect(ConfigType::kAddSecondary, kA, kD);
}

TEST_F(PartitionGuardianTest, ADroppedNodeIsWaitedForTheDefaultTenMinutes) {
  Members(kA, {kB});
  partition().dropped = {{.node = kC, .at = now_}};
  Dead(kC);
  ExpectNothing();
  EXPECT_EQ(next_look_, now_ + absl::Minutes(10));
  now_ = kNow + absl::Minutes(10) - absl::Nanoseconds(1);
  ExpectNothing();
  now_ = kNow + absl::Minutes(10);
  Expect(ConfigType::kAddSecondary, kA, kD);
}

TEST_F(PartitionGuardianTest, ADroppedNodeThatReturnedIsTakenBackAtOnce) {
  Members(kA, {kB});
  partition().dropped = {{.node = kC, .at = now_}};
  Expect(ConfigType::kAddSecondary, kA, kC);
}

TEST_F(PartitionGuardianTest, ALoadingReplicaIsNotToldToLearn) {
  Members(kA, {kB});
  partition().dropped = {{.node = kC, .at = now_}};
  Reports(kC, {.status = PartitionStatus::kInactive, .loading = true});
  ExpectNothing();
}

TEST_F(PartitionGuardianTest, WhoWasToldToLearnMayOpenItsReplicaForThat) {
  Members(kA, {kB});
  partition().intent = Intent{.type = ConfigType::kAddSecondary, .target = kA, .node = kD};
  partition().intent->times_sent = 1;
  Reports(kD, {.loading = true});
  Expect(ConfigType::kAddSecondary, kA, kD);
}

// A drain's steps: the rest of them was forgotten while the newcomer opened its replica, and then a
// member that should stay was one too many.
TEST_F(PartitionGuardianTest, WhatWasPlannedIsRememberedWhileTheNewcomerOpensItsReplica) {
  Members(kA, {kB, kC});
  partition().planned = {
      {.type = ConfigType::kAddSecondaryForLoadBalance, .target = kA, .node = kD},
      {.type = ConfigType::kDowngradeToInactive, .target = kA, .node = kB}};
  partition().intent = Step().intent;
  ASSERT_TRUE(partition().intent);
  partition().intent->times_sent = 1;
  Reports(kD, {.loading = true});
  EXPECT_FALSE(Step().planned) << "all of it remains";
  Expect(ConfigType::kAddSecondaryForLoadBalance, kA, kD);
  Members(kA, {kB, kC, kD});
  Expect(ConfigType::kDowngradeToInactive, kA, kB);
}

TEST_F(PartitionGuardianTest, AfterAFailedLearningAnotherNodeIsTried) {
  Members(kA, {kB});
  partition().dropped = {{.node = kC, .at = now_}};
  partition().intent = Step().intent;
  Reports(kC, {.status = PartitionStatus::kPotentialSecondary});
  Expect(ConfigType::kAddSecondary, kA, kC);
  Reports(kC, {.status = PartitionStatus::kError});
  EXPECT_FALSE(partition().intent);
  Expect(ConfigType::kAddSecondary, kA, kD);
}

TEST_F(PartitionGuardianTest, WhoFailedToLearnIsNotChosenAgainForAWhile) {
  Members(kA, {kB});
  partition().dropped = {{.node = kC, .at = now_ - absl::Hours(1)}};
  Dead(kC);
  const Endpoint kE{5, 34801};
  state_.nodes[kE] = {.alive = true, .collected = true};
  Expect(ConfigType::kAddSecondary, kA, kD);
  FailsToLearn(kD);
  Expect(ConfigType::kAddSecondary, kA, kE);
  FailsToLearn(kE);
  now_ = now_ + absl::Minutes(5) - absl::Seconds(1);
  Expect(ConfigType::kAddSecondary, kA, kD);  // who failed first, where all have
  now_ = now_ + absl::Seconds(1);
  Expect(ConfigType::kAddSecondary, kA, kD);  // the emptiest

  NoteRestart(partition(), kE, now_);
  EXPECT_FALSE(partition().passed_over.contains(kE)) << "a new process";
}

// Its directory was set aside: it has nothing to report.
TEST_F(PartitionGuardianTest, ALearnerThatVanishesHasFailed) {
  Members(kA, {kB});
  partition().intent = Step().intent;
  Reports(kC, {.status = PartitionStatus::kPotentialSecondary});
  ReportsNothing(kC);
  EXPECT_FALSE(partition().intent);
  Expect(ConfigType::kAddSecondary, kA, kD);
}

TEST_F(PartitionGuardianTest, WhoHasNotBegunToLearnHasNotFailed) {
  Members(kA, {kB});
  partition().intent = Step().intent;
  ReportsNothing(kC);
  Expect(ConfigType::kAddSecondary, kA, kC);
}

TEST_F(PartitionGuardianTest, WhoBecomesAMemberIsPassedOverNoMore) {
  Members(kA, {kB});
  partition().passed_over[kC] = now_ + absl::Minutes(1);
  PartitionConfiguration next = partition().config;
  ++next.ballot;
  next.secondaries.push_back(kC);
  Install(partition(), next, ConfigType::kUpgradeToSecondary, now_);
  EXPECT_TRUE(partition().passed_over.empty());
}

TEST_F(PartitionGuardianTest, AnIntentStaysWhileItApplies) {
  Members(kA, {kB});
  partition().intent = Intent{.type = ConfigType::kAddSecondary, .target = kA, .node = kD};
  Expect(ConfigType::kAddSecondary, kA, kD);  // though C would be chosen now
  Dead(kD);
  Expect(ConfigType::kAddSecondary, kA, kC);
}

TEST_F(PartitionGuardianTest, FreezedOrPendingOrDroppedMeansNoProposals) {
  Members(kA, {kB});
  EXPECT_FALSE(Step(FunctionLevel::kFreezed).intent);
  partition().pending = partition().config;
  EXPECT_TRUE(PlanPartitions(state_, FunctionLevel::kSteady, options_, now_).steps.empty());
  partition().pending.reset();
  partition().config.partition_flags = kPartitionDropped;
  EXPECT_TRUE(PlanPartitions(state_, FunctionLevel::kSteady, options_, now_).steps.empty());
}

TEST_F(PartitionGuardianTest, AReportFromBeforeTheOfficeDoesNotEndAPrimary) {
  Members(kA, {kB});
  partition().older_reports = report_number_;
  Reports(kA, {.loading = true});
  EXPECT_FALSE(partition().primary_deadline);
  EXPECT_TRUE(partition().serving.contains(kA));
  now_ = now_ + absl::Seconds(10);
  Expect(ConfigType::kAddSecondary, kA, kC);
}

// Its wall clock was set back, so that the beacons did not show that its process is new.
TEST_F(PartitionGuardianTest, APrimaryThatIsLoadingUnderItsOfficeIsNew) {
  Members(kA, {kB, kC});
  Reports(kA, {.loading = true});
  ExpectNothing();
  now_ = now_ + absl::Seconds(10);
  ASSERT_TRUE(Step().write);
  EXPECT_STREQ(Step().reason, "primary was not loaded within a grace");
}

TEST_F(PartitionGuardianTest, APrimaryThatLoadedUnnoticedAfterAnUncleanStopIsReplaced) {
  Members(kA, {kB, kC});
  Reports(kA, {.loading = true});
  Reports(kA, Unclean(5, 10));
  ASSERT_TRUE(Step().write);
  EXPECT_STREQ(Step().reason, "primary stopped uncleanly");
}

TEST_F(PartitionGuardianTest, PartitionsWithoutAnySecondaryLearnFirst) {
  Table& table = state_.tables[1];
  Members(kA, {kB});
  table.partitions.push_back(table.partitions[0]);
  table.partitions[1].config.pid.index = 1;
  table.partitions[1].config.secondaries.clear();
  GuardianPlan plan = PlanPartitions(state_, FunctionLevel::kSteady, options_, now_);
  ASSERT_EQ(plan.steps.size(), 2u);
  EXPECT_EQ(plan.steps[0].pid.index, 1);
}

// ---- Nobody left (meta/STATE.md 6.4)

TEST_F(PartitionGuardianTest, ASingleDroppedNodeIsAssignedOnceItHasItsReplica) {
  Members({}, {}, {kA});
  ExpectNothing();  // it reported, without the replica
  Reports(kA, {.loading = true});
  ExpectNothing();
  Reports(kA, {.ballot = Ballot(4)});
  Expect(ConfigType::kAssignPrimary, kA, kA);
}

TEST_F(PartitionGuardianTest, AChosenLeaderWhoseCopyTurnsOutDamagedIsAskedNoMore) {
  Members({}, {}, {kB});
  Reports(kB, {.ballot = Ballot(4)});
  partition().intent = Step().intent;
  Expect(ConfigType::kAssignPrimary, kB, kB);
  Reports(kB, {.ballot = Ballot(4), .loading = true});
  Expect(ConfigType::kAssignPrimary, kB, kB);
  ReportsNothing(kB);
  ExpectNothing();
  EXPECT_STREQ(Step().reason, "the member that left last has lost its replica");
  EXPECT_TRUE(Step().IsChoiceFailed(partition().config));
}

// ---- Restarts (meta/STATE.md 6.1)

TEST_F(PartitionGuardianTest, ARestartedPrimaryMayResumeWithinAGrace) {
  Members(kA, {kB, kC});
  NoteRestart(partition(), kA, now_ + absl::Seconds(10));
  state_.nodes[kA].collected = false;
  ExpectNothing();
  EXPECT_EQ(next_look_, now_ + absl::Seconds(10));
  Reports(kA, {.status = PartitionStatus::kInactive});  // clean
  ExpectNothing();
  now_ = now_ + absl::Seconds(10);
  ASSERT_TRUE(Step().write);
  EXPECT_FALSE(Step().write->IsMember(kA));
}

TEST_F(PartitionGuardianTest, ARestartedPrimaryWithoutItsReplicaIsRemovedAtOnce) {
  Members(kA, {kB, kC});
  NoteRestart(partition(), kA, now_ + absl::Seconds(10));
  state_.nodes[kA].has_unreadable_disks = true;
  ExpectNothing();
  state_.nodes[kA].has_unreadable_disks = false;
  ASSERT_TRUE(Step().write);
  EXPECT_FALSE(Step().write->IsMember(kA));
}

// Its clock was set back, so nobody noticed that its process is a new one.
TEST_F(PartitionGuardianTest, AnUncleanSecondaryIsNoneThatKeptRunning) {
  Members({}, {kB, kC});
  partition().headless_since = now_;
  Reports(kB, {.status = PartitionStatus::kInactive, .unclean = true});
  EXPECT_FALSE(partition().serving.contains(kB));
  ASSERT_TRUE(Step().intent);
  EXPECT_EQ(Step().intent->node, kC);
}

TEST_F(PartitionGuardianTest, AnUncleanPrimaryYieldsToOneThatKeptRunning) {
  Members(kA, {kB, kC});
  NoteRestart(partition(), kA, now_ + absl::Seconds(10));
  NoteRestart(partition(), kB, now_ + absl::Seconds(10));
  Reports(kA, Unclean(9, 99));
  GuardianPlan::Step step = Step();
  ASSERT_TRUE(step.write);
  EXPECT_EQ(step.write->secondaries, (std::vector{kB, kC, kA}));
  Install(partition(), *step.write, ConfigType::kInvalid, now_);
  Expect(ConfigType::kUpgradeToPrimary, kC, kC);
}

TEST_F(PartitionGuardianTest, WhenAllRestartedTheReportsOfAllAliveMembersAreAwaited) {
  Members(kA, {kB, kC});
  RestartAll();
  Reports(kA, Unclean(5, 10));
  Reports(kB, Unclean(4, 20));
  ExpectNothing();
  Reports(kC, Unclean(5, 11));
  GuardianPlan::Step step = Step();
  ASSERT_TRUE(step.write);
  Install(partition(), *step.write, ConfigType::kInvalid, now_);
  // B hears that it is a secondary and says so: that proves nothing.
  Reports(kB, {.status = PartitionStatus::kSecondary,
               .last_prepared_decree = Decree(20),
               .last_mutation_ballot = Ballot(4)});
  Expect(ConfigType::kUpgradeToPrimary, kC, kC);
}

// Its disk may be a copy of a clean one.
TEST_F(PartitionGuardianTest, OneThatCameBackCleanLeadsOnlyWhereNobodyHoldsMore) {
  Members(kA, {kB, kC});
  RestartAll();
  Reports(kA, Unclean(5, 12));
  Reports(kC, Unclean(5, 13));
  Reports(kB, {.status = PartitionStatus::kInactive,
               .last_prepared_decree = Decree(11),
               .last_mutation_ballot = Ballot(5)});
  Install(partition(), *Step().write, ConfigType::kInvalid, now_);
  Expect(ConfigType::kUpgradeToPrimary, kC, kC);
}

TEST_F(PartitionGuardianTest, OneThatCameBackCleanIsGoodWhereAPrimaryKeptRunning) {
  Members(kA, {kB, kC});
  NoteRestart(partition(), kB, now_);
  Reports(kB, {.status = PartitionStatus::kInactive, .last_prepared_decree = Decree(11)});
  EXPECT_TRUE(partition().serving.contains(kB));
}

// ---- wall clocks ----

TEST_F(PartitionGuardianTest, WhoseClockIsWrongLeadsNothingThatAnotherCanLead) {
  Members(kA, {kB, kC});
  state_.nodes[kA].has_wrong_clock = true;
  Expect(ConfigType::kDowngradeToSecondary, kA, kA);
  state_.nodes[kB].has_wrong_clock = state_.nodes[kC].has_wrong_clock = true;
  ExpectNothing();
  state_.nodes[kA].has_wrong_clock = state_.nodes[kC].has_wrong_clock = false;
  partition().config.primary = {};
  Members({}, {kB, kC});
  Expect(ConfigType::kUpgradeToPrimary, kC, kC);
}

// Seed 91700186: what it had committed alone before it began anew, and prepared again, was lost.
TEST_F(PartitionGuardianTest, AnOlderVersionsPrimaryStepsDownWhenItsSecondariesHoldWhatItPrepared) {
  Members(kA, {kB});
  state_.nodes[kA].has_wrong_clock = state_.nodes[kA].is_older = true;
  const auto tell = [&](Endpoint node, PartitionStatus status, int64_t ballot, int64_t prepared) {
    Reports(node,
            {.ballot = Ballot(ballot), .status = status, .last_prepared_decree = Decree(prepared)});
  };
  const auto steps_down = [&] {
    return Step().intent && Step().intent->type == ConfigType::kDowngradeToSecondary;
  };
  const int64_t ballot = partition().config.ballot.value();
  tell(kA, PartitionStatus::kPrimary, ballot, 51);
  EXPECT_FALSE(steps_down()) << "B has not told";
  tell(kB, PartitionStatus::kSecondary, ballot, 49);
  EXPECT_FALSE(steps_down());
  tell(kB, PartitionStatus::kSecondary, ballot, 51);
  EXPECT_TRUE(steps_down());
  ++partition().config.ballot;
  EXPECT_FALSE(steps_down()) << "of an earlier configuration";
  state_.nodes[kA].is_older = false;
  EXPECT_TRUE(steps_down()) << "ours waits by itself";
}

// Seed 92000114: the copy that was to take over was one too many, removed and made again for ever.
TEST_F(PartitionGuardianTest, WhatIsPlannedForAnOlderVersionsPrimaryWaitsUntilItMayStepDown) {
  state_.tables[1].info.max_replica_count = partition().config.max_replica_count = 1;
  Members(kA, {kB});
  state_.nodes[kA].is_older = true;
  const Intent steps_down{.type = ConfigType::kDowngradeToSecondary, .target = kA, .node = kA};
  EXPECT_TRUE(MayBePlanned(state_, options_, partition(), {steps_down}, now_));
  partition().planned = {steps_down};
  const auto tell = [&](Endpoint node, PartitionStatus status) {
    Reports(node, {.ballot = partition().config.ballot,
                   .status = status,
                   .last_prepared_decree = Decree(51)});
  };
  tell(kA, PartitionStatus::kPrimary);
  ExpectNothing();
  EXPECT_FALSE(Step().planned) << "it stays planned";
  tell(kB, PartitionStatus::kSecondary);
  Expect(ConfigType::kDowngradeToSecondary, kA, kA);
}

TEST_F(PartitionGuardianTest, AWrongClockIsBetterThanNoPrimary) {
  Members({}, {kB});
  state_.nodes[kB].has_wrong_clock = true;
  Expect(ConfigType::kUpgradeToPrimary, kB, kB);
}

TEST_F(PartitionGuardianTest, AServerThatStopsIsNoneThatCanLeadInPlaceOfAWrongClock) {
  Members(kC, {kB});
  state_.nodes[kC].has_wrong_clock = true;
  Expect(ConfigType::kDowngradeToSecondary, kC, kC);
  state_.nodes[kB].is_stopping = true;
  EXPECT_FALSE(Step().intent && Step().intent->type == ConfigType::kDowngradeToSecondary);
  Members({}, {kB, kC});
  Expect(ConfigType::kUpgradeToPrimary, kC, kC);
  partition().former_primary = kC;
  Expect(ConfigType::kUpgradeToPrimary, kC, kC);
  state_.nodes[kB].is_stopping = false;
  Expect(ConfigType::kUpgradeToPrimary, kB, kB);
}

// Whether it was chosen because it had not said so yet, or stops since.
TEST_F(PartitionGuardianTest, WhoIsToLeadAndStopsIsNotWaitedFor) {
  Members({}, {kB, kC});
  Asked(ConfigType::kUpgradeToPrimary, kB, kB, absl::Milliseconds(1));
  Expect(ConfigType::kUpgradeToPrimary, kB, kB);
  state_.nodes[kB].is_stopping = true;
  Expect(ConfigType::kUpgradeToPrimary, kC, kC);
  state_.nodes[kC].is_stopping = true;
  Expect(ConfigType::kUpgradeToPrimary, kB, kB);
}

// ---- copies that are older than they were ----

TEST_F(PartitionGuardianTest, APrimaryThatLeavesBecauseAnotherHoldsMoreIsNoneThatHoldsAll) {
  Members(kA, {kB, kC});
  RestartAll();
  Reports(kA, {.status = PartitionStatus::kInactive,
               .last_prepared_decree = Decree(11),
               .last_mutation_ballot = Ballot(5)});
  Reports(kB, Unclean(5, 12));
  Reports(kC, Unclean(5, 12));
  Install(partition(), PrimaryAmongSecondaries(partition().config),
          ConfigType::kPrimaryForceUpdateBallot, now_);
  partition().serving.insert(kA);
  NoteHoldsLess(partition(), kA);
  Step();
  EXPECT_NE(Step().intent->node, kA);
}

TEST_F(PartitionGuardianTest, APrimaryWhoseCopyEndsBeforeWhatIsStoredLeadsNoMore) {
  Members(kA, {kB, kC});
  RestartAll();
  partition().config.last_committed_decree = Decree(20);
  ReplicaInfo older{.status = PartitionStatus::kInactive,
                    .last_prepared_decree = Decree(19),
                    .durability = static_cast<int8_t>(Durability::kFsync),
                    .last_mutation_ballot = Ballot(5),
                    .is_unproven = true};
  report_number_ = 0;
  Reports(kA, older);
  EXPECT_FALSE(Step().write) << "it may have been written before that was stored";
  report_number_ = 1;
  Reports(kA, older);
  state_.awaited = {Endpoint{9, 34801}};
  EXPECT_FALSE(Step().write)
      << "the state may be older, too: who has not told may know a later ballot";
  state_.awaited.clear();
  EXPECT_EQ(Step().older, kA);
  EXPECT_EQ(Step().write->secondaries, (std::vector{kB, kC, kA}));
  EXPECT_TRUE(partition().older.contains(kA));
}

TEST_F(PartitionGuardianTest, AnOnlyMemberThatCameBackOlderGivesWayToAFormerOne) {
  Members(kA, {}, {kC, kB});
  RestartAll();
  ReplicaInfo unproven = Unclean(5, 10);
  unproven.is_unproven = true;
  Reports(kA, unproven);
  Reports(kC, Unclean(5, 10));
  EXPECT_FALSE(OutsideCopiesOf(state_, partition().config).have_all_told) << "B is silent";
  ReplicaInfo more = Unclean(5, 12);
  more.last_committed_decree = Decree(11);
  Reports(kB, more);
  EXPECT_EQ(OutsideCopiesOf(state_, partition().config).more, kB);
  EXPECT_EQ(Step().older, kA) << "it lacks what B knows to be committed";
  EXPECT_EQ(Step().write->MemberCount(), 0u);
  EXPECT_EQ(Step().write->last_drops.back(), kB);
}

TEST_F(PartitionGuardianTest, WhoLedBeforeLeadsAgainWhereTheOnlySecondaryThatIsThereMayBeOlder) {
  Members({}, {kB, kC}, {kA});
  RestartAll();
  Dead(kC);
  partition().headless_since = now_;
  partition().former_primary = kA;
  Reports(kB, Unproven(5, 10));
  Reports(kA, Unproven(5, 12));
  EXPECT_FALSE(Step().write || Step().intent) << "C may come back";
  now_ = now_ + absl::Seconds(10);
  ASSERT_TRUE(Step().write);
  EXPECT_EQ(Step().write->secondaries, (std::vector{kB, kC, kA}))
      << "it asks them before it serves";
  EXPECT_TRUE(Step().write->last_drops.empty());
  Install(partition(), *Step().write, ConfigType::kInvalid, now_);
  EXPECT_EQ(Step().intent->node, kA);
  PartitionConfiguration without = partition().config;
  ++without.ballot;
  std::erase(without.secondaries, kA);
  Install(partition(), without, ConfigType::kDowngradeToInactive, now_);
  EXPECT_EQ(Step().intent->node, kB) << "it left again";
}

// Seed 100300946: it asked to be removed from the group again, and the secondary, which lacked what
// was committed, led.
TEST_F(PartitionGuardianTest, WhoLedBeforeAndIsOfAnOlderVersionIsAssignedToLeadAgain) {
  Members({}, {kB}, {kA});
  partition().headless_since = now_;
  partition().former_primary = kA;
  state_.nodes[kA].is_older = true;
  ReplicaInfo ours = Unclean(9, 8);
  ours.last_committed_decree = Decree(6);
  Reports(kB, ours);
  Reports(kA, {.ballot = Ballot(10),
               .status = PartitionStatus::kInactive,
               .last_committed_decree = Decree(6),
               .last_prepared_decree = Decree(9)});
  ASSERT_TRUE(Step().write);
  Install(partition(), *Step().write, ConfigType::kInvalid, now_);
  EXPECT_EQ(partition().config.MemberCount(), 0u);
  Expect(ConfigType::kAssignPrimary, kA, kA);
}

// Whatever it said before, it leads since its update was accepted, also where its lease was over
// meanwhile: then it goes on by what a config sync tells it (seed 141900546).
TEST_F(PartitionGuardianTest, WhoAskedForAGroupOfItsOwnIsComparedWithNobodyWhileItsProcessLives) {
  Members(kA, {kC}, {kB});
  partition().serving.clear();  // the meta server is new
  PartitionConfiguration alone = partition().config;
  ++alone.ballot;
  alone.secondaries.clear();
  Install(partition(), alone, ConfigType::kDowngradeToInactive, now_);
  partition().older_reports = report_number_;
  ++report_number_;
  Reports(kA, {.status = PartitionStatus::kInactive,
               .last_prepared_decree = Decree(10),
               .last_mutation_ballot = Ballot(5),
               .is_unproven = true});
  Reports(kB, Unclean(5, 12));
  EXPECT_FALSE(Step().write);
  NoteRestart(partition(), kA, now_ + absl::Seconds(10));
  ++report_number_;
  Reports(kA, Unproven(5, 10));
  ASSERT_TRUE(Step().write) << "its process is new: it has not served since";
  EXPECT_EQ(Step().write->last_drops.back(), kB);
}

TEST_F(PartitionGuardianTest,
       APrimaryThatLoadsTooLongStaysAMemberWhereNobodyElseHoldsAllForCertain) {
  Members(kA, {kB});
  RestartAll();
  now_ = now_ + absl::Seconds(11);
  Reports(kA, {.status = PartitionStatus::kInactive, .loading = true});
  EXPECT_EQ(Step().write->secondaries, (std::vector{kB, kA}));
  partition().serving.insert(kB);
  EXPECT_EQ(Step().write->secondaries, (std::vector{kB}));
}

// It may have written since.
TEST_F(PartitionGuardianTest, AnOnlyMemberThatKeptRunningIsComparedWithNobody) {
  Members(kA, {}, {kB});
  partition().serving.clear();  // the meta server is new
  Reports(kA, {.status = PartitionStatus::kInactive,
               .last_prepared_decree = Decree(10),
               .last_mutation_ballot = Ballot(5)});
  Reports(kB, Unclean(5, 12));
  EXPECT_FALSE(Step().write);
}

TEST_F(PartitionGuardianTest, AnOnlyMemberIsNotComparedWithALearnersState) {
  Members(kA, {}, {kB});
  RestartAll();
  ReplicaInfo unproven = Unclean(5, 10);
  unproven.is_unproven = true;
  Reports(kA, unproven);
  Reports(kB, Unclean(-1, 12));
  EXPECT_FALSE(Step().write && Step().older);
  EXPECT_FALSE(OutsideCopiesOf(state_, partition().config).more.IsValid());
}

// Nobody holds what was committed: that is for a person to decide.
TEST_F(PartitionGuardianTest, OfMembersWhoAllWentBackNobodyIsChosen) {
  Members({}, {kB, kC});
  RestartAll();
  partition().headless_since = now_;
  partition().config.last_committed_decree = Decree(20);
  for (Endpoint node : {kB, kC}) {
    ReplicaInfo older = Unclean(5, 19);
    older.durability = static_cast<int8_t>(Durability::kFsync);
    Reports(node, older);
  }
  EXPECT_FALSE(Step().intent);
  EXPECT_NE(std::string(Step().reason).find("put back"), std::string::npos);
  EXPECT_TRUE(MayBePlanned(state_, options_, partition(),
                           {{.type = ConfigType::kAssignPrimary, .target = kB, .node = kB}}, now_));
}

// Nothing was stored since, but what the primary told of itself.
TEST_F(PartitionGuardianTest, OfMembersWhoAllWentBackBehindWhatTheirPrimaryToldNobodyIsChosen) {
  Members(kA, {kB, kC});
  ReplicaInfo told = Durable(5, 30, 30);
  told.status = PartitionStatus::kPrimary;
  Reports(kA, told);
  EXPECT_EQ(partition().KnownCommitted(), Decree(30));
  EXPECT_TRUE(state_.tables[1].is_committed_unstored);
  last_number_ = report_number_ = 2;
  RestartAll();
  ReplicaInfo older = Durable(5, 29, 0);
  older.is_unproven = true;
  for (Endpoint node : {kA, kB, kC}) Reports(node, older);
  EXPECT_EQ(Step().older, kA);
  Members({}, {kB, kC, kA});
  partition().serving.clear();
  partition().headless_since = now_;
  EXPECT_FALSE(Step().intent);
  EXPECT_NE(std::string(Step().reason).find("put back"), std::string::npos);
  EXPECT_EQ(state_.nodes[kB].older_copies, 1);

  // A person decides: who was named begins with what it has.
  PartitionConfiguration next = partition().config;
  ++next.ballot;
  next.primary = kB;
  next.secondaries.clear();
  Install(partition(), next, ConfigType::kAssignPrimary, now_);
  EXPECT_EQ(partition().KnownCommitted(), Decree(0));
}

TEST_F(PartitionGuardianTest, WhereAllThatIsThereEndsBeforeWhatWasCommittedAPersonIsTold) {
  Members(kA, {});
  partition().config.max_replica_count = 1;
  ReplicaInfo told = Durable(5, 30, 30);
  told.status = PartitionStatus::kPrimary;
  Reports(kA, told);
  last_number_ = report_number_ = 2;
  EXPECT_FALSE(OlderEverywhere(state_));
  RestartAll();
  partition().config = WithoutPrimary(partition().config);
  EXPECT_FALSE(OlderEverywhere(state_)) << "it has not said what it holds";
  state_.nodes[kA].collected = true;
  Reports(kA, Durable(5, 29, 0));
  ASSERT_TRUE(OlderEverywhere(state_));
  EXPECT_EQ(OlderEverywhere(state_)->count, 1);
  EXPECT_FALSE(Step().intent) << "no copy but one, but an administrator must know";
  Reports(kA, Durable(5, 30, 0));
  EXPECT_FALSE(OlderEverywhere(state_));
  EXPECT_TRUE(Step().intent);
}

TEST_F(PartitionGuardianTest, WhatWasCommittedAfterAReportWasWrittenDoesNotMakeItsCopyOlder) {
  Members(kA, {kB, kC});
  last_number_ = 7;  // B has been given it: its report is on its way
  ReplicaInfo told = Durable(5, 30, 30);
  told.status = PartitionStatus::kPrimary;
  Reports(kA, told);
  report_number_ = 7;
  ReplicaInfo follows = Durable(5, 29, 20);
  follows.status = PartitionStatus::kSecondary;
  Reports(kB, follows);
  EXPECT_FALSE(partition().older.contains(kB));
  report_number_ = 8;
  Reports(kB, follows);
  EXPECT_TRUE(partition().older.contains(kB));
}

TEST_F(PartitionGuardianTest, WhatAPrimaryTellsOfAnotherBallotOrWithoutDurabilityCountsForNothing) {
  Members(kA, {kB, kC});
  ReplicaInfo told = Durable(4, 30, 30);
  told.status = PartitionStatus::kPrimary;
  Reports(kA, told);
  told.ballot = Ballot(5);
  told.durability = static_cast<int8_t>(Durability::kOs);
  Reports(kA, told);
  EXPECT_EQ(partition().KnownCommitted(), Decree(0));
}

// One machine alone: it left when it died, and comes back with less than it held.
TEST_F(PartitionGuardianTest, WhoLeftAndComesBackWithLessThanItHeldHasAnOlderCopy) {
  Members(kA, {kB, kC});
  ReplicaInfo told = Durable(5, 30, 30);
  told.status = PartitionStatus::kPrimary;
  Reports(kA, told);
  last_number_ = report_number_ = 2;
  PartitionConfiguration next = partition().config;
  ++next.ballot;
  next.secondaries = {kB};
  Install(partition(), next, ConfigType::kRemove, now_);
  ReplicaInfo learns = Durable(5, 0, 0);
  learns.status = PartitionStatus::kPotentialSecondary;
  Reports(kC, learns);
  EXPECT_FALSE(partition().older.contains(kC)) << "a learner's copy may be another";
  Reports(kC, Durable(5, 30, 0));
  EXPECT_FALSE(partition().older.contains(kC));
  Reports(kC, Durable(5, 29, 0));
  EXPECT_TRUE(partition().older.contains(kC));
  Reports(kC, Durable(5, 29, 0));
  EXPECT_EQ(state_.nodes[kC].older_copies, 1);
}

TEST_F(PartitionGuardianTest, AnOlderCopyIsCountedOnceAlsoWhereItLearnsBetweenTwoReports) {
  Members(kA, {kB, kC});
  ReplicaInfo learned{.status = PartitionStatus::kSecondary, .times_older = 1};
  Reports(kB, learned);
  EXPECT_TRUE(partition().older.contains(kB));
  EXPECT_EQ(state_.nodes[kB].older_copies, 1);
  Reports(kB, learned);
  EXPECT_FALSE(partition().older.contains(kB));
  EXPECT_EQ(state_.nodes[kB].older_copies, 1) << "the same";
  learned.times_older = 2;
  Reports(kB, learned);
  EXPECT_EQ(state_.nodes[kB].older_copies, 2);
}

TEST_F(PartitionGuardianTest, APrimaryThatIsInactiveForAMomentKeepsItsRole) {
  Members(kA, {kB, kC});
  Reports(kA, Unclean(5, 10));  // says so since its process began long ago
  ExpectNothing();
  Reports(kA, {.status = PartitionStatus::kPrimary});
  Reports(kA, Unclean(5, 10));
  ExpectNothing();
  Reports(kA, Unclean(5, 10));
  EXPECT_TRUE(Step().write)
      << "twice in a row: it restarted unnoticed (its wall clock was set back)";
}

TEST_F(PartitionGuardianTest, AMemberOfAWorkingGroupIsProven) {
  Members(kA, {kB, kC});
  NoteRestart(partition(), kB, now_);
  Reports(kB, Unclean(5, 10));
  EXPECT_FALSE(partition().serving.contains(kB));
  Reports(kB, {.status = PartitionStatus::kSecondary});
  EXPECT_TRUE(partition().serving.contains(kB));
}

TEST_F(PartitionGuardianTest, AnUnchangedStateGivesTheSamePlan) {
  Members(kA, {kB});
  Expect(ConfigType::kAddSecondary, kA, kC);
  partition().intent = Step().intent;
  Expect(ConfigType::kAddSecondary, kA, kC);
}

// ---- Open files

TEST_F(PartitionGuardianTest, WhatAServersLimitOfOpenFilesDoesNotCarryGoesElsewhere) {
  Table& table = state_.tables[1];
  table.partitions.assign(10, table.partitions[0]);
  for (int i = 0; i < 10; ++i) table.partitions[static_cast<size_t>(i)].config.pid.index = i;
  state_.nodes[kA].replicas_max = 1;
  std::map<Endpoint, int> primaries;
  for (const auto& step : PlanPartitions(state_, FunctionLevel::kSteady, options_, now_).steps)
    ++primaries[step.intent->node];
  EXPECT_EQ(primaries[kA], 1);
  EXPECT_EQ(primaries[kB] + primaries[kC] + primaries[kD], 9);

  for (Endpoint node : {kA, kB, kC, kD}) state_.nodes[node].replicas_max = 0;
  EXPECT_FALSE(Step().intent) << "nobody could take it";
}

TEST_F(PartitionGuardianTest, ACopyIsMadeWhereOpenFilesCarryItOrWhenTheyDoAgain) {
  Members(kA, {kB});
  state_.nodes[kC].replicas_max = 0;
  Expect(ConfigType::kAddSecondary, kA, kD);
  state_.nodes[kD].replicas_max = 0;
  ExpectNothing();
  state_.nodes[kC].replicas_max = 1;
  Expect(ConfigType::kAddSecondary, kA, kC);
}

// ---- Slow disks

TEST_F(PartitionGuardianTest, APrimaryLeavesASlowDiskOnceItIsSureThatOthersAreFast) {
  Members(kA, {kB, kC});
  Reports(kA, {.status = PartitionStatus::kPrimary, .disk_tag = "ssd"});
  state_.nodes[kA].slow_disks = {"ssd"};
  state_.nodes[kA].slow_since = now_;
  ExpectNothing();
  EXPECT_EQ(next_look_, now_ + absl::Seconds(2));
  now_ = now_ + absl::Seconds(2);
  Expect(ConfigType::kDowngradeToSecondary, kA, kA);

  state_.nodes[kA].slow_disks = {"another"};
  ExpectNothing();
  state_.nodes[kA].slow_disks = {kLogHomeTag};
  Expect(ConfigType::kDowngradeToSecondary, kA, kA);
}

TEST_F(PartitionGuardianTest, WhoIsChosenForASlowPrimaryIsFast) {
  Members({}, {kB, kC, kA});
  partition().former_primary = kA;
  state_.nodes[kB].slow_disks = {"ssd"};
  Expect(ConfigType::kUpgradeToPrimary, kC, kC);
}

TEST_F(PartitionGuardianTest, ASlowSecondaryIsTakenOutWhileEnoughOthersStay) {
  Members(kA, {kB, kC});
  state_.nodes[kC].slow_disks = {"ssd"};
  Expect(ConfigType::kRemove, kA, kC);
  Members(kA, {kC});
  state_.nodes[kB].alive = state_.nodes[kD].alive = false;
  ExpectNothing();
}

TEST_F(PartitionGuardianTest, ASlowDiskGetsNoCopyUntilItIsFastAgain) {
  Members(kA, {kB});
  state_.nodes[kC].slow_disks = {"ssd"};
  state_.nodes[kD].alive = false;
  ExpectNothing();
  state_.nodes[kC].slow_disks.clear();
  Expect(ConfigType::kAddSecondary, kA, kC);
}

TEST_F(PartitionGuardianTest, WhereMostAreSlowNobodyMoves) {
  Members(kA, {kB, kC});
  for (Endpoint node : {kA, kB, kC}) state_.nodes[node].slow_disks = {"ssd"};
  ExpectNothing();
  Members(kA, {kB});
  Expect(ConfigType::kAddSecondary, kA, kC);
}

// ---- Full disks

TEST_F(PartitionGuardianTest, ASecondaryOnAFullDiskLeavesOnceItIsSureThatItStaysFull) {
  Members(kA, {kB, kC});
  ReportsDisk(kC, Full());
  ExpectNothing();
  EXPECT_EQ(next_look_, now_ + absl::Seconds(2));
  now_ = now_ + absl::Seconds(1);
  ReportsDisk(kC, Full());
  now_ = now_ + absl::Seconds(1);
  Expect(ConfigType::kRemove, kA, kC);
  ReportsDisk(kC, {});
  ExpectNothing();
}

TEST_F(PartitionGuardianTest, AnotherDiskOfTheSameServerMayBeFull) {
  Members(kA, {kB, kC});
  ReportsDisk(kC, Full(), "ssd2");
  now_ = now_ + absl::Seconds(5);
  ExpectNothing();
  ReportsDisk(kC, Full(), kLogHomeTag);
  now_ = now_ + absl::Seconds(5);
  Expect(ConfigType::kRemove, kA, kC);
}

TEST_F(PartitionGuardianTest, APrimaryOnAFullDiskHandsOverToWhoHasRoomAndLeavesThen) {
  Members(kA, {kB, kC});
  ReportsDisk(kA, Full());
  now_ = now_ + absl::Seconds(2);
  Expect(ConfigType::kDowngradeToSecondary, kA, kA);
  Members({}, {kB, kC, kA});
  partition().former_primary = kA;
  ReportsDisk(kB, Full());
  Expect(ConfigType::kUpgradeToPrimary, kC, kC);
  Members(kC, {kA, kB});
  ReportsDisk(kB, {});
  Expect(ConfigType::kRemove, kC, kA);
}

TEST_F(PartitionGuardianTest, NobodyLeavesAFullDiskWhereTooFewWouldStayAndNoneHasRoomForAnother) {
  Members(kA, {kB, kC});
  Dead(kD);
  ReportsDisk(kA, Full());
  ReportsDisk(kC, Full());
  now_ = now_ + absl::Seconds(5);
  ExpectNothing();
  Members(kB, {kC});
  ExpectNothing();
}

TEST_F(PartitionGuardianTest, WhereTooFewWouldStayAnotherCopyIsMadeFirst) {
  Members(kA, {kB, kC});
  ReportsDisk(kB, Full());
  ReportsDisk(kC, Full());
  now_ = now_ + absl::Seconds(5);
  Expect(ConfigType::kAddSecondaryForLoadBalance, kA, kD);
  Members(kA, {kB, kC, kD});
  Expect(ConfigType::kRemove, kA, kB);
  Members(kA, {kC, kD});
  Expect(ConfigType::kRemove, kA, kC);
  Members(kA, {kC});
  Expect(ConfigType::kAddSecondary, kA, kD);
}

TEST_F(PartitionGuardianTest, TheOnlyCopyMovesFromAFullDisk) {
  partition().config.max_replica_count = 1;
  Members(kA, {});
  Dead(kC);
  Dead(kD);
  ReportsDisk(kA, Full());
  now_ = now_ + absl::Seconds(2);
  Expect(ConfigType::kAddSecondaryForLoadBalance, kA, kB);
  Members(kA, {kB});
  Expect(ConfigType::kDowngradeToSecondary, kA, kA);
  Members(kB, {kA});
  Expect(ConfigType::kRemove, kB, kA);
}

TEST_F(PartitionGuardianTest, WhoDoesNotTakeTheCopyThatAFullDiskNeedsIsPassedOver) {
  partition().config.max_replica_count = 2;
  Members(kA, {kB});
  ReportsDisk(kB, Full());
  now_ = now_ + absl::Seconds(2);
  Asked(ConfigType::kAddSecondaryForLoadBalance, kA, kC, absl::Seconds(30));
  Expect(ConfigType::kAddSecondaryForLoadBalance, kA, kC);
  Asked(ConfigType::kAddSecondaryForLoadBalance, kA, kC, absl::Seconds(90));
  Expect(ConfigType::kAddSecondaryForLoadBalance, kA, kD);
}

TEST_F(PartitionGuardianTest, AFullDiskGetsNoCopyUntilItTakesWritesAgain) {
  Members(kA, {kB}, {kC});
  partition().dropped = {{.node = kC, .at = now_}};
  ReportsDisk(kC, Full());
  Expect(ConfigType::kAddSecondary, kA, kD);
  ReportsDisk(kD, Full());
  ExpectNothing();
  ReportsDisk(kC, {});
  Expect(ConfigType::kAddSecondary, kA, kC);
}

TEST_F(PartitionGuardianTest, CopiesAndNewPartitionsGoToWhereAFifthIsLeftFirst) {
  const DiskReport tight{.total_bytes = 1000, .available_bytes = 199};
  for (Endpoint node : {kA, kB, kC}) ReportsDisk(node, tight);
  Expect(ConfigType::kAssignPrimary, kA, kA);  // D says nothing of its disks
  ReportsDisk(kD, {.total_bytes = 1000, .available_bytes = 200});
  Expect(ConfigType::kAssignPrimary, kD, kD);
  ReportsDisk(kD, tight);
  Expect(ConfigType::kAssignPrimary, kA, kA);
  Members(kA, {kB});
  Expect(ConfigType::kAddSecondary, kA, kC);
  ReportsDisk(kD, {.total_bytes = 1000, .available_bytes = 200});
  Expect(ConfigType::kAddSecondary, kA, kD);
}

TEST_F(PartitionGuardianTest, ANewPartitionGoesToNoFullDisk) {
  for (Endpoint node : {kA, kB, kD}) ReportsDisk(node, Full());
  Expect(ConfigType::kAssignPrimary, kC, kC);
}

// ---- Members that acknowledge slowly

TEST_F(PartitionGuardianTest, AMemberThatItsPrimaryCallsSlowIsReplacedAtOnce) {
  Members(kA, {kB, kC});
  state_.nodes[kA].slow_members = {kC};
  Expect(ConfigType::kRemove, kA, kC);
  Members(kA, {kB});
  partition().dropped = {{.node = kC, .at = now_}};
  Expect(ConfigType::kAddSecondary, kA, kD);
  state_.nodes[kD].alive = false;
  ExpectNothing();
  state_.nodes[kA].slow_members.clear();
  Expect(ConfigType::kAddSecondary, kA, kC);
}

TEST_F(PartitionGuardianTest, WhatAnotherThanItsPrimaryCallsSlowStays) {
  Members(kA, {kB, kC});
  state_.nodes[kB].slow_members = {kC};
  ExpectNothing();
  state_.nodes[kA].slow_members = {kC};
  state_.nodes[kA].alive = false;  // what it said counts no more
  EXPECT_EQ(state_.SlownessReports(kC), 1u);
}

TEST_F(PartitionGuardianTest, ASlowMemberStaysWhereTooFewOthersWould) {
  Members(kA, {kC});
  state_.nodes[kA].slow_members = {kC};
  state_.nodes[kB].alive = state_.nodes[kD].alive = false;
  ExpectNothing();
}

TEST_F(PartitionGuardianTest, ASlowMembersRemovalIsWithdrawnWhenItMayNotBeSparedOrIsFastAgain) {
  Members(kA, {kB, kC});
  state_.nodes[kA].slow_members = {kC};
  partition().intent = Step().intent;
  Expect(ConfigType::kRemove, kA, kC);
  state_.nodes[kA].slow_members.clear();
  ExpectNothing();
  state_.nodes[kA].slow_members = {kC};
  Members(kA, {kC});  // B died meanwhile
  Dead(kB);
  Dead(kD);
  ExpectNothing();
}

TEST_F(PartitionGuardianTest, WhereTooFewAreLeftASlowServerIsBetterThanNone) {
  Members(kA, {});
  state_.nodes[kB].alive = state_.nodes[kD].alive = false;
  state_.nodes[kA].slow_members = {kC};
  Expect(ConfigType::kAddSecondary, kA, kC);
  state_.nodes[kA].slow_members.clear();
  state_.nodes[kC].slow_disks = {"ssd"};
  Expect(ConfigType::kAddSecondary, kA, kC);
}

TEST_F(PartitionGuardianTest, APrimaryThatMostCallSlowMakesRoom) {
  Members(kA, {kB, kC});
  state_.nodes[kB].slow_members = {kA};
  ExpectNothing();
  state_.nodes[kC].slow_members = {kA};
  Expect(ConfigType::kDowngradeToSecondary, kA, kA);
  Members({}, {kA, kB, kC});
  partition().former_primary = kC;
  Expect(ConfigType::kUpgradeToPrimary, kB, kB);
}

TEST_F(PartitionGuardianTest, WhereMostAcknowledgeSlowlyNobodyMoves) {
  Members(kA, {kB, kC});
  state_.nodes[kA].slow_members = {kB, kC, kD};
  ExpectNothing();
}

TEST_F(PartitionGuardianTest, AServerWithASlowDiskIsJudgedByThatAlone) {
  Members(kA, {kB, kC});
  Reports(kC, {.status = PartitionStatus::kSecondary, .disk_tag = "ssd"});
  state_.nodes[kC].slow_disks = {"another"};
  state_.nodes[kA].slow_members = {kC};
  ExpectNothing();
}

TEST_F(PartitionGuardianTest, SlowMembersLeaveAFewPartitionsAtATime) {
  Members(kA, {kB, kC});
  const Partition one = partition();
  state_.tables[1].partitions.assign(100, one);
  for (int i = 0; i < 100; ++i) state_.tables[1].partitions[i].config.pid.index = i;
  state_.nodes[kA].slow_members = {kC};
  const GuardianPlan plan = PlanPartitions(state_, FunctionLevel::kSteady, options_, now_);
  const auto removals = [](const GuardianPlan& p) {
    return std::count_if(p.steps.begin(), p.steps.end(),
                         [](const auto& step) { return step.intent.has_value(); });
  };
  EXPECT_EQ(removals(plan), 16);
  // The same ones, until they have happened.
  for (const GuardianPlan::Step& step : plan.steps)
    state_.FindPartition(step.pid)->intent = step.intent;
  EXPECT_EQ(removals(PlanPartitions(state_, FunctionLevel::kSteady, options_, now_)), 16);
}

// ---- Servers that send beacons and do nothing else

TEST_F(PartitionGuardianTest, WhoDoesNotTakeANewPartitionIsPassedOver) {
  partition().intent = Intent{.type = ConfigType::kAssignPrimary,
                              .target = kA,
                              .node = kA,
                              .times_sent = 10,
                              .last_sent = now_ - absl::Seconds(5),
                              .first_sent = now_ - absl::Seconds(14)};
  Expect(ConfigType::kAssignPrimary, kA, kA);
  EXPECT_EQ(next_look_, now_ + absl::Seconds(1));
  now_ = now_ + absl::Seconds(1);
  Expect(ConfigType::kAssignPrimary, kB, kB);
  EXPECT_EQ(Step().passed_over, kA);
  partition().passed_over[kA] = now_ + absl::Minutes(5);
  partition().intent.reset();
  Expect(ConfigType::kAssignPrimary, kB, kB);
  now_ = now_ + absl::Minutes(5);
  Expect(ConfigType::kAssignPrimary, kA, kA);
}

TEST_F(PartitionGuardianTest, WhoDoesNotBeginToLearnIsPassedOver) {
  Members(kA, {kB});
  Asked(ConfigType::kAddSecondary, kA, kC, absl::Seconds(59));
  Expect(ConfigType::kAddSecondary, kA, kC);
  now_ = now_ + absl::Seconds(1);
  Expect(ConfigType::kAddSecondary, kA, kD);
  EXPECT_EQ(Step().passed_over, kC);
  Dead(kD);
  Expect(ConfigType::kAddSecondary, kA, kC);  // nobody else is there
}

TEST_F(PartitionGuardianTest, WhoLearnsOrOpensItsReplicaIsWaitedForLonger) {
  Members(kA, {kB});
  Asked(ConfigType::kAddSecondary, kA, kC, absl::Seconds(99));
  Reports(kC, {.status = PartitionStatus::kPotentialSecondary});
  now_ = now_ + absl::Hours(10);
  Expect(ConfigType::kAddSecondary, kA, kC);
  Asked(ConfigType::kAddSecondary, kA, kC, absl::Minutes(4));
  Reports(kC, {.loading = true});
  Expect(ConfigType::kAddSecondary, kA, kC);
  now_ = now_ + absl::Minutes(1);
  Expect(ConfigType::kAddSecondary, kA, kD);
}

TEST_F(PartitionGuardianTest, WhatWasSentBeforeTheTargetWasThereDoesNotCount) {
  Members(kA, {kB});
  Asked(ConfigType::kAddSecondary, kA, kC, absl::Hours(1));
  partition().intent->times_sent = 0;
  Expect(ConfigType::kAddSecondary, kA, kC);
  partition().intent->times_sent = 1;
  partition().intent->last_sent = now_ - absl::Seconds(2);
  Expect(ConfigType::kAddSecondary, kA, kC);
}

// A server without room keeps its beacons up: what was planned for it held the balancer of the
// whole cluster, and the cures of the partition.
// The newcomer of a move took the place of a member that died meanwhile.
TEST_F(PartitionGuardianTest, ABalancersMoveTakesNoCopyAwayThatIsNeeded) {
  const BalanceMove move{BalanceMove::Kind::kCopySecondary, kPid, kB, kD};
  for (const bool was_removed : {true, false}) {
    partition().planned = StepsOf(move);
    Members(kA, was_removed ? std::vector{kB, kD} : std::vector{kB, kC, kD});
    if (!was_removed) Dead(kC);
    const GuardianPlan::Step step = Step();
    ASSERT_TRUE(step.planned);
    EXPECT_TRUE(step.planned->empty());
    EXPECT_TRUE(!step.intent || step.intent->node == kC);
  }
}

TEST_F(PartitionGuardianTest, ARemovalUnderWayIsGivenUpWhenAnotherMemberDies) {
  for (const bool is_planned : {true, false}) {
    Members(kA, {kB, kC, kD});
    partition().planned.clear();
    partition().intent.reset();
    if (is_planned)
      partition().planned =
          StepsOf({.kind = BalanceMove::Kind::kCopySecondary, .pid = kPid, .from = kB, .to = kD});
    partition().intent = Step().intent;  // planned, or of one too many
    ASSERT_TRUE(partition().intent);
    ASSERT_EQ(partition().intent->type, ConfigType::kRemove);
    Members(kA, partition().intent->node == kB ? std::vector{kB, kD} : std::vector{kC, kD});
    EXPECT_FALSE(Step().intent);
  }
}

TEST_F(PartitionGuardianTest, ABalancersMoveTakesTheSpareCopyAway) {
  Members(kA, {kB, kC, kD});
  partition().planned =
      StepsOf({.kind = BalanceMove::Kind::kCopySecondary, .pid = kPid, .from = kB, .to = kD});
  Expect(ConfigType::kRemove, kA, kB);
}

TEST_F(PartitionGuardianTest, WhatAnAdministratorTakesAwayMayBeNeeded) {
  Members(kA, {kB, kD});
  partition().planned = {{.type = ConfigType::kRemove, .target = kA, .node = kB}};
  Expect(ConfigType::kRemove, kA, kB);
}

TEST_F(PartitionGuardianTest, APlanWhoseStepNobodyCarriesOutIsGivenUp) {
  Members(kA, {kB, kC});
  partition().planned = {
      {.type = ConfigType::kAddSecondaryForLoadBalance, .target = kA, .node = kD},
      {.type = ConfigType::kRemove, .target = kA, .node = kB}};
  Asked(ConfigType::kAddSecondaryForLoadBalance, kA, kD, absl::Seconds(59));
  EXPECT_FALSE(Step().planned);
  now_ = now_ + absl::Seconds(1);
  const GuardianPlan::Step step = Step();
  ASSERT_TRUE(step.planned);
  EXPECT_TRUE(step.planned->empty());
  EXPECT_FALSE(step.intent);
  EXPECT_EQ(step.passed_over, kD);
}

TEST_F(PartitionGuardianTest, AnAdministratorsRemovalIsGivenUpWithItsPlan) {
  Members(kA, {kB, kC});
  partition().planned = {{.type = ConfigType::kRemove, .target = kA, .node = kB}};
  Asked(ConfigType::kRemove, kA, kB, absl::Minutes(1));
  const GuardianPlan::Step step = Step();
  ASSERT_TRUE(step.planned);
  EXPECT_TRUE(step.planned->empty());
  EXPECT_FALSE(step.intent);
}

TEST_F(PartitionGuardianTest, AChosenPrimaryThatDoesNothingIsPassedOver) {
  for (const bool is_planned : {false, true}) {
    Members({}, {kB, kC});
    partition().planned.clear();
    if (is_planned)
      partition().planned = {{.type = ConfigType::kUpgradeToPrimary, .target = kB, .node = kB}};
    Asked(ConfigType::kUpgradeToPrimary, kB, kB, absl::Seconds(5));
    partition().intent->times_sent = 0;  // it syncs often: it opens replicas, or compacts
    Expect(ConfigType::kUpgradeToPrimary, kB, kB);
    EXPECT_EQ(next_look_, now_ + absl::Seconds(1));
    now_ = now_ + absl::Seconds(1);
    Expect(ConfigType::kUpgradeToPrimary, kC, kC);
    EXPECT_EQ(Step().planned.has_value(), is_planned);
  }
}

TEST_F(PartitionGuardianTest, TheOnlyOneThatMayBePrimaryIsAskedOn) {
  Members({}, {kB, kC});
  Dead(kC);
  partition().intent = Intent{.type = ConfigType::kUpgradeToPrimary,
                              .target = kB,
                              .node = kB,
                              .times_sent = 9,
                              .last_sent = now_ - absl::Minutes(1),
                              .first_sent = now_ - absl::Minutes(2)};
  Expect(ConfigType::kUpgradeToPrimary, kB, kB);
}

TEST_F(PartitionGuardianTest, AChildThatIsNotRegisteredIsLeftAlone) {
  Members(kA, {kB, kC});
  Table& table = state_.tables[1];
  table.info.partition_count = 2;
  table.split = TableSplit{.from = 1};
  table.partitions.emplace_back().config = {
      .pid = {1, 1}, .ballot = kBallotOfUnregistered, .max_replica_count = 3};
  const auto plan = [&] { return PlanPartitions(state_, FunctionLevel::kLively, {}, now_); };
  for (const GuardianPlan::Step& step : plan().steps) EXPECT_EQ(step.pid, kPid);
  // Registered, it is cured like any other.
  table.partitions[1].config = table.partitions[0].config;
  table.partitions[1].config.pid = {1, 1};
  table.partitions[1].serving = {kA, kB, kC};
  Dead(kA);
  const GuardianPlan next = plan();
  ASSERT_EQ(next.steps.size(), 2u);
  for (const GuardianPlan::Step& step : next.steps) {
    ASSERT_TRUE(step.write);
    EXPECT_FALSE(step.write->primary.IsValid());
  }
}

}  // namespace
}  // namespace arion
