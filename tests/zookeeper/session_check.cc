// Sessions with a real ZooKeeper server, which tests/cluster/zookeeper_session_test.py starts.
// SPDX-License-Identifier: Apache-2.0
#include <absl/strings/match.h>
#include <absl/strings/str_cat.h>
#include <absl/strings/str_replace.h>
#include <absl/time/clock.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <iostream>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "base/status.h"
#include "posix/name_book.h"
#include "tests/zookeeper/waiting_client.h"

namespace arion {
namespace {

using State = ZooKeeperSession::State;
using Client = WaitingClient;
using Mode = ZooKeeperSession::Mode;
using Kind = ZooKeeperStep::Kind;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

// A directory of its own for each test.
class SessionCheck : public ::testing::Test {
 protected:
  SessionCheck()
      : at_(absl::StrCat("/", ::testing::UnitTest::GetInstance()->current_test_info()->name())) {
    client_.Await(State::kConnected);
    EXPECT_TRUE(client_.Create(at_).ok());
  }

  Client client_;
  const std::string at_;
};

#define EXPECT_CODE(expression, wanted) EXPECT_EQ((expression).code(), absl::StatusCode::wanted)

TEST_F(SessionCheck, NodesAreMadeReadListedAndRemoved) {
  EXPECT_EQ(client_.Create(at_ + "/a", "one").value(), at_ + "/a");
  EXPECT_TRUE(client_.Create(at_ + "/b", std::string("\0two", 4)).ok());
  EXPECT_TRUE(client_.Create(at_ + "/b/c").ok());
  EXPECT_EQ(client_.Get(at_ + "/a")->data, "one");
  EXPECT_EQ(client_.Get(at_ + "/a")->version, 0);
  EXPECT_EQ(client_.Get(at_ + "/a")->owner, 0);
  const int64_t now_ms = absl::ToUnixMillis(absl::Now());
  EXPECT_NEAR(static_cast<double>(client_.Get(at_ + "/a")->created_unix_ms),
              static_cast<double>(now_ms), 60000);
  EXPECT_EQ(client_.Get(at_ + "/b")->data, std::string("\0two", 4));
  EXPECT_EQ(client_.Get(at_ + "/b/c")->data, "");
  EXPECT_THAT(*client_.List(at_), UnorderedElementsAre("a", "b"));
  EXPECT_THAT(*client_.List(at_ + "/a"), IsEmpty());
  EXPECT_TRUE(client_.List("/").ok());
  EXPECT_TRUE(client_.Sync(at_).ok());
  EXPECT_TRUE(client_.Set(at_ + "/a", "other").ok());
  EXPECT_EQ(client_.Get(at_ + "/a")->data, "other");
  EXPECT_EQ(client_.Get(at_ + "/a")->version, 1);

  EXPECT_CODE(client_.Create(at_ + "/a").status(), kAlreadyExists);
  EXPECT_CODE(client_.Create(at_ + "/x/y").status(), kNotFound);
  EXPECT_CODE(client_.Get(at_ + "/x").status(), kNotFound);
  EXPECT_CODE(client_.List(at_ + "/x").status(), kNotFound);
  EXPECT_CODE(client_.Remove(at_ + "/x"), kNotFound);
  EXPECT_CODE(client_.Remove(at_ + "/b"), kFailedPrecondition);
  EXPECT_THAT(client_.Remove(at_ + "/b").ToString(), HasSubstr(at_ + "/b"));
  EXPECT_TRUE(client_.Remove(at_ + "/b/c").ok());
  EXPECT_TRUE(client_.Remove(at_ + "/b").ok());
  EXPECT_THAT(*client_.List(at_), ElementsAre("a"));
}

TEST_F(SessionCheck, SequentialNodesAreTheSessionsAndGoWithIt) {
  Client other;
  other.Await(State::kConnected);
  const std::string first = *other.Create(at_ + "/n", "x", Mode::kEphemeralSequential);
  const std::string second = *client_.Create(at_ + "/n", "y", Mode::kEphemeralSequential);
  EXPECT_EQ(first, at_ + "/n0000000000");
  EXPECT_EQ(second, at_ + "/n0000000001");
  EXPECT_NE(other.Id(), 0);
  EXPECT_NE(other.Id(), client_.Id());
  EXPECT_EQ(client_.Get(first)->owner, other.Id());
  EXPECT_EQ(client_.Get(second)->owner, client_.Id());
  EXPECT_CODE(client_.Create(second + "/child").status(), kInternal);

  // Long before it would expire, and nobody waits for it.
  Waited<int> gone;
  ASSERT_TRUE(client_.GetAndWatch(first, gone).ok());
  const absl::Time begin = absl::Now();
  other.End();
  EXPECT_LT(absl::Now() - begin, absl::Milliseconds(300));
  ASSERT_TRUE(gone.Comes());
  EXPECT_LT(absl::Now() - begin, absl::Milliseconds(1500));
  EXPECT_CODE(client_.Get(first).status(), kNotFound);
  EXPECT_THAT(*client_.List(at_), ElementsAre("n0000000001"));
}

TEST_F(SessionCheck, ASessionEndsAtOnceAlsoWithQuestionsUnderWay) {
  const auto open_files = [] {
    return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {});
  };
  const auto before = open_files();
  for (int i = 0; i < 10; ++i) {
    Client other;
    other.Await(State::kConnected);
    Waited<int> gone;
    ASSERT_TRUE(
        client_.GetAndWatch(*other.Create(at_ + "/n", "", Mode::kEphemeralSequential), gone).ok());
    other.On([&] {
      for (int j = 0; j < 300; ++j) other.session().List("/", [](const auto&) {});
      other.EndHere();
    });
    const absl::Time begin = absl::Now();
    ASSERT_TRUE(gone.Comes());
    EXPECT_LT(absl::Now() - begin, absl::Milliseconds(1500));
  }
  EXPECT_EQ(open_files(), before);
}

TEST_F(SessionCheck, AWatchTellsOfOneChangeWhoeverMakesIt) {
  const std::string path = at_ + "/a";
  ASSERT_TRUE(client_.Create(path, "one").ok());
  Waited<int> none;
  EXPECT_CODE(client_.GetAndWatch(at_ + "/x", none).status(), kNotFound);
  Waited<int> set, set_too, removed, removed_by_another;
  EXPECT_EQ(client_.GetAndWatch(path, set)->data, "one");
  EXPECT_EQ(client_.GetAndWatch(path, set_too)->data, "one");
  EXPECT_FALSE(set.HasCome());
  ASSERT_TRUE(client_.Set(path, "two").ok());
  EXPECT_TRUE(set.Comes());
  EXPECT_TRUE(set_too.Comes());
  ASSERT_TRUE(client_.Set(path, "three").ok());  // a second time would throw
  ASSERT_TRUE(client_.GetAndWatch(path, removed).ok());
  ASSERT_TRUE(client_.Create(at_ + "/b").ok());
  ASSERT_TRUE(client_.Create(path + "/child").ok());
  EXPECT_FALSE(removed.HasCome()) << "its children are not watched";
  ASSERT_TRUE(client_.Remove(path + "/child").ok());
  ASSERT_TRUE(client_.Remove(path).ok());
  EXPECT_TRUE(removed.Comes());
  ASSERT_TRUE(client_.GetAndWatch(at_ + "/b", removed_by_another).ok());
  Client other;
  other.Await(State::kConnected);
  ASSERT_TRUE(other.Remove(at_ + "/b").ok());
  EXPECT_TRUE(removed_by_another.Comes());
  ASSERT_TRUE(client_.Create(at_ + "/x").ok());
  EXPECT_FALSE(none.HasCome());
}

TEST_F(SessionCheck, ATransactionIsDoneAllOrNothing) {
  ASSERT_TRUE(client_.Create(at_ + "/lock").ok());
  ASSERT_TRUE(client_.Create(at_ + "/old").ok());
  EXPECT_TRUE(client_
                  .Commit({{Kind::kCheck, at_ + "/lock"},
                           {Kind::kCreate, at_ + "/new", "a"},
                           {Kind::kCreate, at_ + "/new/child", "b"},
                           {Kind::kSet, at_ + "/new", "c"},
                           {Kind::kRemove, at_ + "/old"}})
                  .ok());
  EXPECT_EQ(client_.Get(at_ + "/new")->data, "c");
  EXPECT_THAT(*client_.List(at_), UnorderedElementsAre("lock", "new"));

  const absl::Status there = client_.Commit({{Kind::kCheck, at_ + "/lock"},
                                             {Kind::kCreate, at_ + "/z"},
                                             {Kind::kCreate, at_ + "/new"},
                                             {Kind::kRemove, at_ + "/lock"}});
  EXPECT_CODE(there, kAlreadyExists);
  EXPECT_THAT(there.ToString(), HasSubstr(at_ + "/new, step 3 of 4"));
  const absl::Status not_there =
      client_.Commit({{Kind::kSet, at_ + "/new", "d"}, {Kind::kCheck, at_ + "/gone"}});
  EXPECT_CODE(not_there, kNotFound);
  EXPECT_THAT(not_there.ToString(), HasSubstr(at_ + "/gone"));
  EXPECT_CODE(client_.Commit({{Kind::kRemove, at_ + "/new"}}), kFailedPrecondition);
  // What was set is not what it was.
  ASSERT_TRUE(client_.Set(at_ + "/lock", "").ok());
  const absl::Status was_set =
      client_.Commit({{Kind::kCheck, at_ + "/lock"}, {Kind::kCreate, at_ + "/z"}});
  EXPECT_CODE(was_set, kFailedPrecondition);
  EXPECT_THAT(was_set.ToString(), HasSubstr(at_ + "/lock"));
  EXPECT_THAT(*client_.List(at_), UnorderedElementsAre("lock", "new"));
  EXPECT_EQ(client_.Get(at_ + "/new")->data, "c");

  std::vector<ZooKeeperStep> many;
  for (int i = 0; i < 1000; ++i)
    many.push_back({Kind::kCreate, absl::StrCat(at_, "/new/", i), std::string(400, 'x')});
  EXPECT_TRUE(client_.Commit(many).ok());
  EXPECT_EQ(client_.List(at_ + "/new")->size(), 1001u);
}

TEST_F(SessionCheck, WhatIsTooLargeOrNoPathIsNotSent) {
  const std::string path = at_ + "/a";
  const size_t room = ZooKeeperSession::kNodeBytesMax - path.size();
  EXPECT_TRUE(client_.Create(path, std::string(room, 'x')).ok());
  EXPECT_EQ(client_.Get(path)->data.size(), room);
  EXPECT_TRUE(client_.Set(path, std::string(room, 'y')).ok());
  const absl::Status large = client_.Set(path, std::string(room + 1, 'x'));
  EXPECT_CODE(large, kInvalidArgument);
  EXPECT_THAT(large.ToString(), HasSubstr(path));
  EXPECT_CODE(client_.Create(at_ + "/b", std::string(2 << 20, 'x')).status(), kInvalidArgument);
  for (const std::string bad : {"", "a", "/a/", "//", "/a//b", "/a/./b", "/..", "/a\n"}) {
    EXPECT_CODE(client_.Get(bad).status(), kInvalidArgument) << bad;
    EXPECT_CODE(client_.Create(bad).status(), kInvalidArgument) << bad;
    EXPECT_CODE(client_.Commit({{Kind::kRemove, at_}, {Kind::kCheck, bad}}), kInvalidArgument);
  }
  EXPECT_CODE(client_.Get(std::string("/a\0b", 4)).status(), kInvalidArgument);
  // The server alone knows of these.
  EXPECT_CODE(client_.Create("/a\xc2\x85").status(), kInvalidArgument);
  EXPECT_THAT(client_.States(), ElementsAre(State::kConnected)) << "the connection held";
}

TEST_F(SessionCheck, AnswersComeInTheOrderOfTheQuestions) {
  std::vector<int> told;
  Waited<int> last;
  client_.On([&] {
    for (int i = 0; i < 1000; ++i) {
      const bool is_bad = i % 7 == 3;
      client_.session().Get(is_bad ? "bad" : at_, [&told, i](const auto& node) {
        if (node.ok() != (i % 7 == 3)) told.push_back(i);
      });
    }
    client_.session().Sync(at_, [done = last.Here()](absl::Status) { done(0); });
    EXPECT_THAT(told, IsEmpty()) << "before the calls have returned";
  });
  last.Value();
  ASSERT_EQ(told.size(), 1000u);
  EXPECT_TRUE(std::is_sorted(told.begin(), told.end()));
}

TEST_F(SessionCheck, ARootGoesBeforeEachPath) {
  Client below(Hosts() + at_);
  below.Await(State::kConnected);
  EXPECT_EQ(below.Create("/a", "x").value(), "/a");
  EXPECT_EQ(below.Create("/n", "", Mode::kEphemeralSequential).value(), "/n0000000001");
  EXPECT_THAT(*below.List("/"), UnorderedElementsAre("a", "n0000000001"));
  EXPECT_TRUE(below.Commit({{Kind::kCheck, "/a"}, {Kind::kCreate, "/b"}}).ok());
  EXPECT_THAT(below.Commit({{Kind::kCheck, "/gone"}}).ToString(), HasSubstr(at_ + "/gone"));
  EXPECT_EQ(client_.Get(at_ + "/a")->data, "x");
  EXPECT_TRUE(client_.Get(at_ + "/b").ok());
}

TEST_F(SessionCheck, WhoeverEndsItHearsNothingMore) {
  bool is_told = false;
  client_.On([&] {
    for (int i = 0; i < 100; ++i) client_.session().Get(at_, [&](const auto&) { is_told = true; });
  });
  client_.On([&] { is_told = false; });
  client_.End();
  const bool was_told = std::exchange(is_told, false);
  client_.On([] {});
  EXPECT_FALSE(is_told) << was_told;
  // From within what is told.
  Client other;
  other.Await(State::kConnected);
  int told = 0;
  Waited<int> ended;
  other.On([&] {
    for (int i = 0; i < 3; ++i)
      other.session().Get("/", [&, done = ended.Here()](const auto&) {
        ++told;
        other.EndHere();
        done(0);
      });
  });
  ended.Value();
  other.On([] {});
  EXPECT_EQ(told, 1);
}

TEST_F(SessionCheck, ASessionGoesOnWhereTheServerComesBack) {
  const int64_t id = client_.Id();
  const std::string own = *client_.Create(at_ + "/n", "", Mode::kEphemeralSequential);
  Waited<int> set;
  ASSERT_TRUE(client_.GetAndWatch(at_, set).ok());
  LetHappen("kill");
  client_.Await(State::kConnecting);
  EXPECT_CODE(client_.Get(at_).status(), kUnavailable);
  EXPECT_CODE(client_.Commit({{Kind::kSet, at_, "a"}}), kUnavailable);
  LetHappen("start");
  client_.Await(State::kConnected);
  EXPECT_EQ(client_.Id(), id);
  EXPECT_EQ(client_.Get(own)->owner, id);
  EXPECT_FALSE(set.HasCome()) << "the states of the session are no change of a node";
  ASSERT_TRUE(client_.Set(at_, "b").ok());
  EXPECT_TRUE(set.Comes());
  EXPECT_THAT(client_.States(),
              ElementsAre(State::kConnected, State::kConnecting, State::kConnected));
}

TEST_F(SessionCheck, ASessionThatNoServerHearsOfEnds) {
  const int64_t id = client_.Id();
  const std::string own = *client_.Create(at_ + "/n", "", Mode::kEphemeralSequential);
  Waited<int> changed;
  ASSERT_TRUE(client_.GetAndWatch(at_, changed).ok());
  // This process stands still until the server has given its sessions up.
  LetHappen("expire me");
  client_.Await(State::kEnded);
  EXPECT_EQ(client_.Id(), id);
  EXPECT_CODE(client_.Get(at_).status(), kCancelled);
  EXPECT_CODE(client_.Create(at_ + "/x").status(), kCancelled);
  EXPECT_CODE(client_.Commit({{Kind::kCheck, at_}}), kCancelled);
  EXPECT_CODE(client_.Get("bad").status(), kCancelled);
  EXPECT_FALSE(changed.HasCome()) << "it was not";
  EXPECT_EQ(client_.States().back(), State::kEnded);

  Client next;
  next.Await(State::kConnected);
  EXPECT_CODE(next.Get(own).status(), kNotFound);
}

TEST_F(SessionCheck, WhatWaitsWhenTheSessionEndsIsCancelled) {
  // One waits at any time.
  Waited<absl::Status> last;
  std::function<void()> ask = [&] {
    client_.session().Sync(at_, [&, done = last.Here()](const absl::Status& status) {
      if (absl::IsCancelled(status)) return done(status);
      EXPECT_TRUE(status.ok() || absl::IsUnavailable(status)) << status;
      ask();
    });
  };
  client_.On(ask);
  LetHappen("expire me");
  EXPECT_CODE(last.Value(), kCancelled);
  client_.Await(State::kEnded);
}

TEST_F(SessionCheck, WhatAnAccessListForbidsIsSaid) {
  ASSERT_TRUE(client_.Create(at_ + "/a", "x").ok());
  LetHappen("forbid writes of " + at_ + "/a");
  EXPECT_EQ(client_.Get(at_ + "/a")->data, "x");
  EXPECT_CODE(client_.Create(at_ + "/a/b").status(), kPermissionDenied);
  const absl::Status status = client_.Commit({{Kind::kCheck, at_}, {Kind::kSet, at_ + "/a", "y"}});
  EXPECT_CODE(status, kPermissionDenied);
  EXPECT_THAT(status.ToString(), HasSubstr(at_ + "/a"));
}

TEST_F(SessionCheck, AServerThatStandsStillIsLeft) {
  const int64_t id = client_.Id();
  Client other;
  other.Await(State::kConnected);
  LetHappen("freeze");
  // Sent, and nobody knows whether it was done.
  EXPECT_CODE(client_.Set(at_, "a"), kUnavailable);
  client_.Await(State::kConnecting);
  const absl::Time begin = absl::Now();
  other.End();
  EXPECT_LT(absl::Now() - begin, absl::Milliseconds(500)) << "nobody waits for it";
  LetHappen("thaw");
  client_.Await(State::kConnected);
  EXPECT_EQ(client_.Id(), id);
  EXPECT_TRUE(client_.Get(at_).ok());
}

TEST(NamesCheck, ANameThatCantBeLookedUpHidesNoOtherServer) {
  // RFC 6761: nobody has such a name.
  Client nowhere("nowhere.invalid:2181");
  Waited<absl::StatusOr<ZooKeeperNode>> waiting;
  nowhere.Get("/", waiting);
  Client some("nowhere.invalid:2181," + Hosts());
  some.Await(State::kConnected);
  EXPECT_TRUE(some.Get("/").ok());
  EXPECT_FALSE(waiting.HasCome());
  EXPECT_THAT(nowhere.States(), IsEmpty());
  EXPECT_EQ(nowhere.Id(), 0);
}

TEST(EnsembleCheck, ASessionMovesToServersThatAreLeft) {
  Client client;
  client.Await(State::kConnected);
  const int64_t id = client.Id();
  ASSERT_TRUE(client.Create("/a", "x").ok());
  const std::string own = *client.Create("/n", "", Mode::kEphemeralSequential);
  LetHappen("kill leader");
  // Whichever it was connected to: servers without a leader serve nobody.
  absl::Status status;
  int tries = 0;
  const absl::Time end = absl::Now() + absl::Minutes(1);
  do {
    ++tries;
    status = client.Commit({{Kind::kCheck, own}, {Kind::kSet, "/a", absl::StrCat(tries)}});
  } while (absl::IsUnavailable(status) && absl::Now() < end);
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_GT(tries, 1);
  EXPECT_EQ(client.Id(), id);
  EXPECT_TRUE(client.Sync("/").ok());
  EXPECT_EQ(client.Get("/a")->data, absl::StrCat(tries));
  EXPECT_EQ(client.Get(own)->owner, id);
}

// A resolver that is asked on other threads, to their end.
class Resolver : public std::enable_shared_from_this<Resolver> {
 public:
  NameBook::LookUp Asked() {
    return [self = shared_from_this()](const NamedAddress&) { return self->Answer(); };
  }
  void Set(const std::string& endpoint) {
    const MutexLock lock(mutex_);
    answer_ = Endpoint::Parse(endpoint);
    changed_.NotifyAll();
  }
  void AwaitAsked(int times) {
    MutexLock lock(mutex_);
    ASSERT_TRUE(changed_.WaitFor(mutex_, kPatience, [&] { return asked_ >= times; }));
  }

 private:
  // Takes its time: until it has something.
  absl::StatusOr<std::vector<Endpoint>> Answer() {
    MutexLock lock(mutex_);
    ++asked_;
    changed_.NotifyAll();
    changed_.WaitFor(mutex_, kPatience, [&] { return answer_.has_value(); });
    return std::vector{*answer_};
  }

  Mutex mutex_;
  ConditionVariable changed_;
  std::optional<Endpoint> answer_;
  int asked_ = 0;
};

TEST(NamesCheck, ASessionFollowsItsServerToAnotherAddress) {
  const auto resolver = std::make_shared<Resolver>();
  // The client compares addresses without their ports.
  const std::string there = absl::StrReplaceAll(Hosts(), {{"127.0.0.1", "127.0.0.9"}});
  resolver->Set(there);  // nobody listens there yet
  Client client("zk.example:2181", resolver->Asked(), absl::Seconds(4));
  resolver->AwaitAsked(1);
  resolver->Set(Hosts());
  client.Await(State::kConnected);
  const int64_t id = client.Id();
  ASSERT_TRUE(client.Create("/follows").ok());
  const std::string own = *client.Create("/follows/n", "", Mode::kEphemeralSequential);
  Waited<int> changed;
  ASSERT_TRUE(client.GetAndWatch("/follows", changed).ok());

  LetHappen("move to 127.0.0.9");
  client.Await(State::kConnecting);
  resolver->Set(there);
  EXPECT_FALSE(changed.HasCome());
  client.Await(State::kConnected);
  EXPECT_EQ(client.Id(), id);
  EXPECT_EQ(client.Get(own)->owner, id);
  EXPECT_TRUE(changed.Comes()) << "it is not watched any more";
  EXPECT_THAT(client.States(),
              ElementsAre(State::kConnected, State::kConnecting, State::kConnected));
  LetHappen("move to 127.0.0.1");
}

TEST(NamesCheck, ALookupThatTakesLongHoldsNobodyUp) {
  const auto resolver = std::make_shared<Resolver>();
  auto client = std::make_unique<Client>("zk.example:2181", resolver->Asked());
  resolver->AwaitAsked(1);
  const absl::Time begin = absl::Now();
  client.reset();
  EXPECT_LT(absl::Now() - begin, absl::Milliseconds(500));
  resolver->Set(Hosts());
}

}  // namespace
}  // namespace arion
