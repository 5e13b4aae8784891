// SPDX-License-Identifier: Apache-2.0
#include "engine/engine_directory.h"

#include <gtest/gtest.h>

#include <absl/strings/str_cat.h>

#include <string>
#include <vector>

#include "sim/sim_environment.h"
#include "tests/engine/faulty_files.h"
#include "tests/engine/test_environment.h"

namespace arion {
namespace {

// The next attempt of an engine that took nothing meanwhile stands at the same decree.
TEST(EngineDirectoryTest, ACheckpointWhoseNameCouldNotBeSyncedIsMadeAgain) {
  TestEnvironment env;
  FaultyFiles files(env.files());
  EngineDirectory directory(files, env.root() + "/data", {});
  ASSERT_TRUE(directory.Prepare().ok());
  const auto add = [&](std::string_view content, int64_t syncs_before) -> absl::Status {
    ASSIGN_OR_RETURN(const std::string temporary, directory.MakeRoomForCheckpoint());
    RETURN_IF_ERROR(files.CreateDirectories(temporary));
    RETURN_IF_ERROR(WriteFileDurably(files, JoinPath(temporary, "f"), content));
    files.FailOnce(FaultyFiles::Call::kSync, syncs_before,
                   [](const std::string&) { return absl::ResourceExhaustedError("no memory"); });
    return directory.AddCheckpoint(temporary, Decree(7));
  };
  EXPECT_TRUE(absl::IsResourceExhausted(add("first", 1))) << "its name's";
  EXPECT_EQ(directory.newest(), Decree(0));
  const absl::Status again = add("second", 100);
  EXPECT_TRUE(again.ok()) << again;
  EXPECT_EQ(directory.newest(), Decree(7));
  std::shared_ptr<void> hold;
  const auto held = directory.HoldNewest(&hold);
  ASSERT_TRUE(held.ok()) << held.status();
  EXPECT_EQ(ReadFile(files, JoinPath(held->directory, "f")).value_or(""), "second");
}

// ---- a checkpoint that takes the place of another

class ReplacedCheckpointTest : public ::testing::Test {
 protected:
  absl::Status Make(EngineDirectory& directory, int64_t decree, const std::string& content,
                    bool replaces) {
    ASSIGN_OR_RETURN(const std::string temporary, directory.MakeRoomForCheckpoint());
    RETURN_IF_ERROR(files().CreateDirectories(temporary));
    RETURN_IF_ERROR(WriteFileDurably(files(), JoinPath(temporary, "f"), content));
    if (!replaces) return directory.AddCheckpoint(temporary, Decree(decree));
    return directory.ReplaceCheckpoints(temporary, Decree(decree)).status();
  }
  std::string Newest(EngineDirectory& directory) {
    std::shared_ptr<void> hold;
    const auto held = directory.HoldNewest(&hold);
    if (!held.ok()) return held.status().ToString();
    return ReadFile(files(), JoinPath(held->directory, "f")).value_or("no file");
  }
  FileSystem& files() { return node_.environment().files(); }

  sim::SimWorld world_{7};
  sim::SimNode& node_ = world_.AddNode("r");
};

TEST_F(ReplacedCheckpointTest, ItIsTheOnlyOneThen) {
  node_.Start().RunInPool([&] {
    EngineDirectory directory(files(), "/d/data", {});
    ASSERT_TRUE(directory.Prepare().ok());
    ASSERT_TRUE(Make(directory, 5, "five", false).ok());
    ASSERT_TRUE(Make(directory, 7, "seven", false).ok());
    ASSERT_TRUE(Make(directory, 7, "seven, compacted", true).ok());
    EXPECT_EQ(Newest(directory), "seven, compacted");
    EXPECT_EQ(files().List("/d/data").value(), std::vector<std::string>{"checkpoint.7"});
  });
}

TEST_F(ReplacedCheckpointTest, OneThatIsHeldStays) {
  node_.Start().RunInPool([&] {
    EngineDirectory directory(files(), "/d/data", {});
    ASSERT_TRUE(directory.Prepare().ok());
    ASSERT_TRUE(Make(directory, 7, "seven", false).ok());
    std::shared_ptr<void> hold;
    ASSERT_TRUE(directory.HoldNewest(&hold).ok());
    ASSERT_TRUE(Make(directory, 7, "seven, compacted", true).ok());
    EXPECT_EQ(Newest(directory), "seven") << "somebody copies it";
    hold.reset();
    ASSERT_TRUE(Make(directory, 7, "seven, compacted", true).ok());
    EXPECT_EQ(Newest(directory), "seven, compacted");
  });
}

TEST(EngineDirectoryTest, AReplacementThatIsRefusedLeavesTheFormerOne) {
  TestEnvironment env;
  FaultyFiles files(env.files());
  EngineDirectory directory(files, env.root() + "/data", {});
  ASSERT_TRUE(directory.Prepare().ok());
  const auto make = [&](std::string_view content) -> absl::StatusOr<std::string> {
    ASSIGN_OR_RETURN(std::string temporary, directory.MakeRoomForCheckpoint());
    RETURN_IF_ERROR(files.CreateDirectories(temporary));
    RETURN_IF_ERROR(WriteFileDurably(files, JoinPath(temporary, "f"), content));
    return temporary;
  };
  const auto newest = [&] {
    std::shared_ptr<void> hold;
    const auto held = directory.HoldNewest(&hold);
    return held.ok() ? ReadFile(files, JoinPath(held->directory, "f")).value_or("") : "none";
  };
  ASSERT_TRUE(directory.AddCheckpoint(make("0").value(), Decree(7)).ok());
  int refused = 0;
  for (int64_t before = 0;; ++before) {
    const std::string former = newest(), later = make(std::to_string(before + 1)).value();
    files.FailOnce(FaultyFiles::Call::kName, before,
                   [](const std::string&) { return absl::ResourceExhaustedError("no memory"); });
    const absl::StatusOr<bool> replaced = directory.ReplaceCheckpoints(later, Decree(7));
    if (replaced.ok()) break;
    ++refused;
    // Behind the names it is the later one.
    EXPECT_TRUE(newest() == former || newest() == std::to_string(before + 1)) << newest();
    EXPECT_EQ(directory.newest(), Decree(7));
  }
  EXPECT_GE(refused, 2);
  EXPECT_EQ(newest(), std::to_string(refused + 1));
}

// engine_directory/D2, wherever the power is cut.
TEST_F(ReplacedCheckpointTest, ThereIsAlwaysOneOfThatDecree) {
  int64_t changes = 0, former = 0, later = 0;
  for (bool died = true; died; ++changes) {
    for (const sim::CrashMode mode : {sim::CrashMode::kProcess, sim::CrashMode::kPowerNone,
                                      sim::CrashMode::kPowerPrefix, sim::CrashMode::kPowerRandom}) {
      SCOPED_TRACE(absl::StrCat("after ", changes, " changes, mode ", static_cast<int>(mode)));
      node_.Start().RunInPool([&] {
        EngineDirectory directory(files(), "/d/data", {});
        ASSERT_TRUE(directory.Prepare().ok());
        ASSERT_TRUE(Make(directory, 5, "five", false).ok());
        ASSERT_TRUE(Make(directory, 7, "seven", false).ok());
        died = false;
        node_.disk().DieAfterChanges(changes, [&died] { died = true; });
        Make(directory, 7, "seven, compacted", true).IgnoreError();
        node_.disk().DieAfterChanges(-1, nullptr);
      });
      node_.Crash(mode);
      node_.disk().Revive();
      node_.Start().RunInPool([&] {
        EngineDirectory directory(files(), "/d/data", {});
        ASSERT_TRUE(directory.Prepare().ok());
        EXPECT_EQ(directory.newest(), Decree(7));
        const std::string newest = Newest(directory);
        ++(newest == "seven" ? former : later);
        EXPECT_TRUE(newest == "seven" || newest == "seven, compacted") << newest;
        const std::vector<std::string> names = files().List("/d/data").value();
        for (const std::string& name : names)
          EXPECT_TRUE(name == "checkpoint.5" || name == "checkpoint.7") << name;
        ASSERT_TRUE(files().RemoveAll("/d/data").ok());
      });
      node_.Crash(sim::CrashMode::kProcess);
      node_.disk().MakeDurable();
    }
  }
  EXPECT_GT(changes, 5);
  EXPECT_GT(former, 0);
  EXPECT_GT(later, 0);
}

// A learner's copy of a whole replica, whose process ended in the midst of it (seed 138000014).
TEST(EngineDirectoryTest, AnInstallThatNobodyEndedIsTakenAway) {
  TestEnvironment env;
  const std::string path = env.root() + "/data";
  EngineDirectory former(env.files(), path, {});
  const absl::Status cut =
      former.InstallContent(Decree(7), [&](const std::string& into) -> absl::Status {
        RETURN_IF_ERROR(WriteFileDurably(env.files(), JoinPath(into, "f"), "much"));
        return absl::PermissionDeniedError("the next file");
      });
  EXPECT_FALSE(cut.ok());
  EngineDirectory directory(env.files(), path, {});
  ASSERT_TRUE(directory.Prepare().ok());
  EXPECT_TRUE(env.files().List(path).value().empty());
}

}  // namespace
}  // namespace arion
