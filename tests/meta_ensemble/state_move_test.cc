// Moves on the simulated ensemble and disk, interrupted after each event.
// SPDX-License-Identifier: Apache-2.0
#include "meta_ensemble/state_move.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/cluster_identity.h"
#include "base/status.h"
#include "env/file_system.h"
#include "meta/meta_options.h"
#include "meta_ensemble/leader_lock.h"
#include "meta_ensemble/meta_member.h"
#include "meta_overview/cluster_overview.h"
#include "meta_state/cluster_state.h"
#include "meta_state/journal_meta_store.h"
#include "sim/sim_environment.h"
#include "sim_zookeeper/sim_zookeeper.h"
#include "tests/meta/meta_fixture.h"

namespace arion {
namespace {

using Entries = std::map<std::string, std::string>;
using To = StateMark::To;
using testing::AllOf;
using testing::HasSubstr;

constexpr char kHome[] = "/meta";
constexpr char kElection[] = "/x/c/lock/dsn.meta.server.leader";

// Two tables, and what else there may be; `value` is of a key that nobody knows.
Entries SomeState(const std::string& value = "v") {
  Entries entries;
  ClusterState state;
  for (int32_t app_id : {1, 12}) {
    AppInfo info{.status = AppStatus::kAvailable,
                 .app_type = "pegasus",
                 .app_name = "t" + std::to_string(app_id),
                 .app_id = app_id,
                 .partition_count = 4,
                 .is_stateful = true,
                 .max_replica_count = 1};
    const StoreChange change = state.ChangeOf(info);
    entries[change.key] = *change.value;
    for (int32_t i = 0; i < 4; ++i) {
      const StoreChange partition =
          state.ChangeOf(PartitionConfiguration{.pid = {app_id, i},
                                                .ballot = Ballot(app_id + i),
                                                .max_replica_count = 1,
                                                .primary = ServerAt(1)});
      entries[partition.key] = *partition.value;
    }
  }
  entries["/arion/function_level"] = "lively";
  entries["/arion/servers/10.0.0.1:34801"] = "";
  entries["/arion/unknown/deep/key"] = value;
  return entries;
}

// One world, with one directory and one ensemble.
class Rig {
 public:
  Rig() : node_(world_.AddNode("meta")) {}
  ~Rig() {
    if (node_.alive()) node_.Crash(sim::CrashMode::kProcess);
  }

  StateMoveOptions Options(To to) {
    return {.to = to,
            .directory = kHome,
            .root = "/x/c",
            .lock_root = "/x/c/lock",
            .journal = "10.0.0.1:34601 /meta",
            .zookeeper = "z:2181 /x/c",
            .cluster_id = cluster_id_,
            .keep_cluster_id = [this](uint32_t id) {
              cluster_id_ = id;
              return absl::OkStatus();
            }};
  }
  // The result; nullopt: it was interrupted after so many events. `events`: how many there were.
  std::optional<absl::StatusOr<MovedState>> Move(To to, std::optional<int> crash_after = {},
                                                 sim::CrashMode mode = sim::CrashMode::kPowerNone) {
    sim::SimEnvironment& env = node_.Start();
    std::optional<absl::StatusOr<MovedState>> result;
    auto move = std::make_unique<StateMove>(env, zookeeper_.ClientOf(node_), Options(to));
    move->Start([&](absl::StatusOr<MovedState> moved) { result = std::move(moved); });
    events_ = 0;
    const auto is_over = [&] {
      ++events_;
      return result.has_value() || (crash_after && events_ > *crash_after);
    };
    EXPECT_TRUE(world_.RunUntil(is_over, absl::Minutes(5)));
    // The end of a process that has ended by itself is no power cut, and it says goodbye.
    if (result) world_.RunFor(absl::Milliseconds(100));
    node_.Crash(result ? sim::CrashMode::kProcess : mode);
    move.reset();
    return result;
  }
  void MoveWhole(To to, bool was_there = false) {
    const auto moved = Move(to);
    ASSERT_TRUE(moved.has_value());
    ASSERT_TRUE(moved->ok()) << moved->status();
    EXPECT_EQ((*moved)->tables, 2u);
    EXPECT_EQ((*moved)->partitions, 8u);
    EXPECT_EQ((*moved)->ballots, 4 * 13 + 12);
    EXPECT_EQ((*moved)->was_there, was_there);
  }
  absl::Status Refusal(To to) {
    const auto moved = Move(to);
    return moved ? moved->status() : absl::UnknownError("interrupted");
  }

  template <class Run>
  auto WithFiles(Run run) {
    sim::SimEnvironment& env = node_.Start();
    std::optional<decltype(run(env))> result;
    env.RunInPool([&] { result = run(env); });
    node_.Crash(sim::CrashMode::kProcess);
    return *std::move(result);
  }
  void WriteJournal(const Entries& entries) {
    const absl::Status written = WithFiles([&](sim::SimEnvironment& env) -> absl::Status {
      RETURN_IF_ERROR(CreateDirectoryDurably(env.files(), kHome));
      return WriteFileDurably(env.files(), "/meta/meta.journal", JournalMetaStore::FileOf(entries));
    });
    ASSERT_TRUE(written.ok()) << written;
  }
  StateDirectory Directory() {
    const auto directory = WithFiles(
        [](sim::SimEnvironment& env) { return LookAtStateDirectory(env.files(), kHome); });
    EXPECT_TRUE(directory.ok()) << directory.status();
    return directory.value_or(StateDirectory());
  }
  Entries Journal() {
    const auto entries = WithFiles([](sim::SimEnvironment& env) {
      return JournalMetaStore(env, kHome, {.reserve_bytes = 0}).Load();
    });
    EXPECT_TRUE(entries.ok()) << entries.status();
    return entries.value_or(Entries());
  }
  // Below the root, but for what is of the place.
  Entries Tree() {
    Entries entries;
    const Entries content = zookeeper_.Content();
    for (const auto& [path, data] : content) {
      const std::string key = path.starts_with("/x/c/") ? path.substr(4) : "";
      const auto next = content.upper_bound(path + "/");
      const bool is_folder =
          data.empty() && next != content.end() && next->first.starts_with(path + "/");
      if ((key.starts_with("/apps/") || key.starts_with("/arion/")) && !is_folder &&
          key != kStateMarkKey && key != "/arion/cluster_id" && key != "/arion/commit")
        entries[key] = data;
    }
    return entries;
  }
  std::string DataOf(const std::string& path) { return zookeeper_.Read(path)->data; }

  // From where meta servers would begin now: the one of the directory with its journal; that one,
  // or any other one, with ZooKeeper.
  struct Places {
    bool journal = false, zookeeper_here = false, zookeeper_elsewhere = false;
  };
  Places Now() {
    const StateDirectory directory = Directory();
    Places places{.journal = directory.has_journal && MayBeginFromJournal(directory).ok()};
    const auto mark = zookeeper_.Read("/x/c/arion/moved");
    if (!mark.ok()) {
      const auto apps = zookeeper_.Read("/x/c/apps");
      places.zookeeper_here = places.zookeeper_elsewhere = apps.ok() && apps->data != "lock";
      return places;
    }
    EXPECT_EQ(DataOf("/x/c/apps"), "lock") << "of 2.5.0";
    places.zookeeper_here = MayLeadUnder(mark->data, "/x/c/arion/moved", directory).ok();
    places.zookeeper_elsewhere = MayLeadUnder(mark->data, "/x/c/arion/moved", {}).ok();
    return places;
  }
  // How many tables a meta server of ours with that directory serves; nullopt: it does not lead.
  std::optional<size_t> LeaderOf(const StateDirectory& directory) {
    sim::SimEnvironment& env = node_.Start();
    RecordingTransport transport;
    std::optional<size_t> tables;
    {
      MetaMember member(env, transport, zookeeper_.ClientOf(node_),
                        {.root = "/x/c",
                         .lock_root = "/x/c/lock",
                         .known_cluster_id = [this] { return cluster_id_; },
                         .directory = directory,
                         .on_cluster_id = [](uint32_t) { return absl::OkStatus(); }},
                        MetaServerOptions());
      member.Start();
      const Instant end = world_.now() + absl::Seconds(30);
      while (!tables && world_.now() < end) {
        world_.RunFor(absl::Milliseconds(500));
        std::optional<ClusterOverview> overview;
        member.Overview([&](ClusterOverview told) { overview = std::move(told); });
        world_.RunUntil([&] { return overview.has_value(); }, absl::Seconds(1));
        if (overview && overview->leadership.is_leader) tables = overview->tables.size();
      }
      bool is_stopped = false;
      member.Stop([&] { is_stopped = true; });
      world_.RunUntil([&] { return is_stopped; }, absl::Seconds(1));
      world_.RunFor(absl::Seconds(1));
      node_.Crash(sim::CrashMode::kProcess);
    }
    return tables;
  }
  void ExpectOnePlace(const Entries& state) {
    const Places now = Now();
    EXPECT_EQ(int{now.journal} + int{now.zookeeper_here}, 1) << "state_mark/P1";
    EXPECT_TRUE(now.zookeeper_here || !now.zookeeper_elsewhere);
    EXPECT_EQ(now.journal ? Journal() : Tree(), state) << "and it is whole";
  }

  sim::SimWorld world_{5};
  sim::SimZooKeeper zookeeper_{world_,
                               {.session_timeout = absl::Seconds(6), .tick = absl::Seconds(1)}};
  sim::SimNode& node_;
  uint32_t cluster_id_ = 0xabcd0123;
  int events_ = 0;
};

class StateMoveTest : public testing::Test, protected Rig {};

TEST_F(StateMoveTest, ThereAndBackAllIsAsItWas) {
  WriteJournal(SomeState());
  MoveWhole(To::kZooKeeper);
  EXPECT_EQ(Tree(), SomeState());
  EXPECT_EQ(DataOf("/x/c/arion/cluster_id"), "abcd0123");
  EXPECT_EQ(DataOf("/x/c/apps"), "");
  EXPECT_FALSE(zookeeper_.Read("/x/c/arion/moved").ok());
  StateDirectory directory = Directory();
  EXPECT_FALSE(directory.has_journal);
  EXPECT_TRUE(directory.has_moved_journal);
  EXPECT_FALSE(MayBeginFromJournal(directory).ok());
  // Somebody led meanwhile: one table is gone, one partition has changed.
  Entries changed = SomeState("w");
  for (const char* key : {"/apps/1/3", "/apps/1/2", "/apps/1/1", "/apps/1/0", "/apps/1"}) {
    changed.erase(key);
    ASSERT_TRUE(zookeeper_.Remove(std::string("/x/c") + key).ok());
  }
  ASSERT_TRUE(zookeeper_.Set("/x/c/arion/unknown/deep/key", "w").ok());
  cluster_id_ = 0;  // another machine's
  auto moved = Move(To::kJournal);
  ASSERT_TRUE(moved && moved->ok()) << moved->status();
  EXPECT_EQ((*moved)->tables, 1u);
  EXPECT_EQ(Journal(), changed);
  EXPECT_EQ(cluster_id_, 0xabcd0123u);
  EXPECT_EQ(DataOf("/x/c/apps"), "lock") << "2.5.0 begins no more";
  directory = Directory();
  EXPECT_FALSE(directory.note || directory.has_moved_journal);
  EXPECT_EQ(StateMark::Parse(DataOf("/x/c/arion/moved"))->phase, StateMark::Phase::kMoved);
  EXPECT_THAT(DataOf("/x/c/arion/moved"), HasSubstr("10.0.0.1:34601 /meta"));
  // And there again, over what was left there.
  WriteJournal(SomeState("z"));
  MoveWhole(To::kZooKeeper);
  EXPECT_EQ(Tree(), SomeState("z"));
  EXPECT_EQ(zookeeper_.Sessions().size(), 0u);
}

TEST_F(StateMoveTest, WhoHasMovedAlreadyHearsSo) {
  WriteJournal(SomeState());
  MoveWhole(To::kZooKeeper);
  MoveWhole(To::kZooKeeper, true);
  MoveWhole(To::kJournal);
  MoveWhole(To::kJournal, true);
  EXPECT_EQ(Journal(), SomeState());
}

TEST_F(StateMoveTest, WhoseJournalWasNotMovedBeginsNoEmptyCluster) {
  WriteJournal(SomeState());
  const StateDirectory directory = Directory();
  EXPECT_FALSE(LeaderOf(directory).has_value());
  EXPECT_THAT(std::string(MayBeginEmpty("/x/c", directory).message()),
              AllOf(HasSubstr("below /x/c there is no state"),
                    HasSubstr("/meta/meta.journal holds"), HasSubstr("--to zookeeper")));
  // What it left by trying is in nobody's way.
  MoveWhole(To::kZooKeeper);
  EXPECT_EQ(LeaderOf(Directory()), 2u);
  // And a journal beside a state does no harm: it is not looked at.
  EXPECT_EQ(LeaderOf(directory), 2u);
}

// ---- refusals: nothing is changed by them ----

class RefusedMove : public StateMoveTest {
 protected:
  // It names these, and changes neither end.
  void ExpectRefusal(To to, const std::vector<std::string>& words) {
    const Entries tree = zookeeper_.Content();
    const bool has_journal = Directory().has_journal;
    const Entries journal = has_journal ? Journal() : Entries();
    const absl::Status refusal = Refusal(to);
    EXPECT_FALSE(refusal.ok());
    for (const std::string& word : words)
      EXPECT_THAT(std::string(refusal.message()), HasSubstr(word));
    Entries now = zookeeper_.Content();
    // The lock's directory may have been made, and the way to the root.
    std::erase_if(now, [&](const auto& entry) { return !tree.contains(entry.first); });
    EXPECT_EQ(now, tree);
    EXPECT_FALSE(zookeeper_.Read("/x/c/arion/moved").ok() && !tree.contains("/x/c/arion/moved"));
    EXPECT_EQ(Directory().has_journal, has_journal);
    if (has_journal) {
      EXPECT_EQ(Journal(), journal);
    }
  }
  // Of a meta server of any version that stands for election.
  void AddCandidate(const std::string& data) {
    for (const char* path : {"/x", "/x/c", "/x/c/lock", kElection})
      zookeeper_.Create(path, "").IgnoreError();  // it may be there
    ASSERT_TRUE(zookeeper_.CreateOwned(absl::StrCat(kElection, "/LOCKNODE"), data, 77).ok());
  }
  void CreatePath(const std::string& path, const std::string& data) {
    for (size_t at = path.find('/', 1); at != std::string::npos; at = path.find('/', at + 1))
      zookeeper_.Create(path.substr(0, at), "").IgnoreError();  // it may be there
    ASSERT_TRUE(zookeeper_.Create(path, data).ok());
  }
};

TEST_F(RefusedMove, WhereAMetaServerStandsForElection) {
  WriteJournal(SomeState());
  AddCandidate("10.0.0.7:34601");
  ExpectRefusal(To::kZooKeeper, {"10.0.0.7:34601", "/x/c/lock", "stop all meta servers"});
  ExpectRefusal(To::kJournal, {"10.0.0.7:34601", "stop all meta servers"});
}

TEST_F(RefusedMove, WhereAnotherMoveIsUnderWay) {
  WriteJournal(SomeState());
  AddCandidate("arion_meta move-state 1");
  ExpectRefusal(To::kZooKeeper, {"/x/c/lock", "another move"});
}

TEST_F(RefusedMove, WhereTheEnsembleDoesNotAnswer) {
  WriteJournal(SomeState());
  zookeeper_.TakeDown();
  ExpectRefusal(To::kZooKeeper, {"z:2181 /x/c"});
  zookeeper_.BringUp();
  MoveWhole(To::kZooKeeper);
}

TEST_F(RefusedMove, WhereAMetaServerRunsOnTheJournal) {
  WriteJournal(SomeState());
  sim::SimEnvironment& env = node_.Start();
  JournalMetaStore store(env, kHome, {.reserve_bytes = 0});
  std::optional<absl::StatusOr<MovedState>> result;
  env.RunInPool([&] { EXPECT_TRUE(store.Load().ok()); });
  StateMove move(env, zookeeper_.ClientOf(node_), Options(To::kZooKeeper));
  move.Start([&](absl::StatusOr<MovedState> moved) { result = std::move(moved); });
  ASSERT_TRUE(world_.RunUntil([&] { return result.has_value(); }, absl::Minutes(1)));
  EXPECT_TRUE(absl::IsFailedPrecondition(result->status())) << result->status();
  EXPECT_THAT(std::string(result->status().message()), HasSubstr("/meta/lock"));
  EXPECT_FALSE(zookeeper_.Read("/x/c/arion").ok());
}

TEST_F(RefusedMove, IntoARootThatHoldsSomething) {
  WriteJournal(SomeState());
  CreatePath("/x/c/apps/2", "{}");
  ExpectRefusal(To::kZooKeeper, {"node /x/c/apps/2", "zookeeper_root"});
  ASSERT_TRUE(zookeeper_.Remove("/x/c/apps/2").ok());
  ASSERT_TRUE(zookeeper_.Set("/x/c/apps", "lock").ok());
  ExpectRefusal(To::kZooKeeper, {"node /x/c/apps is there", "a part of one"});
  ASSERT_TRUE(zookeeper_.Remove("/x/c/apps").ok());
  CreatePath("/x/c/arion/cluster_id", "00000007");
  ExpectRefusal(To::kZooKeeper, {"node /x/c/arion/cluster_id", "00000007", "abcd0123"});
  ASSERT_TRUE(zookeeper_.Set("/x/c/arion/cluster_id", "abcd0123").ok());
  CreatePath("/x/c/arion/moved", "what?");
  ExpectRefusal(To::kZooKeeper, {"node /x/c/arion/moved", "what?"});
  ASSERT_TRUE(zookeeper_.Remove("/x/c/arion/moved").ok());
  // One where a meta server has begun, and nothing more.
  CreatePath("/x/c/arion/commit", "LOCKNODE0000000000 1");
  CreatePath("/x/c/foreign", "");
  MoveWhole(To::kZooKeeper);
  EXPECT_TRUE(zookeeper_.Read("/x/c/foreign").ok());
}

TEST_F(RefusedMove, OfNothing) {
  ExpectRefusal(To::kZooKeeper, {"/meta/meta.journal is not there"});
  ExpectRefusal(To::kJournal, {"below /x/c there is no state"});
}

TEST_F(RefusedMove, OfWhatIsNotUnderstoodOrTooLarge) {
  Entries state = SomeState();
  state.erase("/apps/12/3");
  WriteJournal(state);
  ExpectRefusal(To::kZooKeeper, {"/apps/12/3"});
  state = SomeState(std::string(900 << 10, 'x'));
  WriteJournal(state);
  ExpectRefusal(To::kZooKeeper, {"/arion/unknown/deep/key", "921600 bytes"});
  WriteJournal(SomeState());
  MoveWhole(To::kZooKeeper);
  ASSERT_TRUE(zookeeper_.Remove("/x/c/apps/12/3").ok());
  ExpectRefusal(To::kJournal, {"/apps/12/3"});
}

TEST_F(RefusedMove, OverAJournalThatIsThere) {
  WriteJournal(SomeState());
  MoveWhole(To::kZooKeeper);
  WriteJournal(SomeState("another"));
  ExpectRefusal(To::kJournal, {"/meta/meta.journal is there", "replaced"});
  ExpectRefusal(To::kZooKeeper, {"is there: that root holds a state"});
}

TEST_F(RefusedMove, ToTheJournalOfAnotherWhileItIsElsewhere) {
  WriteJournal(SomeState());
  MoveWhole(To::kZooKeeper);
  MoveWhole(To::kJournal);
  StateMark mark = *StateMark::Parse(DataOf("/x/c/arion/moved"));
  mark.journal = "10.0.0.2:34601 /meta";
  ASSERT_TRUE(zookeeper_.Set("/x/c/arion/moved", mark.ToJson()).ok());
  ExpectRefusal(To::kZooKeeper, {"node /x/c/arion/moved", "10.0.0.2:34601 /meta"});
  ASSERT_TRUE(WithFiles([](sim::SimEnvironment& env) {
                return env.files().Remove("/meta/meta.journal");
              }).ok());
  ExpectRefusal(To::kJournal, {"was moved to the journal of 10.0.0.2:34601 /meta"});
}

TEST_F(StateMoveTest, AnswersThatAreLostAreFoundOut) {
  for (const auto kind : {sim::ZooKeeperRequest::Kind::kCreate,
                          sim::ZooKeeperRequest::Kind::kCommit, sim::ZooKeeperRequest::Kind::kGet,
                          sim::ZooKeeperRequest::Kind::kList, sim::ZooKeeperRequest::Kind::kSync}) {
    SCOPED_TRACE(static_cast<int>(kind));
    Rig rig;
    rig.WriteJournal(SomeState());
    rig.zookeeper_.LoseAnswer(rig.node_, kind);
    rig.MoveWhole(To::kZooKeeper);
    rig.zookeeper_.LoseAnswer(rig.node_, kind);
    rig.MoveWhole(To::kJournal);
    rig.ExpectOnePlace(SomeState());
  }
  // And some at any time.
  zookeeper_.weather().lost_answers_percent = 2;
  WriteJournal(SomeState());
  MoveWhole(To::kZooKeeper);
  MoveWhole(To::kJournal);
  zookeeper_.weather().lost_answers_percent = 0;
  ExpectOnePlace(SomeState());
}

// ---- interruptions ----

struct Interruption {
  To to;
  sim::CrashMode mode;
  // There and back before, so that there is what earlier moves leave.
  bool is_second;
};

class InterruptedMove : public testing::TestWithParam<Interruption> {
 protected:
  static void Prepare(Rig& rig) {
    rig.WriteJournal(SomeState());
    if (GetParam().is_second) {
      rig.MoveWhole(To::kZooKeeper);
      rig.MoveWhole(To::kJournal);
    }
    if (GetParam().to == To::kJournal) rig.MoveWhole(To::kZooKeeper);
  }
  // Runs `look` on what each event in turn leaves behind it, if the move ends there.
  static void AfterEachEvent(const std::function<void(Rig& rig)>& look) {
    const Interruption& param = GetParam();
#ifdef __SANITIZE_ADDRESS__
    constexpr int kStep = 5;  // ten times slower; what comes of each one is seen without it
#else
    constexpr int kStep = 1;
#endif
    int after = 0;
    for (;; after += kStep) {
      SCOPED_TRACE(absl::StrCat("interrupted after ", after, " events"));
      Rig rig;
      Prepare(rig);
      const auto moved = rig.Move(param.to, after, param.mode);
      if (moved) {
        EXPECT_TRUE(moved->ok()) << moved->status();
        break;
      }
      look(rig);
      if (HasFailure()) return;
    }
    EXPECT_GT(after, 40) << "it has that many, at least";
  }
};

TEST_P(InterruptedMove, LeavesOnePlaceAndIsCompletedByTheSame) {
  AfterEachEvent([](Rig& rig) {
    rig.ExpectOnePlace(SomeState());
    const auto again = rig.Move(GetParam().to);
    ASSERT_TRUE(again && again->ok()) << again->status();
    EXPECT_EQ((*again)->ballots, 4 * 13 + 12);
    const bool is_to_zookeeper = GetParam().to == To::kZooKeeper;
    const Rig::Places now = rig.Now();
    EXPECT_EQ(now.journal, !is_to_zookeeper);
    EXPECT_EQ(now.zookeeper_here, is_to_zookeeper);
    EXPECT_EQ(now.zookeeper_elsewhere, is_to_zookeeper);
    rig.ExpectOnePlace(SomeState());
  });
}

class InterruptedMoveSeen : public InterruptedMove {};

// What the rules say above, by real meta servers: one of another directory, and one of that one.
TEST_P(InterruptedMoveSeen, IsEndedByTheMetaServerOfThatDirectoryOrByNone) {
  AfterEachEvent([](Rig& rig) {
    rig.world_.RunFor(absl::Seconds(1));  // what is on its way arrives
    const Rig::Places places = rig.Now();
    const StateDirectory directory = rig.Directory();
    // Where there is no mark, there is nothing to see.
    if (!rig.zookeeper_.Read("/x/c/arion/moved").ok()) return;
    EXPECT_FALSE(rig.LeaderOf({}).has_value());
    const auto here = rig.LeaderOf(directory);
    EXPECT_EQ(here.has_value(), places.zookeeper_here);
    if (!here) return;
    EXPECT_EQ(*here, 2u) << "tables";
    EXPECT_TRUE(rig.LeaderOf({}).has_value()) << "the move has ended, for all";
  });
}

INSTANTIATE_TEST_SUITE_P(
    Moves, InterruptedMove,
    testing::Values(Interruption{To::kZooKeeper, sim::CrashMode::kPowerNone, true},
                    Interruption{To::kZooKeeper, sim::CrashMode::kPowerRandom, false},
                    Interruption{To::kJournal, sim::CrashMode::kPowerNone, true},
                    Interruption{To::kJournal, sim::CrashMode::kPowerRandom, false}));
INSTANTIATE_TEST_SUITE_P(
    Moves, InterruptedMoveSeen,
    testing::Values(Interruption{To::kZooKeeper, sim::CrashMode::kProcess, false},
                    Interruption{To::kJournal, sim::CrashMode::kProcess, false}));

}  // namespace
}  // namespace arion
