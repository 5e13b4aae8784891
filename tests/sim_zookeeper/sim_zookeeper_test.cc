// SPDX-License-Identifier: Apache-2.0
#include "sim_zookeeper/sim_zookeeper.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/sim_zookeeper/session_on_node.h"

namespace arion::sim {
namespace {

using Kind = ZooKeeperStep::Kind;
using Code = absl::StatusCode;
using State = ZooKeeperSession::State;
using Mode = ZooKeeperSession::Mode;

struct Ensemble : ::testing::Test {
  SimWorld world{1};
  SimZooKeeper zookeeper{world};
  SessionOnNode a{world, zookeeper, "a"}, b{world, zookeeper, "b"};

  Ensemble() {
    a.Start();
    b.Start();
  }
};

TEST(SimZooKeeper, ASessionConnectsWithAnIdAndTheTimeoutThatItGets) {
  for (const auto& [asked, got] : {std::pair{1, 4}, {10, 10}, {100, 40}}) {
    SimWorld world(1);
    SimZooKeeper zookeeper(world, {.session_timeout = absl::Seconds(asked)});
    SessionOnNode a(world, zookeeper, "a");
    a.Begin();
    EXPECT_EQ(a.session->id(), 0);
    EXPECT_EQ(a.session->timeout(), absl::Seconds(asked));
    ASSERT_TRUE(a.Reaches(State::kConnected, absl::Seconds(1)));
    EXPECT_EQ(a.states.size(), 1u);
    EXPECT_NE(a.session->id(), 0);
    EXPECT_EQ(a.session->timeout(), absl::Seconds(got));
    EXPECT_EQ(zookeeper.Sessions(), std::vector<int64_t>{a.session->id()});
    EXPECT_EQ(zookeeper.NodeOf(a.session->id()), &a.node);
  }
}

TEST_F(Ensemble, NodesAreMadeReadSetAndRemoved) {
  EXPECT_EQ(a.Code(a.Create("/x/y", "")), Code::kNotFound);
  EXPECT_EQ(*a.Wait(a.Create("/x", "one")), "/x");
  EXPECT_EQ(a.Code(b.Create("/x", "two")), Code::kAlreadyExists);
  EXPECT_EQ(a.Code(a.Get("/none")), Code::kNotFound);
  EXPECT_EQ(a.Code(a.Set("/none", "")), Code::kNotFound);
  EXPECT_EQ(a.Code(a.Remove("/none")), Code::kNotFound);
  EXPECT_EQ(a.Code(a.List("/none")), Code::kNotFound);
  EXPECT_EQ(a.Code(a.Set("/x", "three")), Code::kOk);
  const auto node = b.Wait(b.Get("/x"));
  EXPECT_EQ(node->data, "three");
  EXPECT_EQ(node->version, 1);
  EXPECT_EQ(node->owner, 0);
  a.Done(a.Create("/x/y", ""));
  a.Done(a.Create("/x/z", ""));
  auto names = *b.Wait(b.List("/x"));
  std::sort(names.begin(), names.end());
  EXPECT_EQ(names, (std::vector<std::string>{"y", "z"}));
  EXPECT_EQ(a.Code(a.Remove("/x")), Code::kFailedPrecondition);
  EXPECT_EQ(a.Code(a.Remove("/x/y")), Code::kOk);
  EXPECT_EQ(zookeeper.Paths(), (std::vector<std::string>{"/", "/x", "/x/z"}));
}

TEST_F(Ensemble, AnEphemeralNodeHasItsSessionsNumberAndTenDigits) {
  a.Done(a.Create("/d", ""));
  EXPECT_EQ(*a.Wait(a.Create("/d/n", "x", Mode::kEphemeralSequential)), "/d/n0000000000");
  EXPECT_EQ(*b.Wait(b.Create("/d/n", "y", Mode::kEphemeralSequential)), "/d/n0000000001");
  a.Done(a.Remove("/d/n0000000000"));
  EXPECT_EQ(*a.Wait(a.Create("/d/n", "z", Mode::kEphemeralSequential)), "/d/n0000000002");
  EXPECT_EQ(a.Wait(a.Get("/d/n0000000001"))->owner, b.session->id());
  EXPECT_EQ(a.Code(a.Create("/d/n0000000001/child", "")), Code::kInternal);
}

TEST_F(Ensemble, ATransactionIsDoneWholeOrNotAtAllAndItsErrorNamesThePath) {
  a.Done(a.Create("/lock", ""));
  a.Done(a.Create("/s", "old"));
  EXPECT_EQ(a.Code(a.Commit({{Kind::kCheck, "/lock", ""},
                             {Kind::kSet, "/s", "new"},
                             {Kind::kCreate, "/t", "t"},
                             {Kind::kCreate, "/t/u", "u"}})),
            Code::kOk);
  EXPECT_EQ(zookeeper.Content(),
            (std::map<std::string, std::string>{
                {"/", ""}, {"/lock", ""}, {"/s", "new"}, {"/t", "t"}, {"/t/u", "u"}}));
  const absl::Status status = a.Wait(a.Commit(
      {{Kind::kSet, "/s", "newer"}, {Kind::kRemove, "/t", ""}, {Kind::kRemove, "/v", ""}}));
  EXPECT_EQ(status.code(), Code::kFailedPrecondition);
  EXPECT_NE(status.message().find("/t"), absl::string_view::npos) << status;
  EXPECT_EQ(zookeeper.Read("/s")->data, "new");
  ASSERT_TRUE(zookeeper.Set("/lock", "").ok());
  EXPECT_EQ(a.Code(a.Commit({{Kind::kCheck, "/lock", ""}, {Kind::kSet, "/s", "newer"}})),
            Code::kFailedPrecondition);
  ASSERT_TRUE(zookeeper.Remove("/lock").ok());
  EXPECT_EQ(a.Code(a.Commit({{Kind::kCheck, "/lock", ""}, {Kind::kSet, "/s", "newer"}})),
            Code::kNotFound);
  EXPECT_EQ(zookeeper.Read("/s")->data, "new");
}

TEST_F(Ensemble, WhatNoServerWouldTakeIsRefusedWithoutAsking) {
  a.Done(a.Create("/x", ""));
  const std::string most(ZooKeeperSession::kNodeBytesMax, 'x');
  EXPECT_EQ(a.Code(a.Set("/x", std::string(most.size() - 2, 'x'))), Code::kOk);
  // Also where no server answers.
  zookeeper.Cut(a.node);
  const Instant began = world.now();
  for (const char* path : {"", "x", "/x/", "//x", "/x//y", "/./x", "/x/..", "/x\n"}) {
    EXPECT_EQ(a.Code(a.Get(path)), Code::kInvalidArgument) << path;
    EXPECT_EQ(a.Code(a.Create(path, "")), Code::kInvalidArgument) << path;
  }
  EXPECT_EQ(a.Code(a.Create("/y", most + "x")), Code::kInvalidArgument);
  EXPECT_EQ(a.Code(a.Set("/x", most)), Code::kInvalidArgument);
  const std::string half(most.size() / 2, 'x');
  EXPECT_EQ(a.Code(a.Commit({{Kind::kSet, "/x", half}, {Kind::kCreate, "/y", half}})),
            Code::kInvalidArgument);
  EXPECT_LT(world.now() - began, absl::Milliseconds(10));
}

TEST_F(Ensemble, AnAccessListMayForbid) {
  ASSERT_TRUE(zookeeper.Create("/x", "").ok());
  zookeeper.Forbid("/x");
  EXPECT_EQ(a.Code(a.Get("/x")), Code::kPermissionDenied);
  EXPECT_EQ(a.Code(a.List("/x")), Code::kPermissionDenied);
  EXPECT_EQ(a.Code(a.Create("/x/y", "")), Code::kPermissionDenied);
  EXPECT_EQ(a.Code(a.Set("/x", "")), Code::kPermissionDenied);
  zookeeper.Allow("/x");
  EXPECT_EQ(a.Code(a.Get("/x")), Code::kOk);
}

TEST_F(Ensemble, AnswersComeInTheOrderOfTheCalls) {
  zookeeper.weather() = {.late_percent = 50};
  a.Done(a.Create("/x", "-"));
  std::vector<int> order;
  std::vector<std::string> read;
  a.On([&] {
    for (int i = 0; i < 100; ++i) {
      a.session->Commit({{Kind::kSet, "/x", absl::StrCat(i)}},
                        [&order, i](absl::Status) { order.push_back(2 * i); });
      a.session->Get("/x", [&order, &read, i](absl::StatusOr<ZooKeeperNode> node) {
        order.push_back(2 * i + 1);
        read.push_back(node->data);
      });
    }
  });
  world.RunFor(absl::Seconds(10));
  ASSERT_EQ(order.size(), 200u);
  EXPECT_TRUE(std::is_sorted(order.begin(), order.end()));
  for (int i = 0; i < 100; ++i) EXPECT_EQ(read[static_cast<size_t>(i)], absl::StrCat(i));
}

TEST_F(Ensemble, AWatchComesOnceWhenItsNodeIsSetOrRemoved) {
  for (const char* path : {"/x", "/y", "/z"}) ASSERT_TRUE(zookeeper.Create(path, "").ok());
  for (const char* path : {"/x", "/y", "/z", "/x"}) EXPECT_EQ(a.Code(a.Watch(path)), Code::kOk);
  EXPECT_EQ(a.Code(a.Watch("/none")), Code::kNotFound);
  ASSERT_TRUE(zookeeper.Create("/none", "").ok());
  ASSERT_TRUE(zookeeper.Set("/none", "x").ok());
  ASSERT_TRUE(zookeeper.Create("/z/child", "").ok());
  ASSERT_TRUE(zookeeper.Set("/x", "1").ok());
  ASSERT_TRUE(zookeeper.Set("/x", "2").ok());
  b.Done(b.Remove("/y"));
  world.RunFor(absl::Seconds(1));
  EXPECT_EQ(a.changes, (std::vector<std::string>{"/x", "/x", "/y"}));
  EXPECT_TRUE(b.changes.empty());
}

TEST_F(Ensemble, AWatchIsToldBeforeItsSessionCanReadTheChange) {
  ASSERT_TRUE(zookeeper.Create("/x", "old").ok());
  a.Done(a.Watch("/x"));
  ASSERT_TRUE(zookeeper.Set("/x", "new").ok());
  EXPECT_EQ(a.Wait(a.Get("/x"))->data, "new");
  EXPECT_EQ(a.changes.size(), 1u);
}

TEST_F(Ensemble, AWatchOutlivesItsConnectionAndHearsWhatHappenedMeanwhile) {
  for (const char* path : {"/set", "/removed", "/again", "/same"})
    ASSERT_TRUE(zookeeper.Create(path, "").ok());
  for (const char* path : {"/set", "/removed", "/again", "/same"}) a.Done(a.Watch(path));
  zookeeper.Cut(a.node);
  ASSERT_TRUE(a.Reaches(State::kConnecting));
  ASSERT_TRUE(zookeeper.Set("/set", "x").ok());
  ASSERT_TRUE(zookeeper.Remove("/removed").ok());
  ASSERT_TRUE(zookeeper.Remove("/again").ok());
  ASSERT_TRUE(zookeeper.Create("/again", "").ok());
  zookeeper.Restore(a.node);
  ASSERT_TRUE(a.Reaches(State::kConnected));
  world.RunFor(absl::Seconds(1));
  EXPECT_EQ(a.changes, (std::vector<std::string>{"/again", "/removed", "/set"}));
  ASSERT_TRUE(zookeeper.Set("/same", "x").ok());
  world.RunFor(absl::Seconds(1));
  EXPECT_EQ(a.changes.back(), "/same");
  EXPECT_EQ(a.changes.size(), 4u);
}

TEST_F(Ensemble, ALostAnswerIsOfARequestThatWasCarriedOut) {
  zookeeper.LoseAnswer(a.node, ZooKeeperRequest::Kind::kCreate);
  EXPECT_EQ(a.Code(a.Get("/")), Code::kOk);
  const int64_t id = a.session->id();
  EXPECT_EQ(a.Code(a.Create("/x", "made")), Code::kUnavailable);
  EXPECT_EQ(zookeeper.Read("/x")->data, "made");
  ASSERT_TRUE(a.Reaches(State::kConnected));
  EXPECT_EQ(a.states,
            (std::vector<State>{State::kConnected, State::kConnecting, State::kConnected}));
  EXPECT_EQ(a.session->id(), id);
  EXPECT_EQ(a.Code(a.Create("/x", "made")), Code::kAlreadyExists);
}

TEST_F(Ensemble, WhereAnswersAreLostEachRequestHasOneAllTheSame) {
  zookeeper.weather().lost_answers_percent = 20;
  for (int i = 0; i < 200; ++i) {
    a.Create(absl::StrCat("/n", i), "");
    world.RunFor(absl::Milliseconds(50));
  }
  world.RunFor(absl::Minutes(1));
  EXPECT_EQ(a.answers, 200);
  EXPECT_EQ(a.states.back(), State::kConnected);
  EXPECT_GT(a.states.size(), 20u);
}

TEST_F(Ensemble, AMemberThatLagsReadsOldStateUntilASync) {
  ASSERT_TRUE(zookeeper.Create("/x", "old").ok());
  zookeeper.SetReadLag(b.node, absl::InfiniteDuration());
  a.Done(a.Set("/x", "new"));
  a.Done(a.Create("/y", ""));
  EXPECT_EQ(b.Wait(b.Get("/x"))->data, "old");
  EXPECT_EQ(b.Code(b.Get("/y")), Code::kNotFound);
  EXPECT_TRUE(b.Wait(b.List("/"))->size() == 1);
  EXPECT_EQ(a.Wait(a.Get("/x"))->data, "new");
  EXPECT_EQ(b.Code(b.Sync("/")), Code::kOk);
  EXPECT_EQ(b.Wait(b.Get("/x"))->data, "new");
  a.Done(a.Set("/x", "newer"));
  EXPECT_EQ(b.Wait(b.Get("/x"))->data, "new");
  zookeeper.SetReadLag(b.node, absl::ZeroDuration());
  EXPECT_EQ(b.Wait(b.Get("/x"))->data, "newer");
}

TEST_F(Ensemble, ASessionReadsItsOwnWritesAlsoWhereItsMemberLags) {
  ASSERT_TRUE(zookeeper.Create("/x", "old").ok());
  zookeeper.SetReadLag(b.node, absl::InfiniteDuration());
  a.Done(a.Set("/x", "new"));
  // What was before its own write is there too, and also where that was refused.
  b.Done(b.Create("/own", ""));
  EXPECT_EQ(b.Wait(b.Get("/x"))->data, "new");
  EXPECT_EQ(b.Code(b.Get("/own")), Code::kOk);
  a.Done(a.Create("/y", ""));
  EXPECT_EQ(b.Code(b.Get("/y")), Code::kNotFound);
  EXPECT_EQ(b.Code(b.Create("/y", "")), Code::kAlreadyExists);
  EXPECT_EQ(b.Code(b.Get("/y")), Code::kOk);
}

TEST_F(Ensemble, AMemberThatLagsComesAfterItsTimeAndTellsItsWatchesThen) {
  ASSERT_TRUE(zookeeper.Create("/x", "old").ok());
  zookeeper.SetReadLag(b.node, absl::Seconds(5));
  b.Done(b.Watch("/x"));
  a.Done(a.Set("/x", "new"));
  world.RunFor(absl::Seconds(4));
  EXPECT_TRUE(b.changes.empty());
  EXPECT_EQ(b.Wait(b.Get("/x"))->data, "old");
  world.RunFor(absl::Seconds(2));
  EXPECT_EQ(b.changes.size(), 1u);
  EXPECT_EQ(b.Wait(b.Get("/x"))->data, "new");
}

TEST_F(Ensemble, CheckersHearWhatWasCarriedOutAndForWhom) {
  std::vector<std::pair<int64_t, std::vector<ZooKeeperStep>>> heard;
  zookeeper.OnExecuted([&](int64_t session, const std::vector<ZooKeeperStep>& steps) {
    heard.emplace_back(session, steps);
  });
  ASSERT_TRUE(zookeeper.Create("/d", "x").ok());
  EXPECT_EQ(zookeeper.CreateOwned("/d/n", "y", 77).value(), "/d/n0000000000");
  EXPECT_EQ(zookeeper.Read("/d/n0000000000")->owner, 77);
  EXPECT_EQ(zookeeper.Remove("/d").code(), Code::kFailedPrecondition);
  EXPECT_EQ(zookeeper.Create("d", "").code(), Code::kInvalidArgument);
  a.Done(a.Create("/d/n", "z", Mode::kEphemeralSequential));
  a.Code(a.Set("/none", ""));
  const int64_t id = a.session->id();
  EXPECT_TRUE(zookeeper.EndSession(id));
  EXPECT_FALSE(zookeeper.EndSession(id));
  EXPECT_EQ(zookeeper.NodeOf(id), nullptr);
  ASSERT_EQ(heard.size(), 4u);
  EXPECT_EQ(heard[0],
            (std::pair<int64_t, std::vector<ZooKeeperStep>>(0, {{Kind::kCreate, "/d", "x"}})));
  EXPECT_EQ(heard[1].second[0].path, "/d/n0000000000");
  EXPECT_EQ(heard[2], (std::pair<int64_t, std::vector<ZooKeeperStep>>(
                          id, {{Kind::kCreate, "/d/n0000000001", "z"}})));
  EXPECT_EQ(heard[3], (std::pair<int64_t, std::vector<ZooKeeperStep>>(
                          id, {{Kind::kRemove, "/d/n0000000001", ""}})));
}

uint64_t TraceOf(uint64_t seed) {
  SimWorld world(seed);
  SimZooKeeper zookeeper(world);
  SessionOnNode a(world, zookeeper, "a"), b(world, zookeeper, "b");
  a.Start();
  b.Start();
  zookeeper.weather().lost_answers_percent = 5;
  for (int i = 0; i < 50; ++i) {
    a.Create(absl::StrCat("/n", i), "");
    b.Set(absl::StrCat("/n", i / 2), "b");
    b.List("/");
    if (i % 10 == 5) zookeeper.BreakConnection(b.node);
  }
  world.RunFor(absl::Minutes(1));
  return world.trace_hash();
}

TEST(SimZooKeeper, ASeedGivesTheSameRun) {
  EXPECT_EQ(TraceOf(7), TraceOf(7));
  EXPECT_NE(TraceOf(7), TraceOf(8));
}

}  // namespace
}  // namespace arion::sim
