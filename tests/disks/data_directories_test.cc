// SPDX-License-Identifier: Apache-2.0
#include "disks/data_directories.h"
#include "disks/disk_layout.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "disks/app_info_file.h"
#include "disks/init_info.h"
#include "disks/log_place.h"
#include "legacy/shared_log_catalog.h"
#include "sim/sim_environment.h"

namespace arion {
namespace {

constexpr char kFirst[] = "/d1/replica/reps", kSecond[] = "/d2/replica/reps";
const Endpoint kSelf = *Endpoint::Parse("10.0.0.1:34801");

class DataDirectoriesTest : public testing::Test {
 protected:
  DataDirectoriesTest() {
    layout_.data_directories = {{.tag = "ssd1", .path = kFirst}, {.tag = "ssd2", .path = kSecond}};
  }
  // A directory that Open loads.
  void MakeReplica(const std::string& directory, PartitionId pid, InitInfo info = {},
                   std::vector<std::string> replaces = {}) {
    FileSystem& files = env_.files();
    const std::string path = directory + "/" + FormatReplicaDirectoryName(pid, "pegasus");
    const AppInfo table{
        .app_type = "pegasus", .app_name = "t", .app_id = pid.app_id, .partition_count = 8};
    ASSERT_TRUE(files.CreateDirectories(path).ok());
    ASSERT_TRUE(StoreAppInfo(files, path, table).ok());
    ASSERT_TRUE(StoreInitInfo(files, path, info).ok());
    ASSERT_TRUE(NoteReplaced(files, path, replaces).ok());
  }
  DataDirectories& Make(Endpoint server = kSelf) {
    disks_ = std::make_shared<ServerDisks>(ServerDisks{.env = env_, .layout = layout_});
    directories_.emplace(disks_, server);
    return *directories_;
  }
  absl::StatusOr<std::vector<FoundReplica>> Open() { return Make().Open(); }
  // A start that was well, and its end.
  void LivedBefore() {
    ASSERT_TRUE(Open().ok());
    directories_->Remember();
    directories_->Release();
  }
  sim::SimWorld world_{1};
  sim::SimNode& node_ = world_.AddNode("r1");
  sim::SimEnvironment& env_ = node_.Start();
  DiskLayout layout_;
  std::shared_ptr<ServerDisks> disks_;
  std::optional<DataDirectories> directories_;
};

TEST_F(DataDirectoriesTest, ReplicasOfAllDirectoriesAreFoundWithTheirPosition) {
  MakeReplica(kFirst, {2, 0});
  MakeReplica(kSecond, {2, 1});
  const auto found = Open();
  ASSERT_TRUE(found.ok()) << found.status();
  ASSERT_EQ(found->size(), 2u);
  EXPECT_EQ((*found)[0].pid, (PartitionId{2, 0}));
  EXPECT_EQ((*found)[0].data_directory, 0u);
  EXPECT_EQ((*found)[1].pid, (PartitionId{2, 1}));
  EXPECT_EQ((*found)[1].data_directory, 1u);
  EXPECT_EQ(directories_->Usable(), (std::vector<bool>{true, true}));
  EXPECT_EQ(directories_->FirstUsable(), kFirst);
  EXPECT_TRUE(directories_->unreadable_tags().empty());
  EXPECT_TRUE(directories_->not_loaded().unloaded.empty());
  EXPECT_EQ(directories_->not_loaded().disks, CollectionInput::Disks::kAllReadable);
  EXPECT_FALSE(directories_->has_log_home());
}

TEST_F(DataDirectoriesTest, ATagOrPathNamedTwiceIsRefusedBeforeAnythingIsMade) {
  layout_.data_directories[1].tag = "ssd1";
  EXPECT_TRUE(absl::IsInvalidArgument(Open().status()));
  layout_.data_directories[1] = {.tag = "ssd2", .path = kFirst};
  EXPECT_TRUE(absl::IsInvalidArgument(Open().status()));
  layout_.data_directories[1].path = kSecond;
  layout_.log_home_directory = kSecond;
  EXPECT_TRUE(absl::IsInvalidArgument(Open().status())) << "logs would lie among the data";
  EXPECT_FALSE(Exists(env_.files(), kFirst));
}

TEST_F(DataDirectoriesTest, TheClaimsAreHeldUntilReleased) {
  DataDirectories& first = Make();
  ASSERT_TRUE(first.Open().ok());
  DataDirectories second(disks_, kSelf);
  EXPECT_TRUE(absl::IsFailedPrecondition(second.Open().status()));
  first.Release();
  DataDirectories third(disks_, kSelf);
  EXPECT_TRUE(third.Open().ok());
}

TEST_F(DataDirectoriesTest, AnotherServersDirectoryEndsTheStart) {
  LivedBefore();
  EXPECT_TRUE(absl::IsFailedPrecondition(Make(*Endpoint::Parse("10.0.0.2:34801")).Open().status()));
}

TEST_F(DataDirectoriesTest, ABrokenDiskIsLeftOutAndWhatWasSeenOfItIsNotTakenForGone) {
  MakeReplica(kFirst, {2, 0});
  MakeReplica(kSecond, {2, 1});
  LivedBefore();
  // It showed what it holds, and then hung.
  auto asks = std::make_shared<int>(0);
  layout_.ask_disks = [asks](std::vector<std::function<void()>> jobs) {
    const bool hangs = ++*asks > 1;
    for (size_t i = 0; i < jobs.size(); ++i)
      if (i == 0 || !hangs) jobs[i]();
    return std::vector<bool>{true, !hangs};
  };
  const auto found = Open();
  ASSERT_TRUE(found.ok()) << found.status();
  ASSERT_EQ(found->size(), 1u);
  EXPECT_EQ(directories_->Usable(), (std::vector<bool>{true, false}));
  EXPECT_EQ(directories_->unreadable_tags(), std::vector<std::string>{"ssd2"});
  EXPECT_EQ(directories_->not_loaded().unloaded, (std::set<PartitionId>{{2, 1}}));
  EXPECT_EQ(directories_->not_loaded().disks, CollectionInput::Disks::kSomeMissing);
}

TEST_F(DataDirectoriesTest, TheFirstUsableIsTheFirstThatAnswers) {
  LivedBefore();
  layout_.data_directories[0].answers = false;
  // Of the one that is asked.
  layout_.ask_disks = [](std::vector<std::function<void()>> jobs) {
    EXPECT_LE(jobs.size(), 1u) << "a disk that did not answer before is not asked again";
    for (auto& job : jobs) job();
    return std::vector<bool>(jobs.size(), true);
  };
  ASSERT_TRUE(Open().ok());
  EXPECT_EQ(directories_->FirstUsable(), kSecond);
}

TEST_F(DataDirectoriesTest, WithoutAnyUsableDirectoryTheStartEndsWithTheFirstReason) {
  for (DataDirectory& directory : layout_.data_directories) directory.answers = false;
  const absl::Status status = Open().status();
  EXPECT_TRUE(absl::IsFailedPrecondition(status));
  EXPECT_NE(status.message().find(kFirst), absl::string_view::npos) << status;
}

TEST_F(DataDirectoriesTest, AnEmptyDirectoryThatWasInUseIsNotFilled) {
  MakeReplica(kFirst, {2, 0});
  MakeReplica(kSecond, {2, 1});
  LivedBefore();
  ASSERT_TRUE(env_.files().RemoveAll(kSecond).ok());  // its disk is not mounted
  ASSERT_TRUE(Open().ok());
  EXPECT_EQ(directories_->unreadable_tags(), std::vector<std::string>{"ssd2"});
  EXPECT_FALSE(Exists(env_.files(), kSecond));
  directories_->Remember();
  directories_->Release();
  ASSERT_TRUE(Open().ok());
  EXPECT_FALSE(directories_->Usable()[1]) << "remembered although it was left out";
  layout_.new_data_directories = {"ssd2"};
  directories_->Release();
  ASSERT_TRUE(Open().ok());
  EXPECT_TRUE(directories_->Usable()[1]) << "the operator says that it is new";
}

TEST_F(DataDirectoriesTest, APartitionThatLiesTwiceEndsTheStart) {
  MakeReplica(kFirst, {2, 0});
  MakeReplica(kSecond, {2, 0});
  EXPECT_TRUE(absl::IsAlreadyExists(Open().status()));
}

TEST_F(DataDirectoriesTest, OfTwoTheReplacementIsLoadedAndTheOtherToBeSetAside) {
  const std::string old = std::string(kFirst) + "/2.0.pegasus";
  MakeReplica(kFirst, {2, 0}, {.ballot = Ballot(3)});
  MakeReplica(kSecond, {2, 0}, {.ballot = Ballot(5)}, {old});
  const auto found = Open();
  ASSERT_TRUE(found.ok()) << found.status();
  ASSERT_EQ(found->size(), 1u);
  EXPECT_EQ(found->front().data_directory, 1u);
  ASSERT_EQ(directories_->replaced().size(), 1u);
  EXPECT_EQ(directories_->replaced()[0].path, old);
  EXPECT_TRUE(directories_->not_loaded().set_aside.contains({2, 0}));
}

TEST_F(DataDirectoriesTest, WhatCanNotBeLoadedIsNamedAndStays) {
  const std::string bare = std::string(kFirst) + "/3.0.pegasus";
  ASSERT_TRUE(env_.files().CreateDirectories(bare).ok());
  const auto found = Open();
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_TRUE(found->empty());
  EXPECT_EQ(directories_->ignored(), std::vector<std::string>{bare});
  EXPECT_TRUE(directories_->not_loaded().unloaded.contains({3, 0}));
  EXPECT_TRUE(Exists(env_.files(), bare));
}

TEST_F(DataDirectoriesTest, TheLogHomeIsClaimedToo) {
  layout_.log_home_directory = "/logs";
  ASSERT_TRUE(Open().ok());
  EXPECT_TRUE(directories_->has_log_home());
  DataDirectories second(disks_, kSelf);
  EXPECT_TRUE(absl::IsFailedPrecondition(second.Open().status()));
}

TEST_F(DataDirectoriesTest, AReplicaWhoseLogLiesElsewhereEndsTheStart) {
  MakeReplica(kFirst, {2, 0});
  const std::string path = std::string(kFirst) + "/2.0.pegasus";
  ASSERT_TRUE(PrepareLogPlace(env_.files(), env_.clock(), "", path, path).ok());
  layout_.log_home_directory = "/logs";
  EXPECT_TRUE(absl::IsFailedPrecondition(Open().status())) << Open().status();
}

TEST_F(DataDirectoriesTest, WhereNoSharedLogIsTheCatalogIsEmpty) {
  layout_.shared_log_directories = {"/d1/replica/slog"};
  ASSERT_TRUE(env_.files().CreateDirectories("/d1/replica").ok());
  const auto found = Open();
  ASSERT_TRUE(found.ok()) << found.status();
  const auto catalog = directories_->FindOldSharedLog(*found);
  ASSERT_TRUE(catalog.ok()) << catalog.status();
  EXPECT_EQ(catalog->directory, "");
}

// To start without it would lose what a replica has nowhere else.
TEST_F(DataDirectoriesTest, ASharedLogOutOfReachHoldsUpTheStartWhileAReplicaMayNeedIt) {
  layout_.shared_log_directories = {"/d2/replica/slog"};
  MakeReplica(kFirst, {2, 0}, {.offset_in_shared_log = 7});
  layout_.data_directories[1].answers = false;
  const auto found = Open();
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_TRUE(absl::IsFailedPrecondition(directories_->FindOldSharedLog(*found).status()));
  EXPECT_TRUE(directories_->FindOldSharedLog({}).ok()) << "nobody needs it";
}

TEST_F(DataDirectoriesTest, AReplicaThatThisVersionNeverOpenedMayNeedItWhateverItsOffset) {
  layout_.shared_log_directories = {"/d2/replica/slog"};
  MakeReplica(kFirst, {2, 0}, {.offset_in_shared_log = 0});
  layout_.data_directories[1].answers = false;
  const auto found = Open();
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_TRUE(absl::IsFailedPrecondition(directories_->FindOldSharedLog(*found).status()));
}

}  // namespace
}  // namespace arion
