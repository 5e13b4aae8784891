// SPDX-License-Identifier: Apache-2.0
#include "recovery/replica_opener.h"

#include <absl/strings/str_cat.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/raw_key.h"
#include "base/status.h"
#include "disks/app_info_file.h"
#include "disks/disk_watch.h"
#include "disks/log_place.h"
#include "engine/memory_engine.h"
#include "sim/sim_environment.h"
#include "tests/legacy/shared_log_bytes.h"

namespace arion {
namespace {

constexpr PartitionId kPid{2, 1};
constexpr char kReps[] = "/d1/replica/reps", kPath[] = "/d1/replica/reps/2.1.pegasus";

MutationPtr Row(int64_t ballot, int64_t decree, std::optional<int64_t> committed = std::nullopt) {
  return std::make_shared<Mutation>(Mutation{
      .pid = kPid,
      .ballot = Ballot(ballot),
      .decree = Decree(decree),
      .last_committed = Decree(committed.value_or(decree - 1)),
      .updates = {
          {WriteCode::kPut, 1,
           PutRequest(JoinRawKey("h", std::to_string(decree)), "b" + std::to_string(ballot))}}});
}

class ReplicaOpenerTest : public testing::Test {
 protected:
  using Opened = absl::StatusOr<OpenedReplica>;

  ReplicaOpenerTest() {
    found_ = {.pid = kPid,
              .path = kPath,
              .app = {.app_type = "pegasus",
                      .app_name = "t",
                      .app_id = kPid.app_id,
                      .partition_count = 8,
                      .max_replica_count = 3}};
    Begin();
    EXPECT_TRUE(CreateDirectoryDurably(files(), kReps).ok());
  }
  ~ReplicaOpenerTest() override { node_.Crash(sim::CrashMode::kProcess); }

  FileSystem& files() { return node_.environment().files(); }
  // A life of the server.
  void Begin(std::string log_home = {}) {
    sim::SimEnvironment& env = node_.Start();
    DiskLayout layout;
    layout.data_directories = {{.tag = "ssd1", .path = kReps}};
    layout.log_home_directory = std::move(log_home);
    const auto watch = std::make_shared<DiskWatch>(env, env.NewStrand("disks"), DiskHealthOptions{},
                                                   layout.data_directories);
    engines_ = std::make_unique<MemoryEngineFactory>(env);
    host_.reset(new OpeningHost{
        .disks = std::make_shared<const ServerDisks>(ServerDisks{env, layout, watch}),
        .engines = *engines_,
        .open_log = PrivateLog::Open,
        .log = {.preallocate = false}});
  }
  void PowerCut() {
    node_.Crash(sim::CrashMode::kPowerNone);
    Begin();
  }
  absl::Status Create() {
    absl::Status status;
    node_.environment().RunInPool([&] { status = CreateReplicaDirectory(*host_, found_); });
    return status;
  }
  Opened Open(Origin origin = Origin::kFound) { return Open(found_, origin); }
  Opened Open(const FoundReplica& replica, Origin origin = Origin::kFound) {
    Opened opened = absl::UnknownError("not opened");
    node_.environment().RunInPool(
        [&] { opened = OpenReplica(*host_, node_.environment().NewStrand("r"), replica, origin); });
    return opened;
  }
  // A directory that a server before left, with this in its log.
  void Leave(const InitInfo& info, const std::vector<MutationPtr>& log = {}) {
    ASSERT_TRUE(files().CreateDirectories(kPath).ok());
    ASSERT_TRUE(StoreAppInfo(files(), kPath, found_.app).ok());
    ASSERT_TRUE(StoreInitInfo(files(), kPath, info).ok());
    if (!log.empty()) {
      SharedLogBytes bytes(1, 0);
      bytes.Register(kPid);
      bytes.NewFile();
      for (const MutationPtr& m : log) bytes.Add(*m);
      ASSERT_TRUE(bytes.Store(files(), JoinPath(kPath, "plog")).ok());
    }
    node_.disk().MakeDurable();
  }
  static std::vector<MutationPtr> Rows(int64_t ballot, int64_t first, int64_t last) {
    std::vector<MutationPtr> rows;
    for (int64_t d = first; d <= last; ++d) rows.push_back(Row(ballot, d));
    return rows;
  }
  static std::string Value(const OpenedReplica& opened, int64_t decree) {
    const auto record =
        opened.engine->Get(JoinRawKey("h", std::to_string(decree)), 0, ReadTier::kAll);
    return record.ok() ? record->value : "none";
  }
  static std::vector<int64_t> Logged(const OpenedReplica& opened) {
    std::vector<int64_t> decrees;
    for (const MutationPtr& m : opened.recovered.logged) decrees.push_back(m->decree.value());
    return decrees;
  }

  sim::SimWorld world_{1};
  sim::SimNode& node_ = world_.AddNode("r1");
  FoundReplica found_;
  std::unique_ptr<MemoryEngineFactory> engines_;
  std::unique_ptr<OpeningHost> host_;
};
using Decrees = std::vector<int64_t>;

// ---- a new replica

TEST_F(ReplicaOpenerTest, ANewOneIsEmptyAndOfTheWholeSharedLogNothingIsIts) {
  host_->shared_log_end->store(7000);
  ASSERT_TRUE(Create().ok());
  const Opened opened = Open(Origin::kJustCreated);
  ASSERT_TRUE(opened.ok()) << opened.status();
  EXPECT_EQ(opened->pid, kPid);
  EXPECT_EQ(opened->app.app_name, "t");
  EXPECT_EQ(opened->recovered.last_applied, Decree(0));
  EXPECT_EQ(opened->recovered.last_stop, LastStop::kClean);
  EXPECT_EQ(opened->info.offset_in_shared_log, 7000);
  EXPECT_FALSE(opened->log_is_void);
}

// Wherever the power is cut in between.
TEST_F(ReplicaOpenerTest, ItsDirectoryIsWholeAndDurableOrNotThere) {
  node_.disk().MakeDurable();
  bool died = true;
  int64_t changes = 0;
  for (; died; ++changes) {
    for (const sim::CrashMode mode : {sim::CrashMode::kProcess, sim::CrashMode::kPowerNone,
                                      sim::CrashMode::kPowerPrefix, sim::CrashMode::kPowerRandom}) {
      died = false;
      node_.disk().DieAfterChanges(changes, [&died] { died = true; });
      const absl::Status created = CreateReplicaDirectory(*host_, found_);
      node_.disk().DieAfterChanges(-1, nullptr);
      node_.Crash(mode);
      node_.disk().Revive();
      Begin();
      if (!Exists(files(), kPath)) {
        EXPECT_FALSE(created.ok()) << changes;
        EXPECT_TRUE(Create().ok()) << changes;
      }
      EXPECT_TRUE(Open().ok()) << changes;
      ASSERT_TRUE(files().RemoveAll(kPath).ok());
      node_.disk().MakeDurable();
    }
  }
  EXPECT_GT(changes, 5) << "a directory, two files, its name";
}

TEST_F(ReplicaOpenerTest, WhatAFailedCreationLeftIsReplacedAndAReplicaIsNot) {
  ASSERT_TRUE(Create().ok());
  EXPECT_TRUE(Create().ok()) << "nobody opened it, and it has no ballot";
  Leave({.ballot = Ballot(1)});
  EXPECT_FALSE(Create().ok());
  Leave({.ballot = Ballot(0)});
  ASSERT_TRUE(files().CreateDirectories(DataPathOf(kPath)).ok());
  EXPECT_FALSE(Create().ok()) << "an engine was opened there";
}

// ---- a split's child

// Wherever the power is cut while a parent makes a checkpoint, and its child of that.
TEST_F(ReplicaOpenerTest, AChildIsWholeOrNotThereAndItsParentIsWhole) {
  FoundReplica child = found_;
  child.pid.index += found_.app.partition_count;
  child.path = absl::StrCat(kReps, "/2.9.pegasus");
  child.app.partition_count *= 2;
  const auto make = [&]() -> absl::Status {
    const StrandPtr strand = node_.environment().NewStrand("r");
    ASSIGN_OR_RETURN(const OpenedReplica parent,
                     OpenReplica(*host_, strand, found_, Origin::kFound));
    RETURN_IF_ERROR(parent.engine->Checkpoint().status());
    std::shared_ptr<void> hold;
    ASSIGN_OR_RETURN(const Engine::CheckpointFiles files, parent.engine->NewestCheckpoint(&hold));
    const FirstContent content{
        .checkpoint = files.directory, .decree = files.decree, .ballot = Ballot(7)};
    RETURN_IF_ERROR(CreateReplicaDirectory(*host_, child, &content));
    return OpenReplica(*host_, strand, child, Origin::kJustCreated).status();
  };
  const auto expect_content = [](const Opened& opened) {
    EXPECT_EQ(opened->recovered.last_applied, Decree(4));
    for (int64_t decree = 1; decree <= 5; ++decree)
      EXPECT_EQ(Value(*opened, decree), decree <= 4 ? "b6" : "none") << decree;
  };
  bool died = true;
  int64_t changes = 0, whole = 0;
  for (; died; ++changes) {
    for (const sim::CrashMode mode : {sim::CrashMode::kProcess, sim::CrashMode::kPowerNone,
                                      sim::CrashMode::kPowerPrefix, sim::CrashMode::kPowerRandom}) {
      SCOPED_TRACE(absl::StrCat("after ", changes, " changes, mode ", static_cast<int>(mode)));
      Leave({.ballot = Ballot(6)}, Rows(6, 1, 5));  // the last one is not known to be committed
      died = false;
      absl::Status made;
      node_.disk().DieAfterChanges(changes, [&died] { died = true; });
      node_.environment().RunInPool([&] { made = make(); });
      node_.disk().DieAfterChanges(-1, nullptr);
      node_.Crash(mode);
      node_.disk().Revive();
      Begin();
      {
        const Opened parent = Open();
        ASSERT_TRUE(parent.ok()) << parent.status();
        expect_content(parent);
        EXPECT_EQ(Logged(*parent), Decrees{5});
        EXPECT_EQ(parent->info.ballot, Ballot(6));
      }
      if (Exists(files(), child.path)) {
        ++whole;
      } else {
        EXPECT_FALSE(made.ok());
        node_.environment().RunInPool([&] { made = make(); });
        EXPECT_TRUE(made.ok()) << made;
      }
      {
        const Opened opened = Open(child);
        ASSERT_TRUE(opened.ok()) << opened.status();
        expect_content(opened);
        EXPECT_EQ(Logged(*opened), Decrees{});
        EXPECT_EQ(opened->info.ballot, Ballot(7));
        EXPECT_EQ(opened->info.durable, Decree(4));
        EXPECT_TRUE(opened->info.is_unborn) << "no configuration names it yet";
        EXPECT_EQ(opened->app.partition_count, 16);
      }
      ASSERT_TRUE(files().RemoveAll(kPath).ok());
      ASSERT_TRUE(files().RemoveAll(child.path).ok());
      node_.disk().MakeDurable();
    }
  }
  EXPECT_GT(changes, 15) << "a checkpoint, the child's content, three files, its name";
  EXPECT_GT(whole, 0);
}

// ---- one that is there

TEST_F(ReplicaOpenerTest, WhatIsKnownCommittedIsAppliedAndTheRestIsLogged) {
  Leave({.ballot = Ballot(3)}, Rows(5, 1, 10));
  const Opened opened = Open();
  ASSERT_TRUE(opened.ok()) << opened.status();
  EXPECT_EQ(opened->recovered.last_applied, Decree(9));
  EXPECT_EQ(Value(*opened, 9), "b5");
  EXPECT_EQ(Value(*opened, 10), "none");
  EXPECT_EQ(Logged(*opened), Decrees{10});
  EXPECT_EQ(opened->recovered.last_stop, LastStop::kUnclean);
  EXPECT_EQ(opened->recovered.inactivity, Inactivity::kTransient);
  EXPECT_LT(opened->recovered.last_durable, Decree(9))
      << "the log has it, nobody waits for a flush";
}

// It must not go back behind a ballot that anything here bears.
TEST_F(ReplicaOpenerTest, TheLargestBallotOfAllIsItsBallotAndStored) {
  Leave({.ballot = Ballot(3)}, Rows(5, 1, 4));
  {
    const Opened opened = Open();
    ASSERT_TRUE(opened.ok()) << opened.status();
    EXPECT_EQ(opened->recovered.ballot, Ballot(5));
    EXPECT_EQ(opened->recovered.last_mutation_ballot, Ballot(5));
  }
  PowerCut();
  EXPECT_EQ(LoadInitInfo(files(), kPath)->ballot, Ballot(5));
}

TEST_F(ReplicaOpenerTest, BehindAHoleNothingIsAppliedAndItCanOnlyLearn) {
  std::vector<MutationPtr> log = Rows(5, 1, 5);
  for (const MutationPtr& m : Rows(5, 8, 10)) log.push_back(m);
  Leave({.ballot = Ballot(5)}, log);
  {
    const Opened opened = Open();
    ASSERT_TRUE(opened.ok()) << opened.status();
    EXPECT_EQ(opened->recovered.last_applied, Decree(5));
    EXPECT_EQ(Value(*opened, 8), "none");
    EXPECT_TRUE(opened->recovered.logged.empty());
    EXPECT_EQ(opened->recovered.inactivity, Inactivity::kRemoved);
    EXPECT_EQ(opened->recovered.last_stop, LastStop::kUnclean);
    EXPECT_TRUE(opened->log_is_void);
    EXPECT_EQ(opened->recovered.last_durable, Decree(5))
        << "the log is void, so a checkpoint has it";
    EXPECT_GE(opened->info.offset_in_private_log, opened->log->end_offset());
  }
  PowerCut();
  const Opened again = Open();
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->recovered.inactivity, Inactivity::kRemoved) << "what is missing stays missing";
  EXPECT_EQ(again->recovered.last_applied, Decree(5));
}

// Others may have been replaced by what is missing (pacifica/PROTOCOL.md 10.2).
TEST_F(ReplicaOpenerTest, BeforeAHoleOnlyWhatIsOfTheSameBallotCounts) {
  std::vector<MutationPtr> log = {Row(3, 1), Row(3, 2), Row(3, 3, 1)};
  log.push_back(Row(5, 6, 5));
  Leave({.ballot = Ballot(5)}, log);
  const Opened opened = Open();
  ASSERT_TRUE(opened.ok()) << opened.status();
  EXPECT_EQ(opened->recovered.last_applied, Decree(1));
  EXPECT_TRUE(opened->log_is_void);
}

TEST_F(ReplicaOpenerTest, ALearnersStateIsCheckpointedAndOnlyLearns) {
  Leave({.ballot = Ballot(5), .is_learner = true}, Rows(5, 1, 4));
  const Opened opened = Open();
  ASSERT_TRUE(opened.ok()) << opened.status();
  EXPECT_EQ(opened->recovered.last_applied, Decree(3));
  EXPECT_EQ(opened->recovered.last_durable, Decree(3));
  EXPECT_EQ(opened->recovered.inactivity, Inactivity::kRemoved);
}

TEST_F(ReplicaOpenerTest, AnEngineBelowWhatWasDurableIsDataLoss) {
  Leave({.ballot = Ballot(5), .durable = Decree(4)}, Rows(5, 1, 10));
  const absl::Status lost = Open().status();
  EXPECT_TRUE(absl::IsDataLoss(lost));
  EXPECT_NE(lost.message().find("demands 4"), absl::string_view::npos) << lost;
}

TEST_F(ReplicaOpenerTest, WithoutItsFilesItCanNotBeUnderstood) {
  for (const char* name : {".app-info", ".init-info"}) {
    Leave({.ballot = Ballot(5)});
    ASSERT_TRUE(WriteFileDurably(files(), JoinPath(kPath, name), "?").ok());
    EXPECT_TRUE(absl::IsDataLoss(Open().status())) << name;
  }
}

TEST_F(ReplicaOpenerTest, ALogThatLiesElsewhereIsNotTakenForEmpty) {
  Leave({.ballot = Ballot(5)}, Rows(5, 1, 4));
  node_.Crash(sim::CrashMode::kProcess);
  Begin("/logs");
  EXPECT_TRUE(absl::IsFailedPrecondition(Open().status())) << Open().status();
  EXPECT_FALSE(Exists(files(), DataPathOf(kPath))) << "looked at first of all";
}

// ---- what a shared log has of it

class ReplicaTakeOverTest : public ReplicaOpenerTest {
 protected:
  ReplicaTakeOverTest() { host_->shared_log_end->store(1 << 20); }
  // Opens with these records of the shared log, at offset 9000 and behind.
  Opened OpenWith(std::vector<MutationPtr> shared, bool is_incomplete = false) {
    Opened opened = absl::UnknownError("not opened");
    node_.environment().RunInPool([&] {
      auto opening =
          ReplicaOpening::Begin(*host_, node_.environment().NewStrand("r"), found_, Origin::kFound);
      if (!opening.ok()) return void(opened = opening.status());
      std::vector<MutationPtr> placed;
      for (const MutationPtr& m : shared) {
        auto copy = std::make_shared<Mutation>(*m);
        copy->log_offset = 9000 + 100 * static_cast<int64_t>(placed.size());
        placed.push_back(std::move(copy));
      }
      append_.clear();
      if (const absl::Status taken = (*opening)->TakeOver(placed, &append_); !taken.ok())
        return void(opened = taken);
      if (is_incomplete) (*opening)->MarkIncomplete();
      opened = (*opening)->Finish();
    });
    return opened;
  }
  Decrees Appended() const {
    Decrees decrees;
    for (const MutationPtr& m : append_) decrees.push_back(m->decree.value());
    return decrees;
  }

  std::vector<MutationPtr> append_;
};

TEST_F(ReplicaTakeOverTest, OnlyWhatThePrivateLogLacksIsAppendedAndAllCounts) {
  Leave({.ballot = Ballot(5), .offset_in_shared_log = 8000}, Rows(5, 1, 6));
  const Opened opened = OpenWith(Rows(5, 4, 9));
  ASSERT_TRUE(opened.ok()) << opened.status();
  EXPECT_EQ(Appended(), (Decrees{7, 8, 9}));
  EXPECT_EQ(opened->recovered.last_applied, Decree(8));
  EXPECT_EQ(Logged(*opened), Decrees{9});
  EXPECT_EQ(opened->recovered.last_durable, Decree(8)) << "so that the shared log can go";
  EXPECT_EQ(opened->recovered.last_stop, LastStop::kUnclean);
}

TEST_F(ReplicaTakeOverTest, WhatIsVoidThereIsNotTaken) {
  Leave({.ballot = Ballot(5), .offset_in_shared_log = 9150}, Rows(5, 1, 3));
  const Opened opened = OpenWith({Row(4, 4), Row(4, 5), Row(5, 4), Row(5, 5)});
  ASSERT_TRUE(opened.ok()) << opened.status();
  EXPECT_EQ(Appended(), (Decrees{4, 5}));
  EXPECT_EQ(append_[0]->ballot, Ballot(5));
  EXPECT_EQ(Value(*opened, 4), "b5");
}

TEST_F(ReplicaTakeOverTest, AHoleThereIsNotCarriedIntoThePrivateLog) {
  Leave({.ballot = Ballot(5), .offset_in_shared_log = 8000}, Rows(5, 1, 3));
  const Opened opened = OpenWith({Row(5, 4), Row(5, 8), Row(5, 9)});
  ASSERT_TRUE(opened.ok()) << opened.status();
  EXPECT_EQ(Appended(), Decrees{4});
  EXPECT_EQ(opened->recovered.inactivity, Inactivity::kRemoved);
}

TEST_F(ReplicaTakeOverTest, WithOtherRecordsItIsNotThisReplicasLog) {
  Leave({.ballot = Ballot(5), .offset_in_shared_log = 8000}, Rows(5, 1, 6));
  auto other = std::make_shared<Mutation>(*Row(5, 4));
  other->timestamp_us = 77;
  EXPECT_TRUE(absl::IsAborted(OpenWith({other, Row(5, 5)}).status()))
      << "what 5 calls committed is another record here";
  EXPECT_TRUE(append_.empty());
  EXPECT_TRUE(OpenWith({other}).ok()) << "alone it may be one that was never committed";
}

TEST_F(ReplicaTakeOverTest, OnceThereIsNoSharedLogItsOffsetIsZero) {
  host_->shared_log_end->store(0);
  Leave({.ballot = Ballot(5), .offset_in_shared_log = 8000}, Rows(5, 1, 3));
  const Opened opened = Open();
  ASSERT_TRUE(opened.ok()) << opened.status();
  EXPECT_EQ(opened->info.offset_in_shared_log, 0) << "a later one begins at 0 again";
  host_->shared_log_end->store(1);
  Leave({.ballot = Ballot(5), .offset_in_shared_log = 8000}, Rows(5, 1, 3));
  EXPECT_EQ(Open()->info.offset_in_shared_log, 8000);
}

}  // namespace
}  // namespace arion
