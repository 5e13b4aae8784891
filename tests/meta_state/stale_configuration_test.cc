// SPDX-License-Identifier: Apache-2.0
#include "meta_state/stale_configuration.h"

#include <gtest/gtest.h>

#include <tuple>

#include "meta_judgement/partition_guardian.h"
#include "meta_judgement/replica_garbage.h"
#include "meta_state/configuration_change.h"
#include "meta_state/replica_reports.h"

namespace arion {
namespace {

constexpr Endpoint kA{1, 34801}, kB{2, 34801}, kC{3, 34801}, kD{4, 34801};
constexpr PartitionId kPid{1, 0};
const Instant kNow = Instant(0) + absl::Hours(1);
constexpr auto kPrimary = PartitionStatus::kPrimary;
constexpr auto kSecondary = PartitionStatus::kSecondary;
constexpr auto kInactive = PartitionStatus::kInactive;

// Stored: A is primary of B and C, ballot 5. Servers A to D live; nobody has reported.
class StaleConfigurationTest : public testing::Test {
 protected:
  StaleConfigurationTest() {
    Table& table = state_.tables[1];
    table.info = {.status = AppStatus::kAvailable, .app_id = 1, .partition_count = 1};
    table.partitions.resize(1);
    partition().config = {.pid = kPid,
                          .ballot = Ballot(5),
                          .max_replica_count = 3,
                          .primary = kA,
                          .secondaries = {kB, kC}};
    for (Endpoint node : {kA, kB, kC, kD}) state_.nodes[node] = {.alive = true};
  }
  Partition& partition() { return state_.tables[1].partitions[0]; }
  void Reports(Endpoint node, int64_t ballot, PartitionStatus status, int64_t prepared = 10,
               std::optional<int64_t> mutation_ballot = std::nullopt) {
    ReplicaInfo info{.pid = kPid,
                     .ballot = Ballot(ballot),
                     .status = status,
                     .last_committed_decree = Decree(std::min<int64_t>(prepared, 10)),
                     .last_prepared_decree = Decree(prepared),
                     .durability = static_cast<int8_t>(Durability::kFsync),
                     .last_mutation_ballot = Ballot(mutation_ballot.value_or(ballot))};
    NoteReports(state_, {.node = node, .stored_replicas = std::vector{info}}, 0, absl::Seconds(10),
                kNow);
  }
  void HasNothing(Endpoint node) {
    NoteReports(state_, {.node = node, .stored_replicas = std::vector<ReplicaInfo>{}}, 0,
                absl::Seconds(10), kNow);
  }
  GuardianPlan::Step Step() {
    GuardianPlan plan = PlanPartitions(state_, FunctionLevel::kSteady, {}, kNow);
    return plan.steps.empty() ? GuardianPlan::Step{} : plan.steps[0];
  }
  void ExpectToWait() {
    const GuardianPlan::Step step = Step();
    EXPECT_FALSE(step.write) << step.reason;
    EXPECT_FALSE(step.intent);
  }
  // Stores what is next.
  PartitionConfiguration Next() {
    const GuardianPlan::Step step = Step();
    if (!step.write) {
      ADD_FAILURE() << "nothing is stored: " << step.reason;
      return {};
    }
    Install(partition(), *step.write, ConfigType::kInvalid, kNow);
    return partition().config;
  }
  void ExpectAssigned(Endpoint node) {
    const GuardianPlan::Step step = Step();
    ASSERT_TRUE(step.intent) << step.reason;
    EXPECT_EQ(step.intent->type, ConfigType::kAssignPrimary);
    EXPECT_EQ(step.intent->node, node);
  }

  ClusterState state_;
};

TEST_F(StaleConfigurationTest, WhoServesUnderALargerBallotBeginsAloneBehindIt) {
  Reports(kD, 9, kPrimary);
  const PartitionConfiguration next = Next();
  EXPECT_EQ(next.ballot, Ballot(10));
  EXPECT_EQ(next.MemberCount(), 0u) << "those stored are outdated";
  EXPECT_EQ(next.last_drops, std::vector{kD});
  ExpectAssigned(kD);
  // Others that have reported more since: it is the primary all the same, it may answer reads.
  Reports(kB, 9, kSecondary, 99);
  ExpectAssigned(kD);
}

TEST_F(StaleConfigurationTest, WhoServedAndWasRefusedAnUpdateIsStillThePrimary) {
  state_.nodes[kC].alive = false;
  Reports(kD, 8, kPrimary);
  partition().pending = partition().config;  // not yet
  Reports(kD, 9, kPrimary);
  Reports(kD, 9, kInactive);
  partition().pending.reset();
  EXPECT_EQ(Next().last_drops, std::vector{kD});
}

TEST_F(StaleConfigurationTest, ANewProcessOfWhoServedIsNoPrimary) {
  Reports(kD, 9, kPrimary);
  NoteRestart(partition(), kD, kNow);
  state_.nodes[kD].replicas.clear();
  ExpectToWait();
}

TEST_F(StaleConfigurationTest, AWorkingGroupKeepsItsMembersWhenSomebodyReturnsWithMore) {
  Reports(kA, 5, kPrimary);
  EXPECT_FALSE(Step().write);
  Reports(kD, 12, kInactive, 50);
  const PartitionConfiguration next = Next();
  EXPECT_EQ(next.ballot, Ballot(13));
  EXPECT_EQ(next.primary, kA);
  EXPECT_EQ(next.secondaries, (std::vector{kB, kC}));
  EXPECT_TRUE(partition().serving.contains(kA));
}

TEST_F(StaleConfigurationTest, WithoutAPrimaryAllAreHeardBeforeTheBestLeads) {
  Reports(kB, 9, kInactive, 30);
  ExpectToWait();
  Reports(kD, 9, kInactive, 31);
  Reports(kC, 6, kInactive, 99);
  ExpectToWait();
  state_.nodes[kA].alive = false;
  ExpectToWait();  // it may know more than all the others
  state_.nodes[kA].alive = true;
  HasNothing(kA);
  const PartitionConfiguration next = Next();
  EXPECT_EQ(next.ballot, Ballot(10));
  EXPECT_EQ(next.MemberCount(), 0u);
  EXPECT_EQ(next.last_drops, (std::vector{kC, kB, kD}));
  ExpectAssigned(kD);
}

// Seed 910045 of meta-put-back: who knew of the later commit knew of no later ballot, and the two
// hold the same.
TEST_F(StaleConfigurationTest, OfThoseWhoHoldTheSameWhoWasToldOfTheLatestLeads) {
  HasNothing(kA);
  HasNothing(kC);
  for (const auto& [node, ballot, committed] : {std::tuple(kB, 11, 12), std::tuple(kD, 9, 13)}) {
    const ReplicaInfo info{.pid = kPid,
                           .ballot = Ballot(ballot),
                           .status = kInactive,
                           .last_committed_decree = Decree(committed),
                           .last_prepared_decree = Decree(13),
                           .durability = static_cast<int8_t>(Durability::kFsync),
                           .last_mutation_ballot = Ballot(8)};
    NoteReports(state_, {.node = node, .stored_replicas = std::vector{info}}, 0, absl::Seconds(10),
                kNow);
  }
  EXPECT_EQ(Next().last_drops, (std::vector{kD, kB}));
  ExpectAssigned(kB);
}

// Seed 910173 of meta-put-back: a copy that is a checkpoint without a log can't say of which ballot
// its last mutation is, and was taken for later by the ballot that it had been told.
TEST_F(StaleConfigurationTest, WhoKnowsAllThatOthersHoldToBeCommittedAndTheLatestBallotLeads) {
  HasNothing(kA);
  HasNothing(kC);
  Reports(kB, 11, kInactive, 10, 7);
  Reports(kD, 9, kInactive, 10, 0);
  EXPECT_EQ(Next().last_drops, (std::vector{kD, kB}));
  ExpectAssigned(kB);
}

TEST_F(StaleConfigurationTest, WhereSomebodyHoldsMoreWhoWasToldTheLatestBallotDoesNot) {
  HasNothing(kA);
  HasNothing(kC);
  Reports(kB, 11, kInactive, 10, 7);
  Reports(kD, 9, kInactive, 11, 9);
  ExpectToWait();
}

TEST_F(StaleConfigurationTest, ALearnersStateNeverLeads) {
  HasNothing(kA);
  HasNothing(kC);
  Reports(kB, 8, kInactive);
  Reports(kD, 9, kInactive, 99, -1);
  ExpectToWait();  // who taught it is not here
  Reports(kB, 9, kInactive);
  EXPECT_EQ(Next().last_drops, (std::vector{kD, kB}));
  ExpectAssigned(kB);
}

TEST_F(StaleConfigurationTest, MembersStayWhereNoneOfThemWasToldOfALaterConfiguration) {
  Reports(kA, 5, kInactive);
  Reports(kB, 5, kInactive);
  Reports(kD, 12, kInactive, 50, 5);
  ExpectToWait();
  Reports(kC, 4, kInactive);
  const PartitionConfiguration next = Next();
  EXPECT_EQ(next.ballot, Ballot(13));
  EXPECT_FALSE(next.primary.IsValid());
  EXPECT_EQ(next.secondaries, (std::vector{kB, kC, kA}));
}

TEST_F(StaleConfigurationTest, MembersWhoseDisksWentBackWithTheStateDoNotLeadPastALaterMutation) {
  Reports(kA, 5, kInactive);
  Reports(kB, 5, kInactive);
  Reports(kC, 5, kInactive);
  Reports(kD, 12, kInactive, 50, 12);
  const PartitionConfiguration next = Next();
  EXPECT_EQ(next.MemberCount(), 0u);
  EXPECT_EQ(next.last_drops.back(), kD);
}

// Seen in simulation (970000026): it waited for ever for who had told already.
TEST_F(StaleConfigurationTest, WhoHasADiskThatCanNotBeReadHasToldWhereItHasACopy) {
  Reports(kA, 5, kInactive);
  Reports(kB, 5, kInactive);
  Reports(kC, 5, kInactive);
  Reports(kD, 9, kInactive, 10, 5);
  state_.nodes[kD].has_unreadable_disks = true;
  EXPECT_EQ(Next().ballot, Ballot(10));
  HasNothing(kC);
  state_.nodes[kC].has_unreadable_disks = true;
  ExpectToWait();
}

TEST_F(StaleConfigurationTest, WhoIsAwaitedMayHoldMoreThanAnyWhoHasTold) {
  state_.awaited = {Endpoint{5, 34801}};
  Reports(kA, 5, kInactive);
  Reports(kB, 5, kInactive);
  Reports(kC, 5, kInactive);
  Reports(kD, 12, kInactive, 10, 5);
  ExpectToWait();
  state_.awaited.clear();
  EXPECT_EQ(Next().secondaries, (std::vector{kB, kC, kA}));
}

// Seen in simulation (8100056): the copy was of a moment at which the only member's server was not
// listed yet. It led on by its lease while the one that it had followed, whose copy was a part of
// its own, was made primary.
TEST_F(StaleConfigurationTest, WhoTheCopyDoesNotListMayComeInTheFirstGrace) {
  state_.is_beginning = true;
  Reports(kA, 8, kInactive);
  for (Endpoint node : {kB, kC, kD}) HasNothing(node);
  ExpectToWait();
  state_.is_beginning = false;
  EXPECT_EQ(Next().last_drops, std::vector{kA});
}

TEST_F(StaleConfigurationTest, MeanwhileNoUpdateIsAcceptedAndNothingIsGarbage) {
  HasNothing(kA);
  Reports(kB, 5, kSecondary);
  Reports(kC, 9, kSecondary);
  Reports(kD, 4, kInactive);
  ConfigurationUpdateRequest update{
      .config = partition().config, .type = ConfigType::kDowngradeToInactive, .node = kC};
  update.config.ballot = Ballot(6);
  update.config.secondaries = {kB};
  EXPECT_EQ(JudgeUpdate(state_, FunctionLevel::kSteady, update).verdict, UpdateVerdict::kOutdated);
  EXPECT_TRUE(GarbageOf(state_, FunctionLevel::kLively, kD, 0).empty());
  EXPECT_TRUE(UnneededOf(state_, FunctionLevel::kSteady, kD, {kPid}, 0).empty());
}

TEST_F(StaleConfigurationTest, ABallotThatNobodyReachesIsNoBallot) {
  Reports(kD, int64_t{1} << 62, kInactive);
  EXPECT_FALSE(partition().IsBehind());
}

TEST_F(StaleConfigurationTest, WhereFewServersLiveNothingIsStored) {
  Reports(kD, 9, kPrimary);
  for (FunctionLevel level : {FunctionLevel::kFreezed, FunctionLevel::kStopped}) {
    const GuardianPlan plan = PlanPartitions(state_, level, {}, kNow);
    EXPECT_FALSE(!plan.steps.empty() && plan.steps[0].write);
  }
}

}  // namespace
}  // namespace arion
