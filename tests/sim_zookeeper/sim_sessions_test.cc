// What becomes of sessions: cuts, pauses, crashes, and an ensemble that is down.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/sim_zookeeper/session_on_node.h"

namespace arion::sim {
namespace {

using Code = absl::StatusCode;
using State = ZooKeeperSession::State;
using Mode = ZooKeeperSession::Mode;
using States = std::vector<State>;

// What sessions get here, and the most that the ensemble is late with their end.
constexpr absl::Duration kTimeout = absl::Seconds(9), kTick = absl::Seconds(2);
// A message, or several.
constexpr absl::Duration kMoment = absl::Milliseconds(500);

struct Sessions : ::testing::Test {
  SimWorld world{1};
  SimZooKeeper zookeeper{world, {.session_timeout = kTimeout, .tick = kTick}};
  SessionOnNode a{world, zookeeper, "a"};

  Sessions() { a.Start(); }
  bool IsThere(const std::string& path) { return zookeeper.Read(path).ok(); }
};

TEST_F(Sessions, AnIdleSessionLivesOnItsPings) {
  a.Done(a.Create("/e", "", Mode::kEphemeralSequential));
  world.RunFor(absl::Hours(1));
  EXPECT_EQ(a.states, States{State::kConnected});
  EXPECT_TRUE(IsThere("/e0000000000"));
}

TEST_F(Sessions, AShortCutOnlyMakesAnswersLate) {
  world.RunFor(absl::Seconds(1));
  zookeeper.Cut(a.node);
  const auto made = a.Create("/x", "");
  world.RunFor(absl::Seconds(2));
  EXPECT_FALSE(IsThere("/x"));
  EXPECT_FALSE(made->has_value());
  zookeeper.Restore(a.node);
  EXPECT_EQ(a.Code(made), Code::kOk);
  EXPECT_EQ(a.states, States{State::kConnected});
}

TEST_F(Sessions, AfterTwoThirdsOfItsTimeWithoutAnAnswerAConnectionIsGivenUp) {
  a.Done(a.Create("/e", "", Mode::kEphemeralSequential));
  const Instant heard = world.now();
  zookeeper.Cut(a.node);
  const auto made = a.Create("/x", "");
  world.RunFor(kTimeout * 2 / 3 - kMoment);
  EXPECT_EQ(a.states, States{State::kConnected});
  EXPECT_FALSE(made->has_value());
  EXPECT_EQ(a.Code(made), Code::kUnavailable);
  EXPECT_LT(world.now() - heard, kTimeout * 2 / 3 + kMoment);
  EXPECT_EQ(a.states, (States{State::kConnected, State::kConnecting}));
  const int64_t id = a.session->id();
  // What is asked now waits for a connection.
  const auto read = a.Get("/e0000000000");
  zookeeper.Restore(a.node);
  EXPECT_EQ(a.Wait(read)->owner, id);
  EXPECT_EQ(a.states, (States{State::kConnected, State::kConnecting, State::kConnected}));
  EXPECT_EQ(a.session->id(), id);
}

TEST_F(Sessions, WhatWaitsForAConnectionIsGivenUpWithTheAttemptAndNeverDone) {
  zookeeper.Cut(a.node);
  ASSERT_TRUE(a.Reaches(State::kConnecting));
  EXPECT_EQ(a.Code(a.Create("/x", "")), Code::kUnavailable);
  zookeeper.Restore(a.node);
  world.RunFor(absl::Minutes(1));
  EXPECT_FALSE(IsThere("/x"));
}

TEST_F(Sessions, OfItsEndASessionHearsFromTheEnsembleOnly) {
  a.Done(a.Create("/e", "", Mode::kEphemeralSequential));
  zookeeper.Cut(a.node);
  world.RunFor(kTimeout - kMoment);
  EXPECT_TRUE(IsThere("/e0000000000"));
  world.RunFor(kTick + 2 * kMoment);
  EXPECT_FALSE(IsThere("/e0000000000"));
  EXPECT_TRUE(zookeeper.Sessions().empty());
  world.RunFor(absl::Minutes(10));
  EXPECT_EQ(a.states, (States{State::kConnected, State::kConnecting}));
  const auto waits = a.Get("/");
  zookeeper.Restore(a.node);
  // Its attempt may just be over, so that it was not asked at all.
  const Code code = a.Code(waits);
  EXPECT_TRUE(code == Code::kCancelled || code == Code::kUnavailable);
  ASSERT_TRUE(a.Reaches(State::kEnded));
  EXPECT_EQ(a.Code(a.Get("/")), Code::kCancelled);
  EXPECT_EQ(a.Code(a.Create("/x", "")), Code::kCancelled);
  world.RunFor(absl::Minutes(1));
  EXPECT_EQ(a.states, (States{State::kConnected, State::kConnecting, State::kEnded}));
  EXPECT_TRUE(zookeeper.Sessions().empty());
}

TEST_F(Sessions, AnEndedSessionWatchesNothingAnyMore) {
  ASSERT_TRUE(zookeeper.Create("/x", "").ok());
  a.Done(a.Watch("/x"));
  zookeeper.EndSession(a.session->id());
  ASSERT_TRUE(a.Reaches(State::kEnded));
  world.RunFor(kMoment);
  EXPECT_EQ(a.changes, std::vector<std::string>{"/x"});
}

TEST_F(Sessions, AfterItsEndAServerBeginsAnotherSession) {
  const int64_t former = a.session->id();
  zookeeper.EndSession(former);
  ASSERT_TRUE(a.Reaches(State::kEnded));
  a.On([&] { a.session.reset(); });
  a.Connect();
  ASSERT_TRUE(a.Reaches(State::kConnected));
  EXPECT_NE(a.session->id(), former);
  EXPECT_EQ(a.Code(a.Create("/x", "")), Code::kOk);
}

TEST_F(Sessions, OfADeadServerNothingIsHeardUntilItsTimeIsOver) {
  a.Done(a.Create("/e", "", Mode::kEphemeralSequential));
  const auto made = a.Create("/x", "");
  a.Crash();
  const int64_t former = zookeeper.Sessions().front();
  a.Start();
  // What it had sent arrived.
  EXPECT_TRUE(IsThere("/x"));
  EXPECT_FALSE(made->has_value());
  EXPECT_EQ(zookeeper.Sessions().size(), 2u);
  EXPECT_EQ(a.Wait(a.Get("/e0000000000"))->owner, former);
  world.RunFor(kTimeout - 2 * kMoment);
  EXPECT_TRUE(IsThere("/e0000000000"));
  world.RunFor(kTick + 2 * kMoment);
  EXPECT_FALSE(IsThere("/e0000000000"));
  EXPECT_EQ(zookeeper.Sessions(), std::vector<int64_t>{a.session->id()});
}

TEST_F(Sessions, ADestroyedSessionEndsAtOnceAndTellsNothing) {
  a.Done(a.Create("/e", "", Mode::kEphemeralSequential));
  const int before = a.answers;
  a.On([&] {
    a.session->Get("/", [&](absl::StatusOr<ZooKeeperNode>) { ++a.answers; });
    a.session.reset();
  });
  world.RunFor(kMoment);
  EXPECT_FALSE(IsThere("/e0000000000"));
  EXPECT_TRUE(zookeeper.Sessions().empty());
  world.RunFor(absl::Minutes(1));
  EXPECT_EQ(a.answers, before);
  EXPECT_EQ(a.states, States{State::kConnected});
}

TEST_F(Sessions, ASessionThatIsDestroyedWhereNobodyHearsItLastsItsTime) {
  a.Done(a.Create("/e", "", Mode::kEphemeralSequential));
  zookeeper.Cut(a.node);
  ASSERT_TRUE(a.Reaches(State::kConnecting));
  a.On([&] { a.session.reset(); });
  zookeeper.Restore(a.node);
  world.RunFor(kMoment);
  EXPECT_TRUE(IsThere("/e0000000000"));
  world.RunFor(kTimeout + kTick);
  EXPECT_FALSE(IsThere("/e0000000000"));
}

TEST_F(Sessions, ASessionMayBeDestroyedByItsOwnCallback) {
  bool is_told = false;
  a.On([&] {
    a.session->Get("/", [&](absl::StatusOr<ZooKeeperNode>) {
      is_told = true;
      a.session.reset();
    });
    a.session->Get("/", [](absl::StatusOr<ZooKeeperNode>) { FAIL(); });
  });
  world.RunFor(absl::Minutes(1));
  EXPECT_TRUE(is_told);
  EXPECT_TRUE(zookeeper.Sessions().empty());
}

TEST_F(Sessions, AStoppedProcessHearsThatItsConnectionIsGoneAndThenItsSession) {
  world.RunFor(absl::Seconds(1));
  const auto made = a.Create("/x", "");
  a.node.PauseFor(kTimeout + kTick + kMoment);
  world.RunFor(kTimeout + kTick);
  EXPECT_TRUE(IsThere("/x"));
  EXPECT_TRUE(zookeeper.Sessions().empty());
  EXPECT_EQ(a.states, States{State::kConnected});
  world.RunFor(2 * kMoment);
  EXPECT_TRUE(made->has_value());
  EXPECT_EQ(a.states, (States{State::kConnected, State::kConnecting, State::kEnded}));
}

TEST_F(Sessions, AProcessThatIsStoppedForAMomentKeepsItsSession) {
  a.node.PauseFor(kTimeout / 2);
  world.RunFor(absl::Minutes(1));
  EXPECT_EQ(zookeeper.Sessions().size(), 1u);
  EXPECT_EQ(a.Code(a.Get("/")), Code::kOk);
}

TEST_F(Sessions, AMachineThatStoodStillHearsOfItsEnd) {
  a.node.StandStillFor(absl::Minutes(1));
  world.RunFor(absl::Seconds(59));
  EXPECT_TRUE(zookeeper.Sessions().empty());
  EXPECT_TRUE(a.Reaches(State::kEnded, absl::Seconds(3)));
}

TEST_F(Sessions, AnEnsembleThatIsDownKeepsItsTreeAndItsSessions) {
  a.Done(a.Create("/e", "kept", Mode::kEphemeralSequential));
  zookeeper.TakeDown();
  EXPECT_EQ(a.Code(a.Create("/x", "")), Code::kUnavailable);
  EXPECT_EQ(a.states, (States{State::kConnected, State::kConnecting}));
  world.RunFor(absl::Minutes(10));
  EXPECT_EQ(a.Code(a.Get("/")), Code::kUnavailable);
  EXPECT_EQ(a.states.size(), 2u);
  zookeeper.BringUp();
  ASSERT_TRUE(a.Reaches(State::kConnected, absl::Seconds(2)));
  EXPECT_FALSE(IsThere("/x"));
  EXPECT_EQ(a.Wait(a.Get("/e0000000000"))->owner, a.session->id());
}

TEST_F(Sessions, WhoDoesNotComeBackAfterTheEnsembleWasDownHasItsWholeTimeAgain) {
  a.Done(a.Create("/e", "", Mode::kEphemeralSequential));
  zookeeper.TakeDown();
  a.Crash();
  world.RunFor(absl::Minutes(1));
  EXPECT_TRUE(IsThere("/e0000000000"));
  zookeeper.BringUp();
  world.RunFor(kTimeout - kMoment);
  EXPECT_TRUE(IsThere("/e0000000000"));
  world.RunFor(kTick + kMoment);
  EXPECT_FALSE(IsThere("/e0000000000"));
}

TEST(SessionsBegin, ASessionThatNeverReachedTheEnsembleNeverEnds) {
  SimWorld world(1);
  SimZooKeeper zookeeper(world);
  SessionOnNode a(world, zookeeper, "a"), b(world, zookeeper, "b");
  zookeeper.Cut(a.node);
  zookeeper.TakeDown();
  a.Begin();
  b.Begin();
  EXPECT_EQ(a.Code(a.Get("/")), Code::kUnavailable);
  EXPECT_EQ(b.Code(b.Get("/")), Code::kUnavailable);
  world.RunFor(absl::Minutes(10));
  EXPECT_TRUE(a.states.empty() && b.states.empty());
  EXPECT_EQ(a.session->id(), 0);
  zookeeper.Restore(a.node);
  zookeeper.BringUp();
  EXPECT_TRUE(a.Reaches(State::kConnected, absl::Seconds(10)));
  EXPECT_TRUE(b.Reaches(State::kConnected, absl::Seconds(10)));
}

// What was asked over a connection that was given up may be carried out before the session has
// connected anew, and never after (sim_ensemble/E1).
TEST(SessionsBySeed, NothingOfAnEarlierConnectionIsDoneAfterTheNextOne) {
  int done = 0, refused = 0;
  for (uint64_t seed = 1; seed <= 100; ++seed) {
    SimWorld world(seed);
    SimZooKeeper zookeeper(world, {.session_timeout = kTimeout, .tick = kTick});
    SessionOnNode a(world, zookeeper, "a");
    a.Start();
    a.Done(a.Create("/x", "old"));
    zookeeper.Cut(a.node);
    const auto set = a.Set("/x", "new");
    ASSERT_EQ(a.Code(set), Code::kUnavailable);
    world.RunFor(world.random().Between(absl::ZeroDuration(), absl::Seconds(2)));
    zookeeper.Restore(a.node);
    ASSERT_TRUE(a.Reaches(State::kConnected));
    const std::string data = zookeeper.Read("/x")->data;
    ++(data == "new" ? done : refused);
    world.RunFor(absl::Seconds(20));
    EXPECT_EQ(zookeeper.Read("/x")->data, data) << "seed " << seed;
    EXPECT_EQ(a.states.back(), State::kConnected);
  }
  EXPECT_GT(done, 5);
  EXPECT_GT(refused, 5);
}

TEST(SessionsBySeed, WhereAConnectionBreaksTheFirstOfWhatWasAskedMayBeDone) {
  std::vector<int> by_count(11);
  for (uint64_t seed = 1; seed <= 100; ++seed) {
    SimWorld world(seed);
    SimZooKeeper zookeeper(world);
    SessionOnNode a(world, zookeeper, "a");
    a.Start();
    for (int i = 0; i < 10; ++i) a.Create(absl::StrCat("/n", i), "");
    EXPECT_TRUE(zookeeper.BreakConnection(a.node));
    world.RunFor(absl::Seconds(10));
    EXPECT_EQ(a.answers, 10);
    EXPECT_EQ(a.states, (States{State::kConnected, State::kConnecting, State::kConnected}));
    size_t count = zookeeper.Paths().size() - 1;
    for (size_t i = 0; i < count; ++i) EXPECT_TRUE(zookeeper.Read(absl::StrCat("/n", i)).ok());
    ++by_count[count];
  }
  EXPECT_GT(by_count.front(), 0);
  EXPECT_GT(by_count.back(), 0);
  EXPECT_LT(by_count.front() + by_count.back(), 60);
}

// Whatever happens, the ensemble never ends a session early, and a session is answered once.
TEST(SessionsBySeed, EachQuestionIsAnsweredOnceUnderAllFaults) {
  int ended = 0, ok = 0, unknown = 0, cancelled = 0;
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    SimWorld world(seed);
    SimZooKeeper zookeeper(world, {.session_timeout = kTimeout, .tick = kTick});
    zookeeper.weather() = {
        .late_percent = 10, .late_max = absl::Seconds(1), .lost_answers_percent = 2};
    SessionOnNode a(world, zookeeper, "a");
    a.Start();
    std::vector<Later<absl::Status>> asked;
    for (int i = 0; i < 300; ++i) {
      asked.push_back(a.Commit({{ZooKeeperStep::Kind::kCreate, absl::StrCat("/n", i), ""}}));
      world.RunFor(world.random().Between(absl::ZeroDuration(), absl::Milliseconds(400)));
      switch (world.random().Below(120)) {
        case 0:
          zookeeper.Cut(a.node);
          break;
        case 1:
          zookeeper.TakeDown();
          break;
        case 2:
          zookeeper.BreakConnection(a.node);
          break;
        case 3:
          a.node.PauseFor(world.random().Between(absl::Seconds(1), absl::Seconds(8)));
          break;
        case 4:
          zookeeper.LoseAnswer(a.node);
          break;
        case 5:
        case 6:
        case 7:
        case 8:
          zookeeper.Restore(a.node);
          zookeeper.BringUp();
          break;
        default:
          break;
      }
    }
    zookeeper.Restore(a.node);
    zookeeper.BringUp();
    world.RunFor(absl::Minutes(2));
    ASSERT_EQ(a.answers, 300);
    ended += a.states.back() == State::kEnded;
    for (size_t i = 0; i < asked.size(); ++i) {
      const Code code = (*asked[i])->code();
      ok += code == Code::kOk;
      unknown += code == Code::kUnavailable;
      cancelled += code == Code::kCancelled;
      if (code == Code::kOk) {
        EXPECT_TRUE(zookeeper.Read(absl::StrCat("/n", i)).ok());
      }
    }
  }
  EXPECT_EQ(ok + unknown + cancelled, 40 * 300);
  EXPECT_GT(ended, 3);
  EXPECT_LT(ended, 37);
  EXPECT_GT(ok, 1000);
  EXPECT_GT(unknown, 500);
  EXPECT_GT(cancelled, 100);
}

}  // namespace
}  // namespace arion::sim
