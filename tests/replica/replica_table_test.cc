// SPDX-License-Identifier: Apache-2.0
#include "replica_server/replica_table.h"

#include <deque>
#include <utility>

#include "tests/replica/server_world.h"
#include "tests/wal/watched_environment.h"

namespace arion {
namespace {

constexpr char kFirstDisk[] = "/d1";
constexpr char kFirst[] = "/d1/replica/reps/2.1.pegasus";
constexpr char kSecond[] = "/d2/replica/reps/2.1.pegasus";

// A disk's pool that can be made to wait.
class PatientPool : public DiskPool {
 public:
  void Submit(Task work) override {
    if (!waits) return below->Submit(std::move(work));
    waiting.push_back(std::move(work));
  }
  void LetGo(size_t n) {
    for (; n > 0 && !waiting.empty(); --n) {
      below->Submit(std::move(waiting.front()));
      waiting.pop_front();
    }
  }

  DiskPool* below = nullptr;
  bool waits = false;
  std::deque<Task> waiting;
};

// A primary, and a member with two disks, of which the first has the replica and fails.
class ReplicaTableTest : public ReplicaServerWorld {
 protected:
  void TearDown() override {
    for (auto& server : servers_)
      if (server->server != nullptr) server->Crash(sim::CrashMode::kProcess);
  }

  void Disguise(Server& server) {
    server.disguise = [this](sim::SimEnvironment& env) -> Environment& {
      seen_.push_back(std::make_unique<WatchedEnvironment>(env));
      pool_.below = &env.disk_pool(kFirstDisk);
      seen_.back()->on_pool = [this](const std::string& path) {
        return path.starts_with(kFirstDisk) ? &pool_ : nullptr;
      };
      seen_.back()->files().on_change = [this](const std::string& path) {
        const bool fails = path.starts_with(fails_below_) && !fails_below_.empty();
        if (fails) return absl::InternalError(path + ": Input/output error");
        const bool fits = no_room_for_.empty() || !path.starts_with(no_room_for_);
        return fits ? absl::OkStatus() : absl::ResourceExhaustedError(path + ": no space");
      };
      return *seen_.back();
    };
  }
  void MakeTwo() {
    Server& primary = AddServer();
    servers_.push_back(std::make_unique<Server>(world_, 2));
    Disguise(member());
    Restart(member());
    ASSERT_TRUE(MakePrimary(primary));
    ASSERT_TRUE(AddSecondary(primary, member()));
    ASSERT_TRUE(Exists(files(), kFirst));
  }
  // From now on nothing below `path` can be changed; the next checkpoint finds out.
  void FailBelow(const std::string& path) {
    fails_below_ = path;
    ASSERT_EQ(Put(primary(), 1, "one"), ErrorCode::kOk);
  }
  bool IsMemberGone() { return Snapshot(member()).pid == PartitionId{}; }
  void AskToLearn(absl::Duration for_long) {
    const Instant end = world_.now() + for_long;
    while (world_.now() < end) {
      meta_.Propose(primary().address, ConfigType::kAddSecondary, member().address);
      world_.RunFor(absl::Seconds(2));
    }
  }

  // Of two copies, after a start.
  void ExpectOneStays(const char* stays, const char* goes) {
    ASSERT_TRUE(WaitFor(member(), PartitionStatus::kSecondary));
    EXPECT_EQ(Snapshot(member()).directory, stays);
    EXPECT_FALSE(Exists(files(), goes));
    EXPECT_EQ(CountDirectories(member(), ".err"), 1);
  }

  Server& primary() { return *servers_[0]; }
  Server& member() { return *servers_[1]; }
  FileSystem& files() { return member().node.environment().files(); }

  std::vector<std::unique_ptr<WatchedEnvironment>> seen_;
  PatientPool pool_;
  std::string fails_below_;
  std::string no_room_for_;
};

TEST_F(ReplicaTableTest, WhatCantBeSetAsideIsMadeAnewOnAnotherDiskAndTheNextStartKnows) {
  ASSERT_NO_FATAL_FAILURE(MakeTwo());
  ASSERT_NO_FATAL_FAILURE(FailBelow(kFirstDisk));
  ASSERT_TRUE(world_.RunUntil([&] { return IsMemberGone(); }, absl::Seconds(20)));
  ASSERT_TRUE(AddSecondary(primary(), member()));
  EXPECT_TRUE(Exists(files(), kFirst));
  EXPECT_TRUE(Exists(files(), kSecond));
  ASSERT_EQ(Put(primary(), 2, "two"), ErrorCode::kOk);

  member().Crash(sim::CrashMode::kPowerNone);
  Restart(member());  // the first disk fails still
  ASSERT_TRUE(WaitFor(member(), PartitionStatus::kSecondary));
  EXPECT_EQ(Snapshot(member()).directory, kSecond);
  EXPECT_TRUE(Exists(files(), kFirst));

  member().Crash(sim::CrashMode::kPowerNone);
  fails_below_ = "";
  Restart(member());
  ASSERT_NO_FATAL_FAILURE(ExpectOneStays(kSecond, kFirst));
  world_.RunFor(absl::Seconds(1));
  EXPECT_FALSE(Exists(files(), absl::StrCat(kSecond, "/.arion-replaces")))
      << "the next one in the first directory would be taken for the former";
}

TEST_F(ReplicaTableTest, AReplacementIsForgottenWhenTheFormerOneIsSetAside) {
  ASSERT_NO_FATAL_FAILURE(MakeTwo());
  ASSERT_NO_FATAL_FAILURE(FailBelow(kFirstDisk));
  ASSERT_TRUE(world_.RunUntil([&] { return IsMemberGone(); }, absl::Seconds(20)));
  ASSERT_TRUE(AddSecondary(primary(), member()));
  EXPECT_TRUE(Exists(files(), absl::StrCat(kSecond, "/.arion-replaces")));
  fails_below_ = "";
  world_.RunFor(absl::Seconds(10));
  EXPECT_EQ(CountDirectories(member(), ".err"), 1);
  EXPECT_FALSE(Exists(files(), absl::StrCat(kSecond, "/.arion-replaces")));
}

TEST_F(ReplicaTableTest, WhatIsMadeAnewWhileItsDiskIsMissingStaysWhenTheDiskIsBack) {
  ASSERT_NO_FATAL_FAILURE(MakeTwo());
  member().Crash(sim::CrashMode::kPowerNone);
  fails_below_ = kFirstDisk;
  Restart(member());
  ASSERT_EQ(Put(primary(), 1, "one"), ErrorCode::kOk) << "without the member";
  ASSERT_TRUE(AddSecondary(primary(), member()));
  EXPECT_TRUE(Exists(files(), kFirst));

  member().Crash(sim::CrashMode::kPowerNone);
  fails_below_ = "";
  Restart(member());
  ASSERT_NO_FATAL_FAILURE(ExpectOneStays(kSecond, kFirst));
}

TEST_F(ReplicaTableTest, WhatIsMadeAnewWhileTheFormerOneCantBeReadStaysWhenItCan) {
  ASSERT_NO_FATAL_FAILURE(MakeTwo());
  member().Crash(sim::CrashMode::kPowerNone);
  sim::SimDisk& disk = member().node.disk();
  ASSERT_TRUE(disk.Rename(kFirst, kSecond).ok());
  const std::string app_info = absl::StrCat(kSecond, "/.app-info");
  ASSERT_TRUE(disk.Rot(app_info, 0, 4).ok());
  disk.MakeDurable();
  Restart(member());
  ASSERT_EQ(Put(primary(), 1, "one"), ErrorCode::kOk) << "without the member";
  ASSERT_TRUE(AddSecondary(primary(), member()));
  EXPECT_EQ(Snapshot(member()).directory, kFirst);

  member().Crash(sim::CrashMode::kPowerNone);
  ASSERT_TRUE(disk.Rot(app_info, 0, 4).ok());  // as it was
  Restart(member());
  ASSERT_NO_FATAL_FAILURE(ExpectOneStays(kFirst, kSecond));
}

TEST_F(ReplicaTableTest, SettingAsideIsTriedAgainUntilItSucceeds) {
  ASSERT_NO_FATAL_FAILURE(MakeTwo());
  ASSERT_NO_FATAL_FAILURE(FailBelow(kFirstDisk));
  ASSERT_TRUE(world_.RunUntil([&] { return !meta_.configuration().IsSecondary(member().address); },
                              absl::Seconds(20)));
  world_.RunFor(absl::Minutes(1));
  EXPECT_EQ(CountDirectories(member(), ".err"), 0);
  fails_below_ = "";
  world_.RunFor(absl::Seconds(10));
  EXPECT_EQ(CountDirectories(member(), ".err"), 1);
  ASSERT_TRUE(AddSecondary(primary(), member()));
  EXPECT_TRUE(Exists(files(), kSecond)) << "the first failed before";
}

TEST_F(ReplicaTableTest, WhatFindsNoSpaceToBeMadeIsMadeOnceThereIsSome) {
  options_.layout.data_directories = {{"ssd1", "/d1/replica/reps"}};
  Server& primary = AddServer();
  servers_.push_back(std::make_unique<Server>(world_, 2));
  Disguise(member());
  Restart(member());
  ASSERT_TRUE(MakePrimary(primary));
  no_room_for_ = absl::StrCat(kFirst, ".tmp/");
  AskToLearn(absl::Minutes(2));
  EXPECT_TRUE(IsMemberGone()) << "nothing is there to be reported";

  no_room_for_ = "";
  const Instant begin = world_.now();
  ASSERT_TRUE(AddSecondary(primary, member()));
  EXPECT_LE(world_.now() - begin, absl::Seconds(12)) << "the directory did not fail";
  EXPECT_EQ(CountDirectories(member(), ".err"), 0);
}

TEST_F(ReplicaTableTest, WhatWasMadeWithoutASyncOfItsNameAndNotTakenBackIsMadeAgain) {
  options_.layout.data_directories = {{"ssd1", "/d1/replica/reps"}};
  Server& primary = AddServer();
  servers_.push_back(std::make_unique<Server>(world_, 2));
  Disguise(member());
  Restart(member());
  ASSERT_TRUE(MakePrimary(primary));
  seen_.back()->files().on_sync_directory = [this](const std::string& path) {
    if (path != "/d1/replica/reps" || !no_room_for_.empty() || !Exists(files(), kFirst))
      return absl::OkStatus();
    no_room_for_ = kFirst;  // from here on
    return absl::ResourceExhaustedError(path + ": Too many open files");
  };
  AskToLearn(absl::Minutes(1));
  EXPECT_TRUE(Exists(files(), kFirst)) << "under its name, for now";

  seen_.back()->files().on_sync_directory = nullptr;
  no_room_for_ = "";
  EXPECT_TRUE(AddSecondary(primary, member()));
  EXPECT_EQ(CountDirectories(member(), ".err"), 0);
}

TEST_F(ReplicaTableTest, WhatStandsInTheWayAndOnceTookPartIsSetAsideWithItsLog) {
  options_.layout.data_directories = {{"ssd1", "/d1/replica/reps"}};
  Server& primary = AddServer();
  servers_.push_back(std::make_unique<Server>(world_, 2));
  Disguise(member());
  Restart(member());
  const std::string log = JoinPath(kFirst, "plog");
  ASSERT_TRUE(files().CreateDirectories(log).ok());
  ASSERT_TRUE(WriteFileDurably(files(), JoinPath(log, "log.1.0"), "records").ok());
  ASSERT_TRUE(StoreInitInfo(files(), kFirst, InitInfo{.ballot = Ballot(5)}).ok());
  ASSERT_TRUE(MakePrimary(primary));
  ASSERT_TRUE(AddSecondary(primary, member()));
  EXPECT_EQ(CountDirectories(member(), ".err"), 1) << "it has no data, and is no attempt of ours";
}

TEST_F(ReplicaTableTest, ASlowDisksSettingAsideTakesNoLogFromTheNextReplica) {
  options_.layout.log_home_directory = "/fast/logs";
  ASSERT_NO_FATAL_FAILURE(MakeTwo());
  ASSERT_NO_FATAL_FAILURE(FailBelow(absl::StrCat(kFirst, "/data")));
  pool_.waits = true;
  const Instant end = world_.now() + absl::Minutes(1);
  while (!IsMemberGone() && world_.now() < end) {
    pool_.LetGo(1);
    world_.RunFor(absl::Milliseconds(100));
  }
  ASSERT_TRUE(IsMemberGone());
  ASSERT_FALSE(pool_.waiting.empty());
  AskToLearn(absl::Seconds(20));
  EXPECT_FALSE(Exists(files(), kSecond)) << "before the first one is set aside";

  pool_.waits = false;
  pool_.LetGo(pool_.waiting.size());
  ASSERT_TRUE(AddSecondary(primary(), member()));
  EXPECT_EQ(CountDirectories(member(), ".err"), 1);
  EXPECT_TRUE(Exists(files(), kSecond));
  EXPECT_TRUE(Exists(files(), "/fast/logs/2.1.pegasus/plog"));
  ASSERT_EQ(Put(primary(), 2, "two"), ErrorCode::kOk);
  member().Crash(sim::CrashMode::kPowerNone);
  Restart(member());
  ASSERT_TRUE(WaitFor(member(), PartitionStatus::kSecondary));
}

}  // namespace
}  // namespace arion
