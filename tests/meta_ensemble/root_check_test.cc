// SPDX-License-Identifier: Apache-2.0
#include "meta_ensemble/root_check.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "tests/sim_zookeeper/session_on_node.h"

namespace arion {
namespace {

class RootCheckTest : public ::testing::Test {
 protected:
  RootCheckTest() { server_.Start(); }
  ~RootCheckTest() override { server_.Crash(); }
  void Make(const std::string& path) { ASSERT_TRUE(zookeeper_.Create(path, "").ok()) << path; }
  absl::Status Check(const std::string& root, const std::string& lock_root) {
    std::optional<absl::Status> checked;
    server_.On([&] {
      CheckRoot(*server_.session, root, lock_root,
                [&](const absl::Status& status) { checked = status; });
    });
    EXPECT_TRUE(world_.RunUntil([&] { return checked.has_value(); }, absl::Minutes(1)));
    return checked.value_or(absl::UnknownError("no answer"));
  }
  // Refused, with a text that names that node.
  void ExpectForeign(const absl::Status& status, const std::string& node) {
    EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
    EXPECT_NE(status.message().find("node " + node + " "), absl::string_view::npos) << status;
  }

  sim::SimWorld world_{3};
  sim::SimZooKeeper zookeeper_{world_};
  sim::SessionOnNode server_{world_, zookeeper_, "m"};
};

TEST_F(RootCheckTest, ARootThatIsNotThereOrHasOnlyALockIsANewCluster) {
  EXPECT_TRUE(Check("", "/lock").ok());
  EXPECT_TRUE(Check("/p/c", "/p/c/lock").ok());
  for (const char* path : {"/p", "/p/c", "/p/c/lock", "/p/c/backup", "/p/c/bulk_load"}) Make(path);
  EXPECT_TRUE(Check("/p/c", "/p/c/lock").ok());
  EXPECT_TRUE(Check("/p/c", "/p/c/lock/below").ok());
  Make("/p/c/dsn.meta.server.leader");
  ExpectForeign(Check("/p/c", "/p/c"), "/p/c/lock");
  ASSERT_TRUE(zookeeper_.Remove("/p/c/lock").ok());
  EXPECT_TRUE(Check("/p/c", "/p/c").ok()) << "as in Pegasus' smallest configuration";
}

TEST_F(RootCheckTest, AnotherSystemsRootIsRefusedByTheNodeThatIsIts) {
  Make("/kafka");
  Make("/kafka/brokers");
  ExpectForeign(Check("/kafka", "/kafka/lock"), "/kafka/brokers");
  ExpectForeign(Check("", "/lock"), "/kafka");
  // Whoever means it says so.
  Make("/kafka/apps");
  EXPECT_TRUE(Check("/kafka", "/kafka/lock").ok());
}

TEST_F(RootCheckTest, OnceAMetaServerWasThereOthersNodesDoNotMatter) {
  for (const char* path : {"/c", "/c/arion", "/c/notes"}) Make(path);
  EXPECT_TRUE(Check("/c", "/c/lock").ok());
}

TEST_F(RootCheckTest, WhatIsNoTableBelowAppsIsNamed) {
  for (const char* path : {"/c", "/c/apps", "/c/apps/1", "/c/apps/20"}) Make(path);
  EXPECT_TRUE(Check("/c", "/lock").ok());
  for (const char* name : {"spark", "07", "0", "-3", "1 ", "99999999999"}) {
    const std::string path = std::string("/c/apps/") + name;
    Make(path);
    ExpectForeign(Check("/c", "/lock"), path);
    ASSERT_TRUE(zookeeper_.Remove(path).ok());
  }
}

TEST_F(RootCheckTest, WhatMayNotBeReadIsNamed) {
  for (const char* path : {"/c", "/c/apps"}) Make(path);
  zookeeper_.Forbid("/c/apps");
  const absl::Status checked = Check("/c", "/lock");
  EXPECT_TRUE(absl::IsPermissionDenied(checked)) << checked;
  EXPECT_NE(checked.message().find("/c/apps"), absl::string_view::npos) << checked;
}

}  // namespace
}  // namespace arion
