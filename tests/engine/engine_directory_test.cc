// SPDX-License-Identifier: Apache-2.0
#include "engine/engine_directory.h"

#include <gtest/gtest.h>

#include <string>

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
