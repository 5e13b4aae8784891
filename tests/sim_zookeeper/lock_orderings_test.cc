// The orders of events that a lock of ephemeral nodes in a sequence depends on.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "tests/sim_zookeeper/session_on_node.h"

namespace arion::sim {
namespace {

using Kind = ZooKeeperStep::Kind;
using Code = absl::StatusCode;
using State = ZooKeeperSession::State;
using Mode = ZooKeeperSession::Mode;

constexpr char kLock[] = "/lock";
constexpr char kCandidate[] = "/lock/LOCKNODE";

struct Candidates {
  explicit Candidates(uint64_t seed) : world(seed) {
    CHECK(zookeeper.Create(kLock, "").ok());
    CHECK(zookeeper.Create("/state", "old").ok());
    a.Start();
    b.Start();
  }
  std::string Stand(SessionOnNode& server) {
    return *server.Wait(server.Create(kCandidate, server.node.name(), Mode::kEphemeralSequential));
  }

  SimWorld world;
  SimZooKeeper zookeeper{world};
  SessionOnNode a{world, zookeeper, "a"}, b{world, zookeeper, "b"};
};

TEST(LockOrderings, ACreateWhoseAnswerWasLostLeavesANodeThatIsKnownByItsOwner) {
  Candidates c(1);
  c.zookeeper.LoseAnswer(c.a.node, ZooKeeperRequest::Kind::kCreate);
  EXPECT_EQ(c.a.Code(c.a.Create(kCandidate, "a", Mode::kEphemeralSequential)), Code::kUnavailable);
  c.Stand(c.b);
  int own = 0;
  const std::vector<std::string> names = *c.a.Wait(c.a.List(kLock));
  for (const std::string& name : names) {
    const auto node = c.a.Wait(c.a.Get(std::string(kLock) + "/" + name));
    if (node->owner != c.a.session->id()) continue;
    ++own;
    EXPECT_EQ(name, "LOCKNODE0000000000");
    EXPECT_EQ(node->data, "a");
  }
  EXPECT_EQ(own, 1);
  // Who tries again without looking has two.
  EXPECT_EQ(c.Stand(c.a), "/lock/LOCKNODE0000000002");
}

TEST(LockOrderings, TheNodeOfAnExpiredSessionGoesAndItsWatchersHear) {
  Candidates c(1);
  const std::string leader = c.Stand(c.a);
  c.Stand(c.b);
  c.b.Done(c.b.Watch(leader));
  c.zookeeper.Cut(c.a.node);
  ASSERT_TRUE(c.world.RunUntil([&] { return !c.b.changes.empty(); }, absl::Seconds(13)));
  EXPECT_EQ(c.b.Code(c.b.Get(leader)), Code::kNotFound);
  // It has been told to look for the ensemble long before, and nothing else.
  EXPECT_EQ(c.a.states.back(), State::kConnecting);
}

TEST(LockOrderings, TheNodeOfACleanlyEndedSessionGoesAtOnce) {
  Candidates c(1);
  const std::string leader = c.Stand(c.a);
  c.b.Done(c.b.Watch(leader));
  c.a.On([&] { c.a.session.reset(); });
  EXPECT_TRUE(c.world.RunUntil([&] { return !c.b.changes.empty(); }, absl::Milliseconds(100)));
}

TEST(LockOrderings, ASessionThatWasCutForLessThanItsTimeKeepsItsNode) {
  for (uint64_t seed = 1; seed <= 30; ++seed) {
    Candidates c(seed);
    const std::string leader = c.Stand(c.a);
    c.b.Done(c.b.Watch(leader));
    c.zookeeper.Cut(c.a.node);
    c.world.RunFor(absl::Milliseconds(250 * seed));
    c.zookeeper.Restore(c.a.node);
    c.world.RunFor(absl::Minutes(1));
    EXPECT_EQ(c.a.Wait(c.a.Get(leader))->owner, c.a.session->id());
    EXPECT_TRUE(c.b.changes.empty());
    EXPECT_EQ(c.a.states.back(), State::kConnected);
  }
}

TEST(LockOrderings, AFollowerThatWasAwayHearsThatTheLeadersNodeIsGone) {
  Candidates c(1);
  const std::string leader = c.Stand(c.a);
  c.b.Done(c.b.Watch(leader));
  c.zookeeper.Cut(c.b.node);
  ASSERT_TRUE(c.b.Reaches(State::kConnecting));
  ASSERT_TRUE(c.zookeeper.Remove(leader).ok());
  c.zookeeper.Restore(c.b.node);
  ASSERT_TRUE(c.world.RunUntil([&] { return !c.b.changes.empty(); }, absl::Seconds(5)));
  EXPECT_EQ(c.b.states.back(), State::kConnected);
}

TEST(LockOrderings, AWriteThatChecksItsLockNodeFailsOnceThatWasRemoved) {
  Candidates c(1);
  const std::string leader = c.Stand(c.a);
  EXPECT_EQ(c.a.Code(c.a.Commit({{Kind::kCheck, leader, ""}, {Kind::kSet, "/state", "new"}})),
            Code::kOk);
  ASSERT_TRUE(c.zookeeper.Remove(leader).ok());
  EXPECT_EQ(c.a.Code(c.a.Commit({{Kind::kCheck, leader, ""}, {Kind::kSet, "/state", "newer"}})),
            Code::kNotFound);
  EXPECT_EQ(c.zookeeper.Read("/state")->data, "new");
}

// sim_ensemble/E2.
TEST(LockOrderings, NothingOfALeaderIsDoneAfterItsNodeWent) {
  int late = 0;
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    Candidates c(seed);
    c.Stand(c.a);
    const int64_t id = c.a.session->id();
    bool is_gone = false;
    c.zookeeper.OnExecuted([&](int64_t session, const std::vector<ZooKeeperStep>& steps) {
      if (session != id) return;
      EXPECT_FALSE(is_gone) << "seed " << seed;
      is_gone = steps.front().kind == Kind::kRemove;
    });
    // It writes all the time, and is cut off for about as long as its session may last.
    c.zookeeper.Cut(c.a.node);
    const int64_t tenths = c.world.random().Between(50, 140);
    for (int64_t i = 0; i < tenths; ++i) {
      c.a.Set("/state", "a");
      c.world.RunFor(absl::Milliseconds(100));
    }
    c.zookeeper.Restore(c.a.node);
    for (int i = 0; i < 50; ++i) {
      c.a.Set("/state", "a");
      c.world.RunFor(absl::Milliseconds(100));
    }
    c.world.RunFor(absl::Minutes(1));
    late += is_gone;
    EXPECT_EQ(is_gone, c.a.states.back() == State::kEnded);
  }
  EXPECT_GT(late, 5);
  EXPECT_LT(late, 35);
}

TEST(LockOrderings, ANewLeaderWithoutASyncMayReadWhatWasBeforeTheFormerLeadersLastWrite) {
  Candidates c(1);
  const std::string leader = c.Stand(c.a);
  c.Stand(c.b);
  c.zookeeper.SetReadLag(c.b.node, absl::Minutes(5));
  c.a.Done(c.a.Set("/state", "new"));
  c.a.On([&] { c.a.session.reset(); });
  c.world.RunFor(absl::Seconds(1));
  EXPECT_EQ(c.b.Wait(c.b.Get("/state"))->data, "old");
  EXPECT_EQ(c.b.Code(c.b.Get(leader)), Code::kOk);
  EXPECT_EQ(c.b.Code(c.b.Sync("/")), Code::kOk);
  EXPECT_EQ(c.b.Wait(c.b.Get("/state"))->data, "new");
  EXPECT_EQ(c.b.Code(c.b.Get(leader)), Code::kNotFound);
}

}  // namespace
}  // namespace arion::sim
