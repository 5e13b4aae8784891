// SPDX-License-Identifier: Apache-2.0
#include "wal/set_aside.h"
#include "env/file_system.h"

#include <gtest/gtest.h>

#include <string>

#include "sim/sim_environment.h"
#include "sim/sim_world.h"

namespace arion {
namespace {

class SetAsideTest : public testing::Test {
 protected:
  SetAsideTest() { EXPECT_TRUE(files_.CreateDirectories("/plog").ok()); }
  void Put(const std::string& path, std::string_view content) {
    ASSERT_TRUE(WriteFileDurably(files_, path, content).ok());
  }
  std::string Content(const std::string& path) { return ReadFile(files_, path).value_or("none"); }

  sim::SimWorld world_{1};
  sim::SimNode& node_ = world_.AddNode("a");
  FileSystem& files_ = node_.Start().files();
};

TEST_F(SetAsideTest, NothingIsReplaced) {
  for (const char* content : {"first", "second", "third"}) {
    Put("/plog/log.1.0", content);
    ASSERT_TRUE(RenameToRemoved(files_, "/plog/log.1.0").ok());
    Put("/plog/log.2.5", content);
    ASSERT_TRUE(SaveTail(files_, "/plog/log.2.5", 0, 5).ok());
    ASSERT_TRUE(SaveTail(files_, "/plog/log.2.5", 0, 5).ok()) << "repeatable";
  }
  EXPECT_EQ(Content("/plog/log.1.0.removed"), "first");
  EXPECT_EQ(Content("/plog/log.1.0.removed.1"), "second");
  EXPECT_EQ(Content("/plog/log.1.0.removed.2"), "third");
  EXPECT_EQ(Content("/plog/log.2.5.tail"), "first");
  EXPECT_EQ(Content("/plog/log.2.5.tail.1"), "secon");
  EXPECT_EQ(Content("/plog/log.2.5.tail.2"), "third");
}

TEST_F(SetAsideTest, ANameThatCanNotBeLookedForIsNotTakenForFree) {
  Put("/plog/log.1.0", "new");
  Put("/plog/log.1.0.removed", "old");
  node_.disk().FailStats(1);
  EXPECT_FALSE(RenameToRemoved(files_, "/plog/log.1.0").ok());
  EXPECT_EQ(Content("/plog/log.1.0"), "new");
  EXPECT_EQ(Content("/plog/log.1.0.removed"), "old");

  Put("/plog/log.1.0.tail", "old");
  node_.disk().FailStats(1);
  EXPECT_FALSE(SaveTail(files_, "/plog/log.1.0", 0, 3).ok());
  EXPECT_EQ(Content("/plog/log.1.0.tail"), "old");
}

}  // namespace
}  // namespace arion
