// How long what was proposed is waited for, and who is passed over. SPDX-License-Identifier:
// Apache-2.0
#include "meta_judgement/proposal_patience.h"

#include "messages/table_environments.h"
#include "tests/meta/one_partition.h"

namespace arion {
namespace {

class ProposalPatienceTest : public OnePartitionTest {
 protected:
  ProposalPatience OneLook() {
    next_look_ = Instant::InfiniteFuture();
    return {state_, now_, &next_look_};
  }
  static Intent Sent(ConfigType type, Endpoint node, absl::Duration last_after = {}) {
    return {.type = type,
            .target = kA,
            .node = node,
            .times_sent = 1,
            .last_sent = kNow + last_after,
            .first_sent = kNow};
  }
  // How long it is waited for, by *next_look.
  absl::Duration Patience(const Intent& intent) {
    now_ = kNow;
    EXPECT_FALSE(OneLook().GivesUp(partition(), intent));
    const Instant end = next_look_;
    now_ = end - absl::Nanoseconds(1);
    EXPECT_FALSE(OneLook().GivesUp(partition(), intent));
    now_ = end;
    EXPECT_TRUE(OneLook().GivesUp(partition(), intent));
    EXPECT_EQ(next_look_, Instant::InfiniteFuture());
    return end - kNow;
  }
};

TEST_F(ProposalPatienceTest, EachProposalHasItsPatience) {
  EXPECT_EQ(Patience(Sent(ConfigType::kUpgradeToPrimary, kB)), absl::Seconds(6));
  EXPECT_EQ(Patience(Sent(ConfigType::kAssignPrimary, kB)), absl::Seconds(15));
  EXPECT_EQ(Patience(Sent(ConfigType::kAddSecondary, kB)), absl::Minutes(1));
  partition().config.last_drops = {kB};
  EXPECT_EQ(Patience(Sent(ConfigType::kAssignPrimary, kB)), absl::Minutes(1)) << "not a new one";
}

TEST_F(ProposalPatienceTest, WhoOpensItsReplicaIsAtWork) {
  state_.nodes[kB].replicas[kPid] = {.pid = kPid, .loading = true};
  EXPECT_EQ(Patience(Sent(ConfigType::kAddSecondary, kB)), absl::Minutes(5));
}

TEST_F(ProposalPatienceTest, WhoCopiesAFirstContentIsAtWorkHoweverLongItTakes) {
  state_.nodes[kB].replicas[kPid] = {.pid = kPid, .loading = true};
  state_.FindTable(kPid.app_id)->info.envs = {{kEnvMasterMetas, "10.0.0.1:34601"}};
  partition().config = {.pid = kPid, .max_replica_count = 3};
  now_ = kNow + absl::Hours(10);
  EXPECT_FALSE(OneLook().GivesUp(partition(), Sent(ConfigType::kAssignPrimary, kB)));
  state_.nodes[kB].replicas.erase(kPid);
  EXPECT_TRUE(OneLook().GivesUp(partition(), Sent(ConfigType::kAssignPrimary, kB)));
}

TEST_F(ProposalPatienceTest, WhoWasAskedJustNowMayAnswer) {
  EXPECT_EQ(Patience(Sent(ConfigType::kAddSecondary, kB, absl::Seconds(59))), absl::Seconds(62));
}

TEST_F(ProposalPatienceTest, WhatWasNotSentOrIsSeenToHappenIsNotGivenUp) {
  now_ = kNow + absl::Hours(1);
  Intent intent = Sent(ConfigType::kAddSecondary, kB);
  intent.learner_seen = true;
  EXPECT_FALSE(OneLook().GivesUp(partition(), intent));
  intent = {.type = ConfigType::kAddSecondary, .target = kA, .node = kB};
  EXPECT_FALSE(OneLook().GivesUp(partition(), intent));
  EXPECT_EQ(next_look_, Instant::InfiniteFuture());
}

TEST_F(ProposalPatienceTest, WhoShouldHaveTakenAReplicaIsPassedOverInThisLook) {
  now_ = kNow + absl::Hours(1);
  ProposalPatience look = OneLook();
  look.BeginPartition();
  EXPECT_TRUE(look.GivesUp(partition(), Sent(ConfigType::kAddSecondary, kB)));
  EXPECT_EQ(look.ignored(), kB);
  EXPECT_TRUE(look.IsPassedOver(partition(), kB));
  EXPECT_FALSE(look.IsPassedOver(partition(), kC));
  look.BeginPartition();
  EXPECT_FALSE(look.IsPassedOver(partition(), kB)) << "that was another partition";
}

TEST_F(ProposalPatienceTest, WhoHasItsReplicaAlreadyIsNotPassedOver) {
  now_ = kNow + absl::Hours(1);
  ProposalPatience look = OneLook();
  EXPECT_TRUE(look.GivesUp(partition(), Sent(ConfigType::kUpgradeToPrimary, kB)));
  EXPECT_TRUE(look.GivesUp(partition(), Sent(ConfigType::kRemove, kC)));
  EXPECT_EQ(look.ignored(), std::nullopt);
}

TEST_F(ProposalPatienceTest, WhereAllArePassedOverTheFirstOfThemComesFirst) {
  partition().passed_over = {{kB, kNow + absl::Seconds(20)},
                             {kC, kNow + absl::Seconds(10)},
                             {kD, kNow + absl::Seconds(30)}};
  const ProposalPatience look = OneLook();
  EXPECT_TRUE(look.IsPassedOver(partition(), kC));
  EXPECT_EQ(look.FirstPassedOver(partition(), [](Endpoint node) { return node != kA; }), kC);
  EXPECT_EQ(look.FirstPassedOver(partition(), [](Endpoint node) { return node == kD; }), kD);
  now_ = kNow + absl::Seconds(10);
  EXPECT_FALSE(OneLook().IsPassedOver(partition(), kC)) << "its time is over";
}

}  // namespace
}  // namespace arion
