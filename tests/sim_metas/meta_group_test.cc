// Several meta servers and their ZooKeeper without any replica server.
// SPDX-License-Identifier: Apache-2.0
#include "sim_metas/meta_group.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/sim_environment.h"
#include "sim_metas/ensemble_faults.h"

namespace arion::sim {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class MetaGroupTest : public ::testing::Test {
 protected:
  ~MetaGroupTest() override { metas_.EndAll(); }

  // Who has the lock, once somebody has loaded the state.
  MetaGroup::Member* Begin() {
    metas_.StartAll();
    world_.RunUntil([this] { return led_ > 0; }, absl::Seconds(30));
    return metas_.Leader();
  }
  // Until another one leads.
  absl::Duration TakesOver(const MetaGroup::Member* former) {
    const Instant begin = world_.now();
    const auto is_over = [this, former, led = led_] {
      return led_ > led && metas_.Leader() != nullptr && metas_.Leader() != former;
    };
    return world_.RunUntil(is_over, absl::Minutes(1)) ? world_.now() - begin
                                                      : absl::InfiniteDuration();
  }

  SimWorld world_{5};
  SimNetwork network_{world_};
  LeaderChecker checker_;
  int led_ = 0;
  MetaGroup metas_{
      world_,
      network_,
      world_.AddNode("meta1"),
      checker_,
      {.endpoints = {{0x0a000001u, 1}, {0x0a000002u, 1}, {0x0a000003u, 1}},
       .zookeeper = {.session_timeout = absl::Seconds(6), .tick = absl::Milliseconds(500)}},
      {.on_stored = [](const PartitionConfiguration&) {},
       .on_led = [this](MetaGroup::Member&) { ++led_; }}};
  EnsembleFaults faults_{world_, network_, metas_};
};

TEST_F(MetaGroupTest, OneLeadsAndAllSaySo) {
  ASSERT_NE(Begin(), nullptr);
  EXPECT_THAT(metas_.LockNode(), HasSubstr("LOCKNODE"));
  metas_.AwaitOneLeader(world_.now());
  EXPECT_THAT(checker_.violations(), IsEmpty());
}

TEST_F(MetaGroupTest, WhoDoesNotLeadAgainIsSeen) {
  ASSERT_NE(Begin(), nullptr);
  metas_.zookeeper().TakeDown();
  world_.RunFor(absl::Seconds(20));
  metas_.AwaitOneLeader(world_.now());
  EXPECT_THAT(checker_.violations(), ElementsAre(HasSubstr("leader_checker/L4")));
}

TEST_F(MetaGroupTest, WhoStopsHandsOverWithinASecond) {
  MetaGroup::Member* leader = Begin();
  ASSERT_NE(leader, nullptr);
  world_.RunFor(absl::Seconds(3));  // the others watch
  metas_.Stop(*leader, absl::Seconds(5));
  EXPECT_LT(TakesOver(leader), absl::Seconds(1));
  EXPECT_FALSE(metas_.AreAllUp());
  world_.RunFor(absl::Seconds(10));
  EXPECT_TRUE(metas_.AreAllUp());
  EXPECT_THAT(checker_.violations(), IsEmpty());
}

TEST_F(MetaGroupTest, WhoDiesIsFollowedWhenItsSessionIsOver) {
  MetaGroup::Member* leader = Begin();
  ASSERT_NE(leader, nullptr);
  world_.RunFor(absl::Seconds(3));
  metas_.Crash(*leader, CrashMode::kProcess, absl::Seconds(30));
  const absl::Duration takes = TakesOver(leader);
  EXPECT_GT(takes, absl::Seconds(3));
  EXPECT_LT(takes, absl::Seconds(8));
  EXPECT_EQ(&metas_.LastLeader(), metas_.Leader());
}

TEST_F(MetaGroupTest, WhatIsCutComesBack) {
  MetaGroup::Member* leader = Begin();
  ASSERT_NE(leader, nullptr);
  // Mostly it is the leader's link.
  EnsembleFaults::Ending end = faults_.CutFromZooKeeper();
  while (!metas_.zookeeper().IsCut(*leader->node)) {
    end();
    end = faults_.CutFromZooKeeper();
  }
  EXPECT_LT(TakesOver(leader), absl::Seconds(10));
  end();
  EXPECT_FALSE(metas_.zookeeper().IsCut(*leader->node));
  faults_.End();
  metas_.AwaitOneLeader(world_.now() + absl::Seconds(20));
  EXPECT_THAT(checker_.violations(), IsEmpty());
}

// Only the leader's proof of its lock tells it.
TEST_F(MetaGroupTest, ALockThatIsRemovedUnseenIsMissedInTime) {
  MetaGroup::Member* leader = Begin();
  ASSERT_NE(leader, nullptr);
  EXPECT_FALSE(faults_.RemoveLockUnseen({})) << "it has only just begun";
  world_.RunFor(absl::Seconds(10));
  const std::string lock = metas_.LockNode();
  ASSERT_TRUE(faults_.RemoveLockUnseen({}));
  EXPECT_LT(TakesOver(leader), EnsembleFaults::kUnseen);
  EXPECT_NE(metas_.LockNode(), lock);
  world_.RunFor(MetaGroup::kNotice);
  metas_.AwaitOneLeader(world_.now() + absl::Seconds(10));
  EXPECT_THAT(checker_.violations(), IsEmpty());
}

}  // namespace
}  // namespace arion::sim
