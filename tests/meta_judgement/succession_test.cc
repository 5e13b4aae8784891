// SPDX-License-Identifier: Apache-2.0
#include "meta_judgement/succession.h"

#include "tests/meta/one_partition.h"

namespace arion {
namespace {

class SuccessionTest : public OnePartitionTest {
 protected:
  Succession OneLook() {
    next_look_ = Instant::InfiniteFuture();
    return {state_, absl::Seconds(10), now_, &next_look_};
  }
  Succession::Choice OfSecondaries() { return OneLook().OfSecondaries(partition()); }
  Succession::Choice OfLastDrops() { return OneLook().OfLastDrops(partition()); }
  bool HaveAliveMembersReported() { return OneLook().HaveAliveMembersReported(partition()); }
};

// ---- Of secondaries that kept running

TEST_F(SuccessionTest, IntactAreLivingSecondariesKnownToHoldEverything) {
  Members(kA, {kB, kC});
  EXPECT_EQ(OneLook().Intact(partition()), (std::vector{kB, kC}));
  EXPECT_FALSE(OneLook().IsIntact(partition(), kA)) << "it leads";
  EXPECT_FALSE(OneLook().IsIntact(partition(), kD)) << "no member";
  Dead(kB);
  EXPECT_EQ(OneLook().Intact(partition()), (std::vector{kC}));
  NoteRestart(partition(), kC, now_ + absl::Seconds(10));
  EXPECT_TRUE(OneLook().Intact(partition()).empty()) << "what its new process holds is not known";
}

// ---- Of the others (meta/STATE.md 6.3)

TEST_F(SuccessionTest, WhoSaysWhatItHoldsHasReported) {
  Members(kA, {kB, kC});
  EXPECT_TRUE(HaveAliveMembersReported()) << "they serve";
  RestartAll();
  Dead(kC);  // nothing is waited for from it
  Reports(kA, Unclean(5, 10));
  EXPECT_FALSE(HaveAliveMembersReported());
  Reports(kB, {.loading = true});
  EXPECT_FALSE(HaveAliveMembersReported());
  Reports(kB, Unclean(5, 10));
  EXPECT_TRUE(HaveAliveMembersReported());
  ReportsNothing(kB);
  EXPECT_TRUE(HaveAliveMembersReported()) << "it has lost its copy";
  state_.nodes[kB].has_unreadable_disks = true;
  EXPECT_FALSE(HaveAliveMembersReported()) << "unknown is not gone";
}

TEST_F(SuccessionTest, WhereOneCannotTellItsBallotTheLongestLeads) {
  Members({}, {kA, kB, kC});
  RestartAll();
  Reports(kA, Unclean(5, 10));
  Reports(kB, Unclean(0, 12));  // it learned from a checkpoint: its log tells nothing
  Reports(kC, Unclean(5, 11));
  EXPECT_EQ(OfSecondaries().leader, kB);
  Reports(kC, Unclean(5, 13));
  EXPECT_EQ(OfSecondaries().leader, kC);
  Reports(kC, Unclean(-1, 13));  // a learner's state
  EXPECT_EQ(OfSecondaries().leader, kB);
}

// Its own ballot is that of the configuration, whatever it holds: the power took the end of its log
// from the page cache.
TEST_F(SuccessionTest, AnOlderServersBallotIsNotThatOfWhatItHolds) {
  Members({}, {kA, kB});
  RestartAll();
  Reports(kA, Unclean(5, 10));
  Reports(kB, {.ballot = Ballot(6),
               .status = PartitionStatus::kInactive,
               .last_prepared_decree = Decree(7)});
  EXPECT_EQ(OfSecondaries().leader, kA);
}

TEST_F(SuccessionTest, AWaitForReportsEndsAfterOneGrace) {
  Members({}, {kB, kC}, {kA});
  RestartAll();
  partition().headless_since = now_;
  Reports(kB, Unclean(5, 10));
  EXPECT_FALSE(OfSecondaries().leader.IsValid());
  EXPECT_STREQ(OfSecondaries().reason, "");
  EXPECT_EQ(next_look_, now_ + absl::Seconds(10));
  now_ = now_ + absl::Seconds(10);
  EXPECT_EQ(OfSecondaries().leader, kB);
}

TEST_F(SuccessionTest, TheFormerPrimaryWinsTies) {
  Members({}, {kA, kB, kC});
  RestartAll();
  for (Endpoint node : {kA, kB, kC}) Reports(node, Unclean(5, 10));
  partition().former_primary = kB;
  EXPECT_EQ(OfSecondaries().leader, kB);
}

// Seen in simulation (960189): A gave way to B, C could not tell, and A won the tie, for ever.
TEST_F(SuccessionTest, WhereOneCanNotTellItsBallotTheOthersAreStillComparedByTheirs) {
  Members({}, {kA, kB, kC});
  RestartAll();
  partition().former_primary = kA;
  Reports(kA, Unclean(4, 10));
  Reports(kB, Unclean(5, 10));
  Reports(kC, Unclean(0, 10));
  EXPECT_EQ(OfSecondaries().leader, kB);
  Reports(kA, Unclean(4, 11));
  EXPECT_EQ(OfSecondaries().leader, kB);
  Reports(kC, Unclean(0, 12));
  EXPECT_EQ(OfSecondaries().leader, kC) << "all of it was committed";
}

TEST_F(SuccessionTest, ASecondaryThatMayComeWithItsCopyIsNotForsaken) {
  Members({}, {kB, kC}, {kA});
  RestartAll();
  Dead(kB);
  state_.nodes[kC].collected = true;
  EXPECT_STREQ(OfSecondaries().reason,
               "the secondaries are dead or have lost their replicas; who left last may hold "
               "everything");
  Reports(kC, {.loading = true});
  partition().headless_since = now_ - absl::Seconds(10);
  EXPECT_STREQ(OfSecondaries().reason, "no secondary is alive with its replica loaded");
  EXPECT_FALSE(IsForsaken(state_, partition()));
  partition().config.primary = kA;
  Dead(kC);
  EXPECT_FALSE(IsForsaken(state_, partition())) << "it has a primary";
}

// ---- Where a disk may have gone back

TEST_F(SuccessionTest, WhoseCopyMayBeOlderLeadsOnlyOnceTheDeadHadAGraceToComeBack) {
  Members({}, {kB, kC}, {kA});
  RestartAll();
  Dead(kC);
  partition().headless_since = now_;
  Reports(kB, Unproven(5, 10));
  EXPECT_FALSE(OfSecondaries().leader.IsValid());
  EXPECT_STREQ(OfSecondaries().reason, "");
  EXPECT_EQ(next_look_, now_ + absl::Seconds(10));
  now_ = now_ + absl::Seconds(10);
  EXPECT_EQ(OfSecondaries().leader, kB) << "nobody else came";
  now_ = kNow;
  Reports(kB, Unclean(5, 10));
  EXPECT_EQ(OfSecondaries().leader, kB) << "what its disk had lost would have shown";
  Reports(kB, Unproven(5, 10));
  state_.nodes[kC].alive = true;
  Reports(kC, Unproven(5, 12));
  EXPECT_EQ(OfSecondaries().leader, kC);
}

TEST_F(SuccessionTest, TheFormerPrimaryIsWaitedForTooAndLeadsWhereItHoldsMore) {
  Members({}, {kB}, {kA});
  RestartAll();
  Dead(kA);
  partition().headless_since = now_;
  partition().former_primary = kA;
  Reports(kB, Unproven(5, 10));
  EXPECT_FALSE(OfSecondaries().leader.IsValid());
  state_.nodes[kA].alive = true;
  EXPECT_FALSE(OfSecondaries().leader.IsValid()) << "it has not reported yet";
  Reports(kA, Unproven(5, 10));
  EXPECT_EQ(OfSecondaries().leader, kB) << "no more than its secondary";
  Reports(kA, Unproven(5, 12));
  EXPECT_EQ(OfSecondaries().leader, kA);
  Reports(kB, Unproven(0, 0));
  EXPECT_EQ(OfSecondaries().leader, kA) << "nothing is in B's log";
  Reports(kA, Unproven(-1, 12));
  EXPECT_EQ(OfSecondaries().leader, kB) << "a learner's state";
}

// ---- Of those who left (meta/STATE.md 6.4)

TEST_F(SuccessionTest, ASingleDroppedNodeLeadsOnceItShowsItsReplica) {
  Members({}, {}, {kA});
  EXPECT_STREQ(OfLastDrops().reason, "the member that left last has lost its replica");
  state_.nodes[kA].collected = false;
  EXPECT_STREQ(OfLastDrops().reason, "the member that left last has not reported its replicas yet");
  Reports(kA, {.loading = true});
  EXPECT_STREQ(OfLastDrops().reason, "the member that left last is still loading its replica");
  Reports(kA, {.ballot = Ballot(4)});
  EXPECT_EQ(OfLastDrops().leader, kA);
  Dead(kA);
  EXPECT_STREQ(OfLastDrops().reason, "the member that left last is dead");
}

TEST_F(SuccessionTest, OfTheLastTwoDroppedTheLargerBallotThenCommittedThenPreparedIsChosen) {
  struct Row {
    ReplicaInfo earlier, last;
    Endpoint chosen;  // invalid: stays dead
  };
  auto info = [](int64_t ballot, int64_t committed, int64_t prepared) {
    return ReplicaInfo{.ballot = Ballot(ballot),
                       .last_committed_decree = Decree(committed),
                       .last_prepared_decree = Decree(prepared)};
  };
  partition().config.last_committed_decree = Decree(10);
  partition().config.ballot = Ballot(7);
  for (const Row& row : {
           Row{info(5, 10, 12), info(4, 10, 20), kA}, Row{info(5, 10, 12), info(5, 11, 11), kB},
           Row{info(5, 10, 13), info(5, 10, 12), kA},
           Row{info(5, 10, 12), info(5, 10, 12), kB},  // tie: the later dropped
           Row{info(6, 10, 12), info(5, 11, 12), {}},  // ballot and committed disagree
           Row{info(5, 8, 9), info(5, 8, 9), {}},      // less than was committed
       }) {
    Members({}, {}, {kC, kA, kB});
    Reports(kA, row.earlier);
    Reports(kB, row.last);
    EXPECT_EQ(OfLastDrops().leader, row.chosen);
  }
}

TEST_F(SuccessionTest, BothOfTheLastTwoDroppedMustBeHeardOf) {
  Members({}, {}, {kA, kB});
  Reports(kA, {.ballot = Ballot(5)});
  Dead(kB);
  EXPECT_FALSE(OfLastDrops().leader.IsValid());
  state_.nodes[kB] = {.alive = true};
  EXPECT_FALSE(OfLastDrops().leader.IsValid());  // not reported
  state_.nodes[kB].collected = true;
  EXPECT_FALSE(OfLastDrops().leader.IsValid());  // reported without the replica
  state_.nodes[kB].has_unreadable_disks = true;
  EXPECT_FALSE(OfLastDrops().leader.IsValid());  // unknown is not gone
  state_.nodes[kB].has_unreadable_disks = false;
  Reports(kB, {.ballot = Ballot(4)});
  EXPECT_EQ(OfLastDrops().leader, kA);
  state_.nodes[kA].replicas.clear();
  EXPECT_EQ(OfLastDrops().leader, kB);  // the earlier one has nothing to set against it
  state_.nodes[kB].replicas.clear();
  EXPECT_FALSE(OfLastDrops().leader.IsValid());  // both are gone
}

// An older server tells no ballot of a mutation, and after a restart less was committed than before.
// Its own ballot may be one under which it only was to learn.
TEST_F(SuccessionTest, WhoForgotWhatWasCommittedLeadsWhereItHoldsNoLess) {
  const auto older = [](int64_t ballot, int64_t committed, int64_t prepared) {
    return ReplicaInfo{.ballot = Ballot(ballot),
                       .status = PartitionStatus::kInactive,
                       .last_committed_decree = Decree(committed),
                       .last_prepared_decree = Decree(prepared)};
  };
  const auto ours = [&](int64_t ballot, int64_t mutation_ballot, int64_t committed,
                        int64_t prepared) {
    ReplicaInfo info = Durable(ballot, prepared, committed);
    info.last_mutation_ballot = Ballot(mutation_ballot);
    return info;
  };
  struct Row {
    ReplicaInfo earlier, last;
    Endpoint chosen;
  };
  partition().config.last_committed_decree = Decree(140);
  partition().config.ballot = Ballot(19);
  for (const Row& row : {
           // Invited under the last one's ballot, in vain (sim seed 4, --older 1).
           Row{ours(18, 15, 146, 150), older(18, 145, 155), kB},
           Row{older(18, 146, 150), older(18, 145, 155), kB},
           Row{ours(18, -1, 146, 150), older(18, 145, 155), kB},
           // It has lost what the other one knows to be committed: nobody can tell how much.
           Row{ours(18, 15, 146, 150), older(18, 141, 145), {}},
           Row{ours(18, -1, 146, 150), older(18, 141, 145), {}},
           // What an older one holds under that ballot is not known.
           Row{older(18, 146, 160), ours(18, 17, 145, 155), kB},
       }) {
    Members({}, {}, {kC, kA, kB});
    Reports(kA, row.earlier);
    Reports(kB, row.last);
    EXPECT_EQ(OfLastDrops().leader, row.chosen)
        << row.earlier.last_prepared_decree << " " << row.last.last_prepared_decree;
  }
}

// A copy was moved from A to B, which took writes for days: what is left at A agrees with all that
// is stored, and lacks those writes.
TEST_F(SuccessionTest, AnOlderCopyNeverTakesThePlaceOfOneThatWasLost) {
  for (int32_t count : {1, 3}) {  // what was under way when A left may be at B alone in each
    Members({}, {}, {kA, kB});
    partition().config.max_replica_count = count;
    partition().config.last_committed_decree = Decree(10);
    Reports(kA, {.ballot = Ballot(4),
                 .last_committed_decree = Decree(10),
                 .last_prepared_decree = Decree(10),
                 .durability = static_cast<int8_t>(Durability::kFsync),
                 .last_mutation_ballot = Ballot(4)});
    state_.nodes[kB].replicas.clear();
    EXPECT_FALSE(OfLastDrops().leader.IsValid());
    EXPECT_STREQ(OfLastDrops().reason, "the member that left last has lost its replica");
  }
}

TEST_F(SuccessionTest, WithDurableLogsTheLastDroppedNodeIsEnough) {
  auto durable = [](int64_t ballot, int64_t mutation_ballot, int64_t committed, int64_t prepared,
                    bool unclean) {
    return ReplicaInfo{.ballot = Ballot(ballot),
                       .last_committed_decree = Decree(committed),
                       .last_prepared_decree = Decree(prepared),
                       .durability = static_cast<int8_t>(Durability::kFsync),
                       .unclean = unclean,
                       .last_mutation_ballot = Ballot(mutation_ballot)};
  };
  Members({}, {}, {kC, kA, kB});
  partition().config.ballot = Ballot(8);
  partition().config.last_committed_decree = Decree(34);
  partition().headless_since = now_;
  Dead(kA);
  Reports(kB, durable(7, 7, 34, 35, true));
  EXPECT_EQ(OfLastDrops().leader, kB);
  // The other one is coming: it may have what a damaged end lacks.
  state_.nodes[kA] = {.alive = true};
  EXPECT_FALSE(OfLastDrops().leader.IsValid());
  EXPECT_EQ(next_look_, now_ + absl::Seconds(10));
  // Its ballot is smaller and its committed decree larger: commits that a restart forgot are no
  // contradiction.
  Reports(kA, durable(5, 5, 35, 36, false));
  EXPECT_EQ(OfLastDrops().leader, kB);
  Reports(kA, durable(5, 7, 35, 36, false));
  EXPECT_EQ(OfLastDrops().leader, kA);
  // Who learned from a checkpoint, or began a log file and wrote nothing to it, can't say under which
  // ballot its last mutation was (0): it led, and holds what the other never saw.
  Reports(kB, durable(7, 0, 91, 91, false));
  Reports(kA, durable(7, 5, 80, 88, false));
  EXPECT_EQ(OfLastDrops().leader, kB);
  // A learner's state (-1) never outranks the last one's, however long it is and whatever that says.
  Reports(kB, durable(7, -1, 34, 35, true));
  Reports(kA, durable(7, -1, 35, 99, false));
  EXPECT_EQ(OfLastDrops().leader, kB);
  // The earlier one alone never: the last one may have acknowledged more.
  Dead(kB);
  EXPECT_FALSE(OfLastDrops().leader.IsValid());
}

// Seen in simulation (129200329): of a new table's two members the primary's disk came back as it was
// before the first write. The table was dropped before it was missed, so it had left last.
TEST_F(SuccessionTest, AnOlderCopyWithoutAMutationIsNotTakenForACheckpoint) {
  const auto durable = [](int64_t ballot, int64_t mutation_ballot, int64_t prepared) {
    ReplicaInfo info = Durable(ballot, prepared, 0);
    info.last_mutation_ballot = Ballot(mutation_ballot);
    return info;
  };
  struct Row {
    ReplicaInfo earlier, last;
    Endpoint chosen;
  };
  partition().config.ballot = Ballot(9);
  for (const Row& row : {
           Row{durable(2, 2, 1), durable(2, 0, 0), kA},
           Row{durable(9, 9, 95), durable(7, 0, 91), kA},
           // It ended where the other one's checkpoint does.
           Row{durable(7, 7, 91), durable(7, 0, 91), kB},
           // The last one was told of a ballot under which it may have acknowledged other writes.
           Row{durable(7, 5, 95), durable(7, 0, 91), kB},
           // Nor does the other one tell under which ballot it holds more.
           Row{durable(9, 0, 95), durable(7, 0, 91), kB},
       }) {
    Members({}, {}, {kA, kB});
    Reports(kA, row.earlier);
    Reports(kB, row.last);
    EXPECT_EQ(OfLastDrops().leader, row.chosen)
        << row.earlier.last_prepared_decree << " " << row.last.last_prepared_decree;
  }
}

}  // namespace
}  // namespace arion
