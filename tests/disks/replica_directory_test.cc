// SPDX-License-Identifier: Apache-2.0
#include "disks/replica_directory.h"

#include <gtest/gtest.h>

#include "disks/app_info_file.h"
#include "disks/data_directory_claim.h"
#include "disks/init_info.h"
#include "env/clock.h"
#include "sim/sim_environment.h"
#include "tests/engine/faulty_files.h"

namespace arion {
namespace {

AppInfo Table(int32_t id, int32_t partitions) {
  return {.app_type = "pegasus", .app_name = "t", .app_id = id, .partition_count = partitions};
}

class ReplicaDirectoryTest : public testing::Test {
 protected:
  FileSystem& files() { return env_.files(); }
  void MakeReplica(const std::string& path, const AppInfo& app) {
    ASSERT_TRUE(files().CreateDirectories(path).ok());
    ASSERT_TRUE(StoreAppInfo(files(), path, app).ok());
  }

  sim::SimWorld world_{1};
  sim::SimNode& node_ = world_.AddNode("r1");
  sim::SimEnvironment& env_ = node_.Start();
  const Endpoint self_ = *Endpoint::Parse("127.0.0.1:34801");
};

TEST_F(ReplicaDirectoryTest, NamesAreParsedStrictly) {
  EXPECT_EQ(ParseReplicaDirectoryName("2.1.pegasus"), (ReplicaDirectoryName{{2, 1}, "pegasus"}));
  EXPECT_EQ(ParseReplicaDirectoryName(FormatReplicaDirectoryName({7, 0}, "x.y")),
            (ReplicaDirectoryName{{7, 0}, "x.y"}));
  for (const char* name :
       {"", "2", "2.1", "2.1.", "0.1.pegasus", "-2.1.pegasus", "2.+1.pegasus", "a.1.pegasus",
        "2..pegasus", "2.1.pegasus.1700000000000000.err", "2.1.pegasus.gar", "2.1.pegasus.tmp",
        "2.1.pegasus.disk.migrate.ori", "2.1.pegasus.bak", "99999999999.1.pegasus"})
    EXPECT_FALSE(ParseReplicaDirectoryName(name).has_value()) << name;
}

TEST_F(ReplicaDirectoryTest, ScanLoadsWhatDescribesItselfAndLeavesTheRest) {
  MakeReplica("/d/2.1.pegasus", Table(2, 8));
  MakeReplica("/d/2.8.pegasus", Table(2, 8));  // beyond the table: a cancelled split
  MakeReplica("/d/3.0.pegasus", Table(4, 8));  // another table's
  MakeReplica("/d/5.0.pegasus.1.err", Table(5, 8));
  ASSERT_TRUE(files().CreateDirectories("/d/6.0.pegasus").ok());  // no .app-info
  ASSERT_TRUE(WriteFileDurably(files(), "/d/7.0.pegasus", "a file").ok());
  std::vector<IgnoredDirectory> ignored;
  const auto found = ScanDataDirectory(files(), "/d", 3, &ignored);
  ASSERT_TRUE(found.ok()) << found.status();
  ASSERT_EQ(found->size(), 1u);
  EXPECT_EQ(found->front().pid, (PartitionId{2, 1}));
  EXPECT_EQ(found->front().path, "/d/2.1.pegasus");
  EXPECT_EQ(found->front().data_directory, 3u);
  EXPECT_EQ(ignored.size(), 3u);
}

// Who made it ended before its name was durable, and what is acknowledged from now on lies in it.
TEST_F(ReplicaDirectoryTest, APowerCutTakesNothingAwayThatAStartFound) {
  ASSERT_TRUE(files().CreateDirectories("/d").ok());
  ASSERT_TRUE(files().SyncDirectory("/").ok());
  ASSERT_TRUE(files().CreateDirectories("/d/reps").ok());
  MakeReplica("/d/reps/2.1.pegasus", Table(2, 8));
  node_.Crash(sim::CrashMode::kProcess);
  ASSERT_TRUE(DataDirectoryClaim::Claim(node_.Start().files(), "/d/reps", self_).ok());
  node_.Crash(sim::CrashMode::kPowerNone);
  std::vector<IgnoredDirectory> ignored;
  const auto found = ScanDataDirectory(node_.Start().files(), "/d/reps", 3, &ignored);
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(found->size(), 1u);
}

TEST_F(ReplicaDirectoryTest, WhatCanNotBeLookedAtIsNotTakenForNothing) {
  MakeReplica("/d/2.1.pegasus", Table(2, 8));
  node_.disk().FailStats(1);
  std::vector<IgnoredDirectory> ignored;
  const auto found = ScanDataDirectory(files(), "/d", 3, &ignored);
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_TRUE(found->empty());
  EXPECT_EQ(ignored.size(), 1u) << "one made anew elsewhere would be a second one after a restart";
}

TEST_F(ReplicaDirectoryTest, WhoseDisksWereSwappedIsToldSoBesidesThatItsAddressIsNew) {
  ASSERT_TRUE(
      DataDirectoryClaim::Claim(files(), "/swapped", *Endpoint::Parse("10.0.0.9:34801")).ok());
  const absl::Status refused = DataDirectoryClaim::Claim(files(), "/swapped", self_).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << refused;
  for (const char* said : {"10.0.0.9:34801", "were swapped: swap them back", "new address for good",
                           "remove /swapped/.arion-server"})
    EXPECT_NE(refused.message().find(said), absl::string_view::npos) << said << "\n" << refused;
}

TEST_F(ReplicaDirectoryTest, AWantOfDescriptorsLeavesNoReplicaBehind) {
  MakeReplica("/d/2.1.pegasus", Table(2, 8));
  for (const sim::DiskTrouble want :
       {sim::DiskTrouble::kNoDescriptors, sim::DiskTrouble::kNoMemory}) {
    node_.disk().FailCalls("/d/2.1.pegasus", want, 100);
    std::vector<IgnoredDirectory> ignored;
    const absl::Status scanned = ScanDataDirectory(files(), "/d", 3, &ignored).status();
    EXPECT_TRUE(absl::IsResourceExhausted(scanned)) << scanned;
    node_.disk().FailCalls("/d/2.1.pegasus", want, 0);
  }
}

// As files that root left. Left out, the server would say that it has no such replica.
TEST_F(ReplicaDirectoryTest, WhatMayNotBeReadLeavesNoReplicaBehind) {
  MakeReplica("/d/2.1.pegasus", Table(2, 8));
  FaultyFiles refusing(files());
  refusing.FailOnce(FaultyFiles::Call::kOpen, 0, [](const std::string& path) {
    return absl::PermissionDeniedError(path + ": Permission denied");
  });
  std::vector<IgnoredDirectory> ignored;
  const absl::Status scanned = ScanDataDirectory(refusing, "/d", 3, &ignored).status();
  EXPECT_TRUE(absl::IsPermissionDenied(scanned)) << scanned;
}

TEST_F(ReplicaDirectoryTest, APartitionInTwoDirectoriesIsRefusedWithBothPathsAndTheirBallots) {
  const std::vector<FoundReplica> found = {{{2, 1}, "/a/2.1.pegasus"},
                                           {{2, 0}, "/a/2.0.pegasus"},
                                           {{2, 1}, "/b/2.1.pegasus"},
                                           {{2, 0}, "/b/2.0.pegasus"}};
  for (const FoundReplica& replica : found)
    ASSERT_TRUE(files().CreateDirectories(replica.path).ok());
  ASSERT_TRUE(StoreInitInfo(files(), "/a/2.1.pegasus", {.ballot = Ballot(5)}).ok());
  ASSERT_TRUE(
      StoreInitInfo(files(), "/b/2.1.pegasus", {.ballot = Ballot(7), .is_learner = true}).ok());
  const absl::Status status = CheckNoDuplicates(files(), found);
  EXPECT_TRUE(absl::IsAlreadyExists(status));
  for (const char* part :
       {"2.1 in /a/2.1.pegasus (ballot 5) and /b/2.1.pegasus (ballot 7, a learner's)",
        "2.0 in /a/2.0.pegasus (", "/b/2.0.pegasus ("})
    EXPECT_NE(status.message().find(part), std::string::npos) << status;
}

// a: the former copy, on a disk that failed; b: says that it replaces it.
class ReplacedDirectoryTest : public ReplicaDirectoryTest {
 protected:
  std::vector<FoundReplica> Found() {
    std::vector<IgnoredDirectory> ignored;
    std::vector<FoundReplica> found;
    for (const char* disk : {"/a", "/b", "/c"}) {
      const auto here = ScanDataDirectory(files(), disk, found.size(), &ignored);
      if (here.ok()) found.insert(found.end(), here->begin(), here->end());
    }
    EXPECT_TRUE(ignored.empty());
    return found;
  }
  void MakeCopy(const std::string& disk, InitInfo info, std::vector<std::string> replaces) {
    const std::string path = disk + "/2.1.pegasus";
    MakeReplica(path, Table(2, 8));
    ASSERT_TRUE(StoreInitInfo(files(), path, info).ok());
    ASSERT_TRUE(NoteReplaced(files(), path, replaces).ok());
  }
  // Which is loaded; empty: a start is refused.
  std::string Loaded() {
    std::vector<FoundReplica> found = Found();
    const size_t all = found.size();
    const auto replaced = TakeReplaced(files(), &found);
    EXPECT_TRUE(replaced.ok()) << replaced.status();
    EXPECT_EQ(replaced->size() + found.size(), all);
    if (!CheckNoDuplicates(files(), found).ok()) return "";
    return found.at(0).path;
  }
};

TEST_F(ReplacedDirectoryTest, TheOneThatReplacesTheOthersIsLoaded) {
  MakeCopy("/a", {.ballot = Ballot(5)}, {});
  MakeCopy("/b", {.ballot = Ballot(7)}, {"/a/2.1.pegasus", "/c/2.1.pegasus"});
  EXPECT_EQ(Loaded(), "/b/2.1.pegasus");
  MakeCopy("/c", {.ballot = Ballot(6)}, {});
  EXPECT_EQ(Loaded(), "/b/2.1.pegasus");
}

// Taken for one of unknown age it would give way to the older one, with all it acknowledged.
TEST_F(ReplacedDirectoryTest, AWantOfDescriptorsSaysNothingOfACopysAge) {
  MakeCopy("/a", {.ballot = Ballot(5)}, {});
  MakeCopy("/b", {.ballot = Ballot(7)}, {"/a/2.1.pegasus"});
  std::vector<FoundReplica> found = Found();
  node_.disk().FailCalls("/b/2.1.pegasus", sim::DiskTrouble::kNoDescriptors, 100);
  const absl::Status taken = TakeReplaced(files(), &found).status();
  EXPECT_TRUE(absl::IsResourceExhausted(taken)) << taken;
  node_.disk().FailCalls("", sim::DiskTrouble::kNoDescriptors, 0);
  EXPECT_EQ(Loaded(), "/b/2.1.pegasus");
}

TEST_F(ReplacedDirectoryTest, OneThatNeverBecameAMemberGivesWay) {
  MakeCopy("/a", {.ballot = Ballot(5)}, {});
  MakeCopy("/b", {.ballot = Ballot(7), .is_learner = true}, {"/a/2.1.pegasus"});
  EXPECT_EQ(Loaded(), "/a/2.1.pegasus");
  ASSERT_TRUE(StoreInitInfo(files(), "/b/2.1.pegasus", {}).ok());  // just made
  EXPECT_EQ(Loaded(), "/a/2.1.pegasus");
  ASSERT_TRUE(WriteFileDurably(files(), "/a/2.1.pegasus/.init-info", "rot").ok());
  EXPECT_EQ(Loaded(), "/b/2.1.pegasus") << "the other can't be read";
}

TEST_F(ReplacedDirectoryTest, WhoNamesEachOtherOrNotAllIsAPersonsToJudge) {
  MakeCopy("/a", {.ballot = Ballot(5)}, {"/b/2.1.pegasus"});
  MakeCopy("/b", {.ballot = Ballot(7)}, {"/a/2.1.pegasus"});
  EXPECT_EQ(Loaded(), "");
  ASSERT_TRUE(ForgetReplaced(files(), "/a/2.1.pegasus", "/b/2.1.pegasus").ok());
  EXPECT_EQ(Loaded(), "/b/2.1.pegasus");
  MakeCopy("/c", {.ballot = Ballot(9)}, {"/a/2.1.pegasus"});
  EXPECT_EQ(Loaded(), "");
}

TEST_F(ReplicaDirectoryTest, PlacementPrefersFewestOfTheTableThenFewestThenOrder) {
  EXPECT_EQ(ChooseDataDirectory({{true, 9, 0}, {true, 1, 1}}), 0u);
  EXPECT_EQ(ChooseDataDirectory({{true, 9, 1}, {true, 3, 1}}), 1u);
  EXPECT_EQ(ChooseDataDirectory({{true, 3, 1}, {true, 3, 1}}), 0u);
  EXPECT_EQ(ChooseDataDirectory({{false, 0, 0}, {true, 3, 1}}), 1u);
  EXPECT_EQ(ChooseDataDirectory({{false, 0, 0}}), std::nullopt);
}

TEST_F(ReplicaDirectoryTest, ADiskThatFailedIsTheLastChoice) {
  EXPECT_EQ(ChooseDataDirectory({{.is_suspicious = true}, {.replicas = 50}}), 1u);
  EXPECT_EQ(ChooseDataDirectory({{.is_suspicious = true}, {.usable = false}}), 0u);
}

TEST_F(ReplicaDirectoryTest, ADirectoryIsToBlameForWhatAnotherTryWouldMeetAgain) {
  for (const absl::Status& status :
       {absl::DataLossError("a"), absl::NotFoundError("a"), absl::InvalidArgumentError("a"),
        absl::FailedPreconditionError("a"), absl::UnimplementedError("a")})
    EXPECT_TRUE(IsDamage(status)) << status;
  for (const absl::Status& status :
       {absl::OkStatus(), absl::UnavailableError("a"), absl::ResourceExhaustedError("a"),
        absl::PermissionDeniedError("a"), absl::InternalError("an I/O error")})
    EXPECT_FALSE(IsDamage(status)) << status;
}

TEST_F(ReplicaDirectoryTest, SettingAsideNamesTheMomentAndSurvivesAPowerCut) {
  MakeReplica("/d/2.1.pegasus", Table(2, 8));
  const auto target = SetDirectoryAside(files(), env_.clock(), "/d/2.1.pegasus", SetAside::kFailed);
  ASSERT_TRUE(target.ok()) << target.status();
  EXPECT_EQ(*target, "/d/2.1.pegasus." + std::to_string(env_.clock().WallMicros()) + ".err");
  EXPECT_FALSE(ParseReplicaDirectoryName(BaseName(*target)).has_value());
  EXPECT_FALSE(Exists(files(), "/d/2.1.pegasus"));
}

TEST_F(ReplicaDirectoryTest, SettingAsideNamesTheMomentThatTheClusterAgreesOn) {
  const int64_t agreed = env_.clock().WallMicros() - 10'000'000;  // this machine's runs ahead
  env_.clock().agreed().Agree(agreed, env_.clock().Now());
  MakeReplica("/d/2.1.pegasus", Table(2, 8));
  ASSERT_TRUE(files().CreateDirectories("/d/2.1.pegasus/data").ok());
  const auto data =
      SetDirectoryAside(files(), env_.clock(), "/d/2.1.pegasus/data", SetAside::kDiscarded);
  ASSERT_TRUE(data.ok()) << data.status();
  EXPECT_EQ(*data, absl::StrCat("/d/2.1.pegasus/data.", agreed, ".discarded"));
  const auto replica =
      SetDirectoryAside(files(), env_.clock(), "/d/2.1.pegasus", SetAside::kGarbage);
  ASSERT_TRUE(replica.ok()) << replica.status();
  EXPECT_EQ(*replica, absl::StrCat("/d/2.1.pegasus.", agreed, ".gar"));
}

TEST_F(ReplicaDirectoryTest, ADataDirectoryBelongsToOneServer) {
  const Endpoint other = *Endpoint::Parse("127.0.0.1:34802");
  ASSERT_TRUE(DataDirectoryClaim::Claim(files(), "/d/reps", self_).ok());
  const absl::Status refused = DataDirectoryClaim::Claim(files(), "/d/reps", other).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << refused;
  EXPECT_NE(refused.message().find("127.0.0.1:34801"), std::string::npos) << refused;
  EXPECT_TRUE(DataDirectoryClaim::Claim(files(), "/d/reps", self_).ok());
}

TEST_F(ReplicaDirectoryTest, ADamagedOwnersNameIsKeptAsideAndWrittenAnew) {
  ASSERT_TRUE(DataDirectoryClaim::Claim(files(), "/d/reps", self_).ok());
  const std::string path = JoinPath("/d/reps", kDataDirectoryOwnerName);
  std::string damaged = *ReadFile(files(), path);
  damaged[2] ^= 1;  // an address, but another
  ASSERT_TRUE(WriteFileDurably(files(), path, damaged).ok());
  EXPECT_TRUE(DataDirectoryClaim::Claim(files(), "/d/reps", self_).ok());
  EXPECT_EQ(*ReadFile(files(), path + ".damaged"), damaged);
  EXPECT_FALSE(
      DataDirectoryClaim::Claim(files(), "/d/reps", *Endpoint::Parse("127.0.0.1:34802")).ok());
}

TEST_F(ReplicaDirectoryTest, ARunningServersDirectoryIsLocked) {
  const auto held = DataDirectoryClaim::Claim(files(), "/d/reps", self_);
  ASSERT_TRUE(held.ok()) << held.status();
  EXPECT_FALSE(DataDirectoryClaim::Claim(files(), "/d/reps", self_).ok());
}

TEST_F(ReplicaDirectoryTest, AFullDisksDirectoryIsOpenedWithoutItsOwnersName) {
  ASSERT_TRUE(files().CreateDirectories("/d/reps").ok());
  ASSERT_TRUE(WriteFileDurably(files(), "/d/reps/.arion-lock", "").ok());
  node_.disk().SetFreeBytes(0);
  const auto held = DataDirectoryClaim::Claim(files(), "/d/reps", self_);
  ASSERT_TRUE(held.ok()) << held.status();
  EXPECT_FALSE(Exists(files(), JoinPath("/d/reps", kDataDirectoryOwnerName)));
}

TEST_F(ReplicaDirectoryTest, EncryptedDataIsRefused) {
  ASSERT_TRUE(files().CreateDirectories("/d/reps").ok());
  ASSERT_TRUE(WriteFileDurably(files(), "/d/reps/.kms-info", "{}").ok());
  EXPECT_TRUE(
      absl::IsFailedPrecondition(DataDirectoryClaim::Claim(files(), "/d/reps", self_).status()));
}

}  // namespace
}  // namespace arion
