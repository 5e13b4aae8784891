// Several candidates in one election, by the simulated ensemble.
// SPDX-License-Identifier: Apache-2.0
#include "meta_ensemble/leader_lock.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "sim/sim_environment.h"
#include "sim_zookeeper/sim_zookeeper.h"

namespace arion {
namespace {

constexpr char kDirectory[] = "/pegasus/c/lock/dsn.meta.server.leader";

TEST(LockNumber, IsWhatFollowsTheWordAtTheEnd) {
  EXPECT_EQ(LockNumberOf("LOCKNODE0000000007"), 7);
  EXPECT_EQ(LockNumberOf("x-LOCKNODE0000000012"), 12);
  for (const char* name : {"", "LOCKNODE", "LOCKNODE12x", "LOCKNODEx12", "LOCK0000000001",
                           "LOCKNODE-1", "LOCKNODE99999999999999999999"})
    EXPECT_EQ(LockNumberOf(name), std::nullopt) << name;
}

// A server that does nothing but stand for election, with one session.
struct Candidate {
  Candidate(sim::SimWorld& world, sim::SimZooKeeper& zookeeper, uint32_t number)
      : node(world.AddNode("m" + std::to_string(number))),
        zookeeper(zookeeper),
        address{0x0a000000u + number, 34601} {}

  void Begin() {
    env = &node.Start();
    strand = env->NewStrand("meta");
    granted = lost = "";
    leader.reset();
    env->RunOn(strand, [&] {
      session = zookeeper.ClientOf(node).Connect(strand, [this](ZooKeeperSession::State state) {
        if (state == ZooKeeperSession::State::kEnded) ended = true;
        if (state != ZooKeeperSession::State::kConnected) return;
        if (lock) return lock->OnConnected();
        lock = std::make_shared<LeaderLock>(
            *session, env->clock(), strand, "/pegasus/c/lock", address.ToString(),
            LeaderLock::Events{.on_granted = [this](const std::string& path) { granted = path; },
                               .on_leader = [this](auto told) { leader = told; },
                               .on_lost = [this](const std::string& why) { lost = why; }});
        lock->Start();
      });
    });
  }
  void Crash() {
    node.Crash(sim::CrashMode::kProcess);
    lock.reset();
    session.reset();
  }
  bool Leads() const { return node.alive() && lock && env->clock().Now() < lock->leads_until(); }

  sim::SimNode& node;
  sim::SimZooKeeper& zookeeper;
  const Endpoint address;
  sim::SimEnvironment* env = nullptr;
  StrandPtr strand;
  std::unique_ptr<ZooKeeperSession> session;
  std::shared_ptr<LeaderLock> lock;
  std::string granted, lost;
  bool ended = false;
  std::optional<Endpoint> leader;
};

class LeaderLockTest : public ::testing::Test {
 protected:
  ~LeaderLockTest() override {
    for (auto& one : candidates_)
      if (one->node.alive()) one->Crash();
  }
  Candidate& Add() {
    candidates_.push_back(
        std::make_unique<Candidate>(world_, zookeeper_, static_cast<uint32_t>(candidates_.size())));
    candidates_.back()->Begin();
    return *candidates_.back();
  }
  // Runs on, and holds all the while that no two lead.
  bool Runs(absl::FunctionRef<bool()> done, absl::Duration limit = absl::Minutes(1)) {
    return world_.RunUntil(
        [&] {
          const auto leaders = std::count_if(candidates_.begin(), candidates_.end(),
                                             [](const auto& one) { return one->Leads(); });
          EXPECT_LE(leaders, 1) << "leader_lock/L1";
          return done();
        },
        limit);
  }
  void RunFor(absl::Duration time) {
    Runs([] { return false; }, time);
  }
  std::vector<std::string> Nodes() const {
    std::vector<std::string> found;
    for (const std::string& path : zookeeper_.Paths())
      if (path.find("LOCKNODE") != std::string::npos) found.push_back(path);
    return found;
  }

  sim::SimWorld world_{7};
  sim::SimZooKeeper zookeeper_{world_, {.session_timeout = absl::Seconds(10)}};
  std::vector<std::unique_ptr<Candidate>> candidates_;
};

TEST_F(LeaderLockTest, TheFirstLeadsAndTheOthersKnow) {
  Candidate& first = Add();
  ASSERT_TRUE(Runs([&] { return first.Leads(); }));
  EXPECT_EQ(first.granted, std::string(kDirectory) + "/LOCKNODE0000000000");
  EXPECT_EQ(zookeeper_.Read(first.granted)->data, "10.0.0.0:34601");
  Candidate& second = Add();
  ASSERT_TRUE(Runs([&] { return second.leader.has_value(); }));
  EXPECT_EQ(second.leader, first.address);
  RunFor(absl::Minutes(2));
  EXPECT_TRUE(first.Leads() && !second.Leads());
  EXPECT_EQ(zookeeper_.Read(first.granted)->version, 0) << "its data are never set";
}

TEST_F(LeaderLockTest, OneThatDiesIsFollowed) {
  Candidate& first = Add();
  ASSERT_TRUE(Runs([&] { return first.Leads(); }));
  Candidate& second = Add();
  ASSERT_TRUE(Runs([&] { return second.leader.has_value(); }));
  first.Crash();
  ASSERT_TRUE(Runs([&] { return second.Leads(); }, absl::Seconds(16)));
  EXPECT_EQ(second.leader, std::nullopt) << "the dead one is not pointed to";
}

TEST_F(LeaderLockTest, OneThatIsCutOffEndsBeforeTheNextBegins) {
  Candidate& first = Add();
  ASSERT_TRUE(Runs([&] { return first.Leads(); }));
  Candidate& second = Add();
  zookeeper_.Cut(first.node);
  ASSERT_TRUE(Runs([&] { return !first.Leads(); }, absl::Seconds(7)));
  EXPECT_FALSE(second.Leads());
  ASSERT_TRUE(Runs([&] { return second.Leads(); }, absl::Seconds(10)));
  zookeeper_.Restore(first.node);
  ASSERT_TRUE(Runs([&] { return first.ended || !first.lost.empty(); }));
}

TEST_F(LeaderLockTest, OneThatIsCutOffForAMomentLeadsOn) {
  Candidate& first = Add();
  ASSERT_TRUE(Runs([&] { return first.Leads(); }));
  zookeeper_.Cut(first.node);
  RunFor(absl::Seconds(8));
  EXPECT_FALSE(first.Leads());
  zookeeper_.Restore(first.node);
  ASSERT_TRUE(Runs([&] { return first.Leads() || first.ended; }));
}

TEST_F(LeaderLockTest, ALostAnswerMakesNoSecondNode) {
  Candidate& first = Add();
  int entered = 0;
  zookeeper_.OnExecuted([&](int64_t, const std::vector<ZooKeeperStep>& steps) {
    if (steps[0].kind != ZooKeeperStep::Kind::kCreate) return;
    entered += LockNumberOf(steps[0].path).has_value();
    if (steps[0].path != kDirectory) return;
    // A moment later: of the next one, which is its own.
    first.strand->Post(
        [&] { zookeeper_.LoseAnswer(first.node, sim::ZooKeeperRequest::Kind::kCreate); });
  });
  ASSERT_TRUE(Runs([&] { return first.Leads(); }));
  EXPECT_EQ(entered, 1);
  EXPECT_EQ(Nodes().size(), 1u);
}

TEST_F(LeaderLockTest, AStrangerWhoTouchesTheLockEndsTheOffice) {
  for (const bool is_removed : {false, true}) {
    Candidate& one = Add();
    ASSERT_TRUE(Runs([&] { return one.Leads(); }));
    if (is_removed) {
      ASSERT_TRUE(zookeeper_.Remove(one.granted).ok());
    } else {
      ASSERT_TRUE(zookeeper_.Set(one.granted, "somebody").ok());
    }
    ASSERT_TRUE(Runs([&] { return !one.lost.empty(); }, absl::Seconds(1)));
    EXPECT_FALSE(one.Leads());
    one.Crash();
    RunFor(absl::Seconds(15));
  }
}

TEST_F(LeaderLockTest, StrangersInTheDirectoryArePassedOver) {
  ASSERT_TRUE(zookeeper_.Create("/pegasus", "").ok());
  for (const char* path : {"/pegasus/c", "/pegasus/c/lock", kDirectory})
    ASSERT_TRUE(zookeeper_.Create(path, "").ok());
  ASSERT_TRUE(zookeeper_.Create(std::string(kDirectory) + "/backup", "x").ok());
  Candidate& first = Add();
  EXPECT_TRUE(Runs([&] { return first.Leads(); }));
}

TEST_F(LeaderLockTest, ANodeOfOnesOwnEarlierSessionIsRemoved) {
  Candidate& first = Add();
  ASSERT_TRUE(Runs([&] { return first.Leads(); }));
  first.Crash();
  first.Begin();  // long before its session ends
  ASSERT_TRUE(Runs([&] { return first.Leads(); }, absl::Seconds(3)));
  EXPECT_EQ(Nodes().size(), 1u);
}

TEST_F(LeaderLockTest, AnAddressThatIsNoneIsNoLeader) {
  for (const char* path : {"/pegasus", "/pegasus/c", "/pegasus/c/lock", kDirectory})
    ASSERT_TRUE(zookeeper_.Create(path, "").ok());
  ASSERT_TRUE(
      zookeeper_.CreateOwned(std::string(kDirectory) + "/LOCKNODE", "host.example:34601", 99).ok());
  Candidate& first = Add();
  RunFor(absl::Seconds(5));
  EXPECT_EQ(first.leader, std::nullopt);
  EXPECT_FALSE(first.Leads());
  EXPECT_EQ(first.lost, "");
}

TEST_F(LeaderLockTest, WhatIsForbiddenIsSaid) {
  ASSERT_TRUE(zookeeper_.Create("/pegasus", "").ok());
  zookeeper_.Forbid("/pegasus");
  Candidate& first = Add();
  ASSERT_TRUE(Runs([&] { return !first.lost.empty(); }));
  EXPECT_NE(first.lost.find("/pegasus"), std::string::npos) << first.lost;
}

TEST_F(LeaderLockTest, WhoLeadsKnowsWhoIsNext) {
  Candidate& first = Add();
  ASSERT_TRUE(Runs([&] { return first.Leads(); }));
  const auto next = [&] {
    std::optional<absl::StatusOr<Endpoint>> found;
    first.env->RunOn(first.strand, [&] {
      first.lock->FindNext([&](absl::StatusOr<Endpoint> told) { found = std::move(told); });
    });
    EXPECT_TRUE(Runs([&] { return found.has_value(); }));
    return found.value_or(absl::UnknownError("no answer"));
  };
  EXPECT_EQ(next().status().code(), absl::StatusCode::kNotFound);
  // A node of its own in an earlier session, and what is no candidate's.
  ASSERT_TRUE(
      zookeeper_.Create(absl::StrCat(kDirectory, "/LOCKNODE0000000500"), first.address.ToString())
          .ok());
  ASSERT_TRUE(zookeeper_.Create(absl::StrCat(kDirectory, "/other"), "10.0.0.9:34601").ok());
  EXPECT_EQ(next().status().code(), absl::StatusCode::kNotFound);
  Candidate& second = Add();
  ASSERT_TRUE(Runs([&] { return second.leader.has_value(); }));
  Candidate& third = Add();
  ASSERT_TRUE(Runs([&] { return third.leader.has_value(); }));
  EXPECT_EQ(*next(), second.address);
  second.Crash();
  ASSERT_TRUE(Runs([&] { return Nodes().size() == 3; })) << "its session ends";
  EXPECT_EQ(*next(), third.address);
  ASSERT_TRUE(
      zookeeper_.Create(absl::StrCat(kDirectory, "/LOCKNODE0000000001"), "host:34601").ok());
  const absl::Status unclear = next().status();
  EXPECT_EQ(unclear.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(unclear.message()), testing::HasSubstr("LOCKNODE0000000001"));
}

}  // namespace
}  // namespace arion
