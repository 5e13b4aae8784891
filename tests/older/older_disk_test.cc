// What the stand-in leaves on a disk, and what it takes of what lies there: its own, a real 2.5.0
// server's, and the acceptance tests of legacy/FORMAT.md 7 that are about a private log.
// SPDX-License-Identifier: Apache-2.0
#include "tests/older/older_disk.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <vector>

#include "disks/app_info_file.h"
#include "disks/init_info.h"
#include "posix/posix_clock.h"
#include "posix/posix_file_system.h"
#include "tests/support/fixtures.h"
#include "tests/support/temp_directory.h"

namespace arion {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Matches;
using ::testing::MatchesRegex;

constexpr PartitionId kPid{2, 1};

MutationPtr Put(int64_t decree, int64_t ballot = 3) {
  Mutation m{.pid = kPid, .ballot = Ballot(ballot), .decree = Decree(decree)};
  m.last_committed = Decree(decree - 1);
  m.updates.push_back({WriteCode::kPut, 1, std::string(40, 'x')});
  return std::make_shared<const Mutation>(std::move(m));
}

class OlderDiskTest : public ::testing::Test {
 protected:
  std::string reps() const { return JoinPath(temporary_.path(), "replica/reps"); }
  std::string path() const { return JoinPath(reps(), "2.1.pegasus"); }
  std::vector<std::string> Names(const std::string& directory) {
    return files_.List(directory).value();
  }
  std::string Content(const std::string& name) {
    return ReadFile(files_, JoinPath(path(), name)).value();
  }

  // One life.
  sim::OldDisk Load() {
    disk_ = std::make_unique<OlderDisk>(files_, clock_, reps());
    sim::OldDisk found;
    EXPECT_TRUE(disk_->Load(&found).ok());
    return found;
  }
  sim::OldStored Made() {
    sim::OldStored stored(kPid);
    stored.app = {.status = AppStatus::kAvailable,
                  .app_type = "pegasus",
                  .app_name = "temp",
                  .app_id = 2,
                  .partition_count = 8,
                  .is_stateful = true,
                  .max_replica_count = 3,
                  .create_second = 1640995200,
                  .init_partition_count = 8};
    stored.directory = path();
    EXPECT_TRUE(files_.CreateDirectories(path()).ok());
    disk_->Create(stored);
    stored.log.Reopen();
    return stored;
  }
  // A replica with a private log of the specification's.
  void PutReplica(const std::string& fixture) {
    Load();
    Made();
    for (const auto& file : std::filesystem::directory_iterator(SpecFixtures() + "/" + fixture))
      std::filesystem::copy(file.path(), JoinPath(path(), "plog"));
  }
  static std::vector<int64_t> DecreesOf(const sim::OldLog& log) {
    std::vector<int64_t> decrees;
    for (const MutationPtr& m : log.Mutations()) decrees.push_back(m->decree.value());
    return decrees;
  }

  TempDirectory temporary_;
  PosixFileSystem files_;
  PosixClock clock_;
  std::unique_ptr<OlderDisk> disk_;
};

TEST_F(OlderDiskTest, WhatANewReplicaLeavesIsWhatTheSpecificationSays) {
  REQUIRE_FIXTURE(SpecFixtures());
  EXPECT_THAT(Load(), IsEmpty());
  sim::OldStored stored = Made();
  EXPECT_THAT(Names(path()), ElementsAre(".app-info", ".init-info", "plog"));
  EXPECT_EQ(Content(".app-info"), Slurp(SpecFixtures() + "/info/.app-info"));
  stored.ballot = Ballot(3);
  disk_->StoreInfo(stored, Decree(0));
  EXPECT_EQ(Content(".init-info"),
            "{\"init_ballot\":3,\"init_durable_decree\":0,\"init_offset_in_shared_log\":0,"
            "\"init_offset_in_private_log\":0}");
  // The first append makes the file.
  EXPECT_THAT(Names(path() + "/plog"), IsEmpty());
  stored.log.Append({Put(1)});
  EXPECT_THAT(Names(path() + "/plog"), ElementsAre("log.1.0"));
  EXPECT_EQ(Content("plog/log.1.0"), stored.log.bytes());
}

TEST_F(OlderDiskTest, AProcessThatWasKilledIsFollowedByOneThatHasWhatCounted) {
  Load();
  {
    sim::OldStored stored = Made();
    stored.log.Append({Put(1), Put(2)});
    stored.log.SwitchFile();
    stored.log.Append({Put(3, /*ballot=*/5)});
    stored.log.BeginBlock({Put(4)});
  }
  for (int life = 0; life < 3; ++life) {
    sim::OldDisk found = Load();
    ASSERT_TRUE(found.contains(kPid));
    sim::OldStored& stored = found.at(kPid);
    EXPECT_EQ(stored.app.app_name, "temp");
    EXPECT_EQ(stored.ballot, Ballot(5));
    std::vector<int64_t> decrees{1, 2, 3};
    for (int64_t d = 4; d < 4 + life; ++d) decrees.push_back(d);
    EXPECT_EQ(DecreesOf(stored.log), decrees);
    stored.log.Reopen();
    stored.log.Append({Put(4 + life, 5)});
  }
  EXPECT_THAT(Names(reps()), ElementsAre("2.1.pegasus"));
}

TEST_F(OlderDiskTest, WhatLiesBeforeALearnersNewBeginningIsVoid) {
  Load();
  {
    sim::OldStored stored = Made();
    stored.log.Append({Put(1), Put(2)});
    stored.log.Restart(Decree(40));
    disk_->StoreInfo(stored, Decree(40));
    stored.log.Append({Put(41)});
    stored.log.Append({Put(42)});
  }
  sim::OldDisk found = Load();
  sim::OldStored& stored = found.at(kPid);
  EXPECT_EQ(stored.durable, Decree(40));
  EXPECT_THAT(DecreesOf(stored.log), ElementsAre(41, 42));
  EXPECT_FALSE(stored.log.Covers(Decree(40)));
  EXPECT_TRUE(stored.log.Covers(Decree(41)));
  stored.log.Collect(Decree(40));
  EXPECT_EQ(Names(path() + "/plog").size(), 1u);
}

TEST_F(OlderDiskTest, A01_A02_A03_A05_A06_LogsThatAreWholeOrTornAreTaken) {
  REQUIRE_FIXTURE(SpecFixtures());
  const std::vector<std::pair<std::string, std::vector<int64_t>>> cases{
      {"plog-basic", {1, 2, 3, 4}},
      {"plog-torn-tail", {1, 2, 3}},
      {"plog-torn-middle-legal", {1, 2}},
      {"plog-empty-last", {1, 2, 3}},
      {"plog-stray-names", {1, 2, 3}}};
  for (const auto& [fixture, decrees] : cases) {
    SCOPED_TRACE(fixture);
    PutReplica(fixture);
    sim::OldDisk found = Load();
    ASSERT_TRUE(found.contains(kPid));
    EXPECT_EQ(DecreesOf(found.at(kPid).log), decrees);
    found.at(kPid).log.Reopen();
    found.at(kPid).log.Append({Put(5)});
    sim::OldDisk again = Load();
    ASSERT_TRUE(again.contains(kPid));
    EXPECT_EQ(DecreesOf(again.at(kPid).log).back(), 5);
    std::filesystem::remove_all(path());
  }
}

TEST_F(OlderDiskTest, A04_LogsThatAreDamagedAreSetAside) {
  REQUIRE_FIXTURE(SpecFixtures());
  for (const char* fixture : {"plog-offset-gap", "plog-bad-crc", "plog-zero-tail"}) {
    SCOPED_TRACE(fixture);
    PutReplica(fixture);
    EXPECT_THAT(Load(), IsEmpty());
    EXPECT_THAT(Names(reps()), ElementsAre(MatchesRegex("2.1.pegasus.[0-9]+.err")));
    std::filesystem::remove_all(reps());
  }
}

TEST_F(OlderDiskTest, ARealServersReplicasAreTaken) {
  const std::string real = RealFixtures() + "/pegasus-2.5.0/replica1/reps";
  REQUIRE_FIXTURE(real);
  std::filesystem::create_directories(ParentDirectory(reps()));
  std::filesystem::copy(real, reps(), std::filesystem::copy_options::recursive);
  const std::vector<std::string> names = Names(reps());
  const sim::OldDisk found = Load();
  size_t replicas = 0;
  for (const std::string& name : names) replicas += Matches(MatchesRegex(".*pegasus"))(name);
  EXPECT_EQ(found.size(), replicas);
  EXPECT_EQ(Names(reps()), names);
  for (const auto& [pid, stored] : found) {
    EXPECT_FALSE(stored.log.Mutations().empty()) << pid;
    EXPECT_GE(stored.ballot, stored.log.Mutations().back()->ballot) << pid;
  }
}

}  // namespace
}  // namespace arion
