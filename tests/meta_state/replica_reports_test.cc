// What a server's report and its restart mean for partitions. SPDX-License-Identifier: Apache-2.0
#include "meta_state/replica_reports.h"

#include "tests/meta/one_partition.h"

namespace arion {
namespace {

constexpr auto kIsPrimary = PartitionStatus::kPrimary;
constexpr auto kIsSecondary = PartitionStatus::kSecondary;
constexpr auto kIsInactive = PartitionStatus::kInactive;
const Instant kUntil = kNow + absl::Seconds(10);

// A leads B and C under ballot 5; all serve.
class ReplicaReportsTest : public OnePartitionTest {
 protected:
  ReplicaReportsTest() { Members(kA, {kB, kC}); }
  bool Serves(Endpoint node) { return partition().serving.contains(node); }
  bool IsSuspect(Endpoint node) { return partition().suspects.contains(node); }
  static ReplicaInfo Ended(PartitionStatus status, int64_t prepared, int64_t committed) {
    return {.ballot = Ballot(5),
            .status = status,
            .last_committed_decree = Decree(committed),
            .last_prepared_decree = Decree(prepared),
            .durability = static_cast<int8_t>(Durability::kFsync)};
  }
  void IsToLearn(Endpoint node) {
    partition().intent = Intent{.type = ConfigType::kAddSecondary, .target = kA, .node = node};
  }
};

TEST_F(ReplicaReportsTest, APrimaryWhoseProcessIsNewMayResumeForAWhile) {
  IsToLearn(kA);
  partition().shown.primary = kA;
  NoteRestart(partition(), kA, kUntil);
  EXPECT_FALSE(Serves(kA));
  EXPECT_EQ(partition().primary_deadline, kUntil);
  EXPECT_FALSE(partition().intent) << "it was asked of the former process";
  EXPECT_FALSE(partition().shown.primary.IsValid());
  Reports(kA, {.status = kIsPrimary});
  EXPECT_TRUE(Serves(kA));
  EXPECT_EQ(partition().primary_deadline, std::nullopt);
}

TEST_F(ReplicaReportsTest, ASecondarysRestartSetsNoDeadlineAndLeavesOthersProposals) {
  partition().intent = Intent{.type = ConfigType::kAddSecondary, .target = kA, .node = kD};
  NoteRestart(partition(), kB, kUntil);
  EXPECT_FALSE(Serves(kB));
  EXPECT_EQ(partition().primary_deadline, std::nullopt);
  EXPECT_TRUE(partition().intent);
}

TEST_F(ReplicaReportsTest, WhoGivesWayIsASuspectAndWaitedForUntilTheFirstDeadline) {
  NoteGivesWay(partition(), kA, kUntil);
  EXPECT_TRUE(IsSuspect(kA));
  EXPECT_FALSE(Serves(kA));
  NoteGivesWay(partition(), kA, kUntil + absl::Seconds(5));
  EXPECT_EQ(partition().primary_deadline, kUntil);
  NoteHoldsLess(partition(), kB);
  EXPECT_TRUE(IsSuspect(kB));
  EXPECT_FALSE(Serves(kB));
}

TEST_F(ReplicaReportsTest, APrimaryThatIsNoneForOneReportIsNotYetTakenForAnother) {
  ReplicaInfo unclean{.status = kIsInactive, .unclean = true};
  Reports(kA, unclean);
  EXPECT_TRUE(Serves(kA));
  Reports(kA, unclean);
  EXPECT_FALSE(Serves(kA));
  EXPECT_TRUE(IsSuspect(kA));
  EXPECT_EQ(partition().primary_deadline, kNow);
}

TEST_F(ReplicaReportsTest, ASecondaryProvesItselfOnlyUnderAPrimaryThatServes) {
  NoteRestart(partition(), kB, kUntil);
  partition().serving.erase(kA);
  Reports(kB, {.status = kIsSecondary});
  EXPECT_FALSE(Serves(kB));
  partition().serving.insert(kA);
  Reports(kB, {.status = kIsSecondary});
  EXPECT_TRUE(Serves(kB));
}

TEST_F(ReplicaReportsTest, AnUncleanSecondaryIsASuspectAndOneThatStoppedCleanlyIsNot) {
  for (Endpoint node : {kB, kC}) NoteRestart(partition(), node, kUntil);
  Reports(kB, {.status = kIsInactive, .unclean = true});
  EXPECT_TRUE(IsSuspect(kB));
  EXPECT_FALSE(Serves(kB));
  Reports(kB, {.status = kIsInactive});
  EXPECT_FALSE(Serves(kB)) << "it was a suspect";
  Reports(kC, {.status = kIsInactive});
  EXPECT_TRUE(Serves(kC));
}

TEST_F(ReplicaReportsTest, OneThatOpensItsReplicaHasANewProcess) {
  report_number_ = 3;
  partition().older_reports = 3;
  Reports(kA, {.status = kIsInactive, .loading = true});
  EXPECT_TRUE(Serves(kA)) << "the report may be from before it took office";
  report_number_ = 4;
  Reports(kA, {.status = kIsInactive, .loading = true});
  EXPECT_FALSE(Serves(kA));
  EXPECT_EQ(partition().primary_deadline, kUntil);
}

TEST_F(ReplicaReportsTest, APrimarysReplicaThatIsMissingIsWaitedForUnlessItServes) {
  ReportsNothing(kA);
  EXPECT_EQ(partition().primary_deadline, std::nullopt) << "it joined after the report";
  partition().serving.erase(kA);
  ReportsNothing(kB);
  EXPECT_EQ(partition().primary_deadline, std::nullopt);
  ReportsNothing(kA);
  EXPECT_EQ(partition().primary_deadline, kUntil);
}

TEST_F(ReplicaReportsTest, WhatItsPrimarySaysIsCommittedStaysSo) {
  last_number_ = 7;
  Reports(kA, Ended(kIsPrimary, 30, 28));
  EXPECT_EQ(partition().committed.decree, Decree(28));
  EXPECT_EQ(partition().committed.older_reports, 7);
  EXPECT_TRUE(state_.tables[1].is_committed_unstored);
  Reports(kA, Ended(kIsPrimary, 30, 20));
  EXPECT_EQ(partition().committed.decree, Decree(28));
}

TEST_F(ReplicaReportsTest, NothingIsProvenByAnotherOrByWhatIsNotDurableOrCanNotBe) {
  Reports(kB, Ended(kIsPrimary, 30, 28));
  ReplicaInfo info = Ended(kIsPrimary, 30, 28);
  info.ballot = Ballot(4);
  Reports(kA, info);
  info = Ended(kIsPrimary, 30, 28);
  info.durability = static_cast<int8_t>(Durability::kOs);
  Reports(kA, info);
  Reports(kA, Ended(kIsPrimary, 30, 31));
  EXPECT_EQ(partition().committed.decree, Decree(0));
}

TEST_F(ReplicaReportsTest, AMemberThatEndsBeforeWhatWasCommittedIsAnOlderCopyUntilItHasLearned) {
  partition().config.last_committed_decree = Decree(30);
  Reports(kB, Ended(kIsSecondary, 29, 20));
  EXPECT_TRUE(partition().short_copies.contains(kB));
  EXPECT_TRUE(partition().older.contains(kB));
  EXPECT_EQ(state_.nodes[kB].older_copies, 1);
  Reports(kB, Ended(kIsSecondary, 28, 20));
  EXPECT_EQ(state_.nodes[kB].older_copies, 1) << "it is counted once";
  Reports(kB, Ended(kIsSecondary, 30, 30));
  EXPECT_FALSE(partition().short_copies.contains(kB));
  EXPECT_FALSE(partition().older.contains(kB));
}

// Its primary, which would have shown it, had died, and nobody had noticed yet.
TEST_F(ReplicaReportsTest, AnOlderCopyDoesNotServeThoughItsPrimarySeemedToWork) {
  partition().config.last_committed_decree = Decree(30);
  NoteRestart(partition(), kB, kUntil);
  Reports(kB, Ended(kIsInactive, 29, 20));
  EXPECT_FALSE(Serves(kB)) << "it stopped cleanly";
  Reports(kB, Ended(kIsSecondary, 29, 20));
  EXPECT_FALSE(Serves(kB));
  partition().serving.insert(kC);
  Reports(kC, Ended(kIsSecondary, 28, 20));
  EXPECT_FALSE(Serves(kC)) << "it came back before that was known";
  Reports(kB, Ended(kIsSecondary, 30, 30));
  EXPECT_TRUE(Serves(kB)) << "it has learned";
}

TEST_F(ReplicaReportsTest, OlderCopiesAreShownForADay) {
  NoteOlderCopy(state_, partition(), kB, kNow);
  partition().older.clear();
  NoteOlderCopy(state_, partition(), kB, kNow + absl::Hours(24));
  EXPECT_EQ(state_.nodes[kB].older_copies, 2);
  partition().older.clear();
  NoteOlderCopy(state_, partition(), kB, kNow + absl::Hours(49));
  EXPECT_EQ(state_.nodes[kB].older_copies, 1);
}

TEST_F(ReplicaReportsTest, WhatAServerHoldsOfUnknownTablesKeepsTheirIdsFromNewOnes) {
  NoteReports(
      state_,
      {.node = kA, .stored_replicas = std::vector<ReplicaInfo>{{.pid = {7, 0}}, {.pid = {7, 3}}}},
      0, absl::Seconds(10), kNow);
  EXPECT_EQ(state_.nodes[kA].unknown_tables, (std::map<int32_t, int32_t>{{7, 2}}));
  EXPECT_EQ(state_.NextAppId(), 8);
  NoteReports(state_,
              {.node = kA, .stored_replicas = std::vector<ReplicaInfo>{{.pid = {2000000000, 0}}}},
              0, absl::Seconds(10), kNow);
  EXPECT_EQ(state_.NextAppId(), 8) << "no table has such an id: the message is damaged";
}

TEST_F(ReplicaReportsTest, ALearnerIsSeenAndWhoGivesUpIsPassedOver) {
  IsToLearn(kD);
  Reports(kD, {.status = kIsInactive});
  EXPECT_TRUE(partition().intent) << "it has not begun";
  Reports(kD, {.status = PartitionStatus::kPotentialSecondary});
  EXPECT_TRUE(partition().intent->learner_seen);
  Reports(kD, {.status = kIsInactive});
  EXPECT_FALSE(partition().intent);
  EXPECT_EQ(partition().passed_over.at(kD), kNow + kPassedOverFor);
}

TEST_F(ReplicaReportsTest, OfThoseOutsideTheBestAreKeptAsManyAsMembersLack) {
  Members(kA, {});
  Reports(kB, Ended(kIsInactive, 10, 10));
  Reports(kC, Ended(kIsInactive, 30, 10));
  Reports(kD, Ended(kIsInactive, 20, 10));
  ASSERT_EQ(partition().dropped.size(), 2u);
  EXPECT_EQ(partition().dropped[0].node, kD);
  EXPECT_EQ(partition().dropped[1].node, kC) << "the best is the last";
}

// A server that has just begun: it gave a copy away, which was found by verification_test.py.
TEST_F(ReplicaReportsTest, ADiskThatNobodyHasLookedAtYetIsNotNearlyFull) {
  for (const int32_t tight_percent : {0, 20}) {
    state_.tight_percent = tight_percent;
    ConfigSyncRequest sync{.node = kB};
    sync.disks = {{.tag = "ssd", .available_bytes_min = 256 << 20}};
    NoteReports(state_, sync, 0, absl::Seconds(10), kNow);
    EXPECT_TRUE(state_.nodes[kB].nearly_full.empty()) << tight_percent;
  }
}

TEST_F(ReplicaReportsTest, ADiskIsNearlyFullBelowATenthUntilThereAreFifteenPercent) {
  const auto is_nearly_full = [&](int64_t percent) {
    ConfigSyncRequest sync{.node = kB};
    sync.disks = {{.tag = "ssd",
                   .total_bytes = 1000,
                   .available_bytes = 100 + 10 * percent,
                   .available_bytes_min = 100}};
    NoteReports(state_, sync, 0, absl::Seconds(10), kNow);
    return state_.nodes[kB].nearly_full.contains("ssd");
  };
  EXPECT_FALSE(is_nearly_full(10));
  EXPECT_TRUE(is_nearly_full(9));
  EXPECT_TRUE(is_nearly_full(14));
  EXPECT_FALSE(is_nearly_full(15));

  const auto is_tight = [&](int64_t percent) {
    is_nearly_full(percent);
    return state_.nodes[kB].IsTightFor(kPid);
  };
  EXPECT_TRUE(is_tight(19));
  EXPECT_FALSE(is_tight(20));
  state_.tight_percent = 0;
  EXPECT_FALSE(is_nearly_full(1)) << "nobody looks at it";
  EXPECT_FALSE(is_tight(1));
}

TEST_F(ReplicaReportsTest, ADiskThatCanNotBeIsNotTakenIn) {
  ConfigSyncRequest sync{.node = kB};
  sync.disks = {{.tag = "bad", .total_bytes = 1000, .available_bytes = -1}, {.tag = "good"}};
  NoteReports(state_, sync, 0, absl::Seconds(10), kNow);
  ASSERT_EQ(state_.nodes[kB].disks.size(), 1u);
  EXPECT_EQ(state_.nodes[kB].disks[0].tag, "good");
}

TEST_F(ReplicaReportsTest, HowLongADiskIsSlowOrFullCountsFromItsFirstReport) {
  ConfigSyncRequest sync{.node = kB, .slow_disks = std::vector<std::string>{"ssd"}};
  sync.disks = {{.tag = "ssd", .takes_no_writes = true}};
  NoteReports(state_, sync, 0, absl::Seconds(10), kNow);
  NoteReports(state_, sync, 0, absl::Seconds(10), kNow + absl::Seconds(5));
  EXPECT_EQ(state_.nodes[kB].slow_since, kNow);
  EXPECT_EQ(state_.nodes[kB].full_since, kNow);
}

}  // namespace
}  // namespace arion
