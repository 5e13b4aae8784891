// The stand-in for a 2.5.0 meta server judges as replica/OLDER.md 6 says.
// SPDX-License-Identifier: Apache-2.0
#include "sim_older/old_guardian.h"

#include <gtest/gtest.h>

namespace arion::sim {
namespace {

constexpr Endpoint kA{0x0a000001, 34801}, kB{0x0a000002, 34801}, kC{0x0a000003, 34801},
    kD{0x0a000004, 34801};

class OldGuardianTest : public testing::Test {
 protected:
  OldGuardianTest() {
    for (Endpoint node : {kA, kB, kC, kD}) state_.nodes[node] = {true, true};
    table_.info = {.status = AppStatus::kAvailable, .app_id = 1, .partition_count = 1};
    OldPartition& partition = table_.partitions.emplace_back();
    partition.config = {.pid = {1, 0}, .ballot = Ballot(5), .max_replica_count = 3};
  }
  OldPartition& partition() { return table_.partitions[0]; }
  PartitionConfiguration& config() { return partition().config; }
  void Members(Endpoint primary, std::vector<Endpoint> secondaries) {
    config().primary = primary;
    config().secondaries = std::move(secondaries);
  }
  // "1 a>b": a proposal of that type to a about b; empty: none.
  std::string Cure() {
    const auto proposal = OldCure(state_, table_, partition(), options_, now_);
    if (!proposal) return "";
    const auto name = [](Endpoint node) { return std::string(1, "?abcd"[node.ip & 0xff]); };
    return std::to_string(static_cast<int>(proposal->type)) + " " + name(proposal->target) + ">" +
           name(proposal->node);
  }
  void Dropped(Endpoint node, absl::Duration ago) {
    partition().dropped.push_back({.node = node, .at = now_ - ago});
  }
  void Report(Endpoint node, int64_t ballot, int64_t committed, int64_t prepared) {
    partition().reports[node] = {.pid = {1, 0},
                                 .ballot = Ballot(ballot),
                                 .last_committed_decree = Decree(committed),
                                 .last_prepared_decree = Decree(prepared)};
  }

  OldClusterState state_;
  OldTable& table_ = state_.tables[1];
  OldGuardianOptions options_{.assign_delay = absl::Minutes(10)};
  Instant now_{3'600'000'000'000};
};

TEST_F(OldGuardianTest, ANewPartitionIsAssignedAndStaysSoUntilItIsLed) {
  EXPECT_EQ(Cure(), "1 a>a");
  EXPECT_EQ(Cure(), "1 a>a") << "its own proposal does not count against it";
  state_.nodes[kA].is_alive = false;
  EXPECT_EQ(Cure(), "1 b>b");
}

TEST_F(OldGuardianTest, TheAliveSecondaryWithFewestPrimariesIsUpgraded) {
  OldPartition other;
  other.config = {.pid = {1, 1}, .primary = kB};
  table_.partitions.push_back(other);
  Members({}, {kB, kC});
  EXPECT_EQ(Cure(), "2 c>c");
  state_.nodes[kC].is_alive = false;
  EXPECT_EQ(Cure(), "2 b>b");
  state_.nodes[kB].is_alive = false;
  EXPECT_EQ(Cure(), "");
}

TEST_F(OldGuardianTest, WhoLeftAMomentAgoIsWaitedFor) {
  Members(kA, {kB});
  Dropped(kC, absl::Minutes(1));
  EXPECT_EQ(Cure(), "3 a>c");
  state_.nodes[kC].is_alive = false;
  EXPECT_EQ(Cure(), "") << "two members are enough to wait with";
  now_ = now_ + absl::Minutes(10);
  EXPECT_EQ(Cure(), "3 a>d");
  EXPECT_EQ(Cure(), "3 a>d");
}

TEST_F(OldGuardianTest, OneMemberIsTooFewToWaitWith) {
  Members(kA, {});
  Dropped(kB, absl::Minutes(2));
  Dropped(kC, absl::Minutes(1));
  state_.nodes[kC].is_alive = false;
  EXPECT_EQ(Cure(), "3 a>b");
}

TEST_F(OldGuardianTest, ADeadSecondaryAndOneTooManyLeave) {
  Members(kA, {kB, kC, kD});
  EXPECT_EQ(Cure(), "7 a>b");
  partition().proposals.clear();
  state_.nodes[kD].is_alive = false;
  EXPECT_EQ(Cure(), "6 a>d");
}

TEST_F(OldGuardianTest, OfTheLastTwoTheOneThatHoldsMoreLeads) {
  config().last_drops = {kC, kB, kA};
  Report(kB, 5, 10, 12);
  state_.nodes[kA].is_collected = false;
  EXPECT_EQ(Cure(), "") << "both must have reported";
  state_.nodes[kA].is_collected = true;
  EXPECT_EQ(Cure(), "1 b>b") << "who has no replica counts as -1, -1, -1";
  partition().proposals.clear();
  Report(kA, 5, 10, 12);
  EXPECT_EQ(Cure(), "1 a>a") << "of equal ones the last";
  partition().proposals.clear();
  Report(kA, 6, 9, 12);
  EXPECT_EQ(Cure(), "") << "they contradict each other";
  EXPECT_TRUE(OldChooseOfDropped(state_, partition()).is_for_a_person);
  Report(kA, 5, 10, 12);
  config().last_committed_decree = Decree(13);
  EXPECT_TRUE(OldChooseOfDropped(state_, partition()).is_for_a_person) << "both lack what was told";
}

TEST_F(OldGuardianTest, TheOnlyOneWhoLeftIsAssignedUnheard) {
  config().last_drops = {kA};
  state_.nodes[kA] = {.is_alive = true};
  EXPECT_EQ(Cure(), "1 a>a");
}

TEST_F(OldGuardianTest, DroppedReplicasAreKeptInMindWhileMembersLack) {
  Members(kA, {kB, kC});
  PartitionConfiguration without_c = config();
  without_c.secondaries = {kB};
  OldApply(partition(), without_c, options_, now_);
  ASSERT_EQ(partition().dropped.size(), 1u);
  EXPECT_EQ(partition().dropped[0].node, kC);
  const ReplicaInfo report{.pid = {1, 0}, .ballot = Ballot(5)};
  EXPECT_TRUE(OldCollect(partition(), kC, report, options_));
  EXPECT_FALSE(OldCollect(partition(), kD, report, options_)) << "there is place for one";
  PartitionConfiguration with_d = without_c;
  with_d.secondaries = {kB, kD};
  OldApply(partition(), with_d, options_, now_);
  EXPECT_TRUE(partition().dropped.empty());
  EXPECT_FALSE(OldCollect(partition(), kC, report, options_));
}

TEST_F(OldGuardianTest, WithTooFewServersNothingChanges) {
  EXPECT_EQ(OldLevel(state_, options_, FunctionLevel::kLively), FunctionLevel::kLively);
  state_.nodes[kA].is_alive = state_.nodes[kB].is_alive = false;
  EXPECT_EQ(OldLevel(state_, options_, FunctionLevel::kLively), FunctionLevel::kFreezed);
}

}  // namespace
}  // namespace arion::sim
