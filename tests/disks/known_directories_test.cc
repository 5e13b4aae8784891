// SPDX-License-Identifier: Apache-2.0
#include "disks/known_directories.h"

#include <gtest/gtest.h>

#include "sim/sim_environment.h"

namespace arion {
namespace {

constexpr char kSlog[] = "/d1/replica/slog";

DirectoryLook Blank(const std::string& path) { return {.path = path, .is_blank = true}; }
DirectoryLook Used(const std::string& path, std::set<std::string> known) {
  return {.path = path, .known = std::move(known)};
}
bool IsNew(const DirectoryLook& blank, std::vector<DirectoryLook> others,
           const std::string& shared_log = "") {
  others.push_back(blank);
  return WhyNotNew(blank, others, shared_log).empty();
}

TEST(KnownDirectories, AnEmptyServersDirectoriesAreNew) {
  EXPECT_TRUE(IsNew(Blank("/2"), {Blank("/1")}));
  EXPECT_FALSE(IsNew(Blank("/2"), {Blank("/1")}, kSlog)) << "it had another life";
}
TEST(KnownDirectories, OneThatAnotherRemembersIsNotNew) {
  EXPECT_FALSE(IsNew(Blank("/2"), {Used("/1", {"/1", "/2"})}));
  EXPECT_TRUE(IsNew(Blank("/3"), {Used("/1", {"/1", "/2"}), Blank("/2")}));
  EXPECT_TRUE(IsNew(Blank("/3"), {Used("/1", {"/1", "/2"})}, kSlog)) << "added during the upgrade";
}
TEST(KnownDirectories, BesideADirectoryThatRemembersNothingNoneIsNew) {
  const DirectoryLook older{.path = "/1"};
  EXPECT_FALSE(IsNew(Blank("/2"), {older}));
  EXPECT_FALSE(IsNew(Blank("/2"), {older, Used("/3", {"/1", "/3"})}));
}

TEST(KnownDirectories, ALookTellsWhatIsThereAndChangesNothing) {
  sim::SimWorld world(1);
  sim::SimNode& node = world.AddNode("a");
  node.Start();
  FileSystem& files = node.environment().files();
  EXPECT_TRUE(LookAtDirectory(files, "/d/reps")->is_blank);
  EXPECT_FALSE(Exists(files, "/d"));
  ASSERT_TRUE(files.CreateDirectories("/d/reps/lost+found").ok());
  EXPECT_TRUE(LookAtDirectory(files, "/d/reps")->is_blank);
  ASSERT_TRUE(files.CreateDirectories("/d/reps/2.1.pegasus.1700000000000000.gar").ok());
  ASSERT_TRUE(files.CreateDirectories("/d/reps/2.2.pegasus").ok());
  DirectoryLook look = *LookAtDirectory(files, "/d/reps");
  EXPECT_FALSE(look.is_blank);
  EXPECT_EQ(look.replicas, std::set<PartitionId>({{2, 2}}));
  EXPECT_EQ(look.set_aside, std::set<PartitionId>({{2, 1}}));
  EXPECT_EQ(look.known, std::nullopt);
  node.environment().RunInPool([&] {
    ASSERT_TRUE(RememberDirectories(files, look, {"/d/reps", "/e/reps"}).ok());
    look = *LookAtDirectory(files, "/d/reps");
  });
  EXPECT_EQ(look.known, (std::set<std::string>{"/d/reps", "/e/reps"}));
}

}  // namespace
}  // namespace arion
