// SPDX-License-Identifier: Apache-2.0
#include "legacy/shared_log_removal.h"
#include "env/file_system.h"

#include <gtest/gtest.h>

#include "sim/sim_environment.h"
#include "sim/sim_world.h"

namespace arion {
namespace {

TEST(SharedLogRemovalTest, ANameThatCanNotBeLookedForIsNotTakenForFree) {
  sim::SimWorld world(1);
  sim::SimNode& node = world.AddNode("a");
  FileSystem& files = node.Start().files();
  ASSERT_TRUE(files.CreateDirectories("/slog").ok());
  ASSERT_TRUE(WriteFileDurably(files, "/slog/log.1.0", "new").ok());
  ASSERT_TRUE(WriteFileDurably(files, "/slog/log.1.0.set-aside", "old").ok());
  size_t done = 0;
  node.disk().FailStats(1);
  EXPECT_FALSE(SetSharedLogFilesAside(files, "/slog", {"log.1.0"}, &done).ok());
  EXPECT_EQ(done, 0u);
  EXPECT_EQ(ReadFile(files, "/slog/log.1.0.set-aside").value_or(""), "old");
  EXPECT_TRUE(SetSharedLogFilesAside(files, "/slog", {"log.1.0"}, &done).ok());
  EXPECT_EQ(done, 1u);
  EXPECT_EQ(ReadFile(files, "/slog/log.1.0.set-aside.1").value_or(""), "new");
}

}  // namespace
}  // namespace arion
