// SPDX-License-Identifier: Apache-2.0
#include "meta_ensemble/state_tree.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/sim_environment.h"
#include "sim_zookeeper/sim_zookeeper.h"

namespace arion {
namespace {

using Kind = ZooKeeperStep::Kind;
using ::testing::ElementsAre;
using ::testing::Pair;

TEST(StepsOf, ParentsAreMadeFirstAndGoLast) {
  std::set<std::string> nodes;
  const auto made = StepsOf("/r",
                            {{"/apps/2/duplication/7/0", "5"},
                             {"/apps/2", "table"},
                             {"/apps/2/0", "partition"},
                             {"/apps/2/duplication/7", "d"}},
                            &nodes);
  EXPECT_THAT(made, ElementsAre(ZooKeeperStep{Kind::kCreate, "/r/apps", ""},
                                ZooKeeperStep{Kind::kCreate, "/r/apps/2", "table"},
                                ZooKeeperStep{Kind::kCreate, "/r/apps/2/0", "partition"},
                                ZooKeeperStep{Kind::kCreate, "/r/apps/2/duplication", ""},
                                ZooKeeperStep{Kind::kCreate, "/r/apps/2/duplication/7", "d"},
                                ZooKeeperStep{Kind::kCreate, "/r/apps/2/duplication/7/0", "5"}));
  const auto removed = StepsOf("/r",
                               {{"/apps/2/duplication/7", std::nullopt},
                                {"/apps/2/duplication/7/0", std::nullopt},
                                {"/apps/2/duplication/8", std::nullopt}},
                               &nodes);
  EXPECT_THAT(removed, ElementsAre(ZooKeeperStep{Kind::kRemove, "/r/apps/2/duplication/7/0", ""},
                                   ZooKeeperStep{Kind::kRemove, "/r/apps/2/duplication/7", ""}))
      << "and what is not there is not removed";
}

TEST(StepsOf, WhatIsThereIsSetAndTheLastChangeHolds) {
  std::set<std::string> nodes = {"/arion", "/arion/function_level"};
  EXPECT_THAT(
      StepsOf("", {{"/arion/function_level", "steady"}, {"/arion/function_level", "lively"}},
              &nodes),
      ElementsAre(ZooKeeperStep{Kind::kSet, "/arion/function_level", "lively"}));
}

class StoredTreeTest : public ::testing::Test {
 protected:
  StoredTreeTest() {
    env_.RunOn(strand_, [&] {
      session_ = zookeeper_.ClientOf(node_).Connect(strand_, [&](auto state) {
        is_connected_ = state == ZooKeeperSession::State::kConnected;
      });
    });
    EXPECT_TRUE(world_.RunUntil([&] { return is_connected_; }, absl::Seconds(5)));
  }
  ~StoredTreeTest() override {
    node_.Crash(sim::CrashMode::kProcess);
    session_.reset();
  }
  void Put(const std::string& path, const std::string& data) {
    ASSERT_TRUE(zookeeper_.Create(path, data).ok()) << path;
  }
  absl::StatusOr<StoredTree> Read(const std::string& root) {
    std::optional<absl::StatusOr<StoredTree>> read;
    env_.RunOn(strand_, [&] {
      ReadStoredTree(*session_, root,
                     [&](absl::StatusOr<StoredTree> tree) { read = std::move(tree); });
    });
    EXPECT_TRUE(world_.RunUntil([&] { return read.has_value(); }, absl::Minutes(1)));
    return *std::move(read);
  }

  sim::SimWorld world_{3};
  sim::SimZooKeeper zookeeper_{world_};
  sim::SimNode& node_ = world_.AddNode("m");
  sim::SimEnvironment& env_ = node_.Start();
  StrandPtr strand_ = env_.NewStrand("meta");
  bool is_connected_ = false;
  std::unique_ptr<ZooKeeperSession> session_;
};

TEST_F(StoredTreeTest, NothingIsAnEmptyState) {
  EXPECT_TRUE(Read("")->entries.empty());
  EXPECT_TRUE(Read("/pegasus/none")->nodes.empty());
}

TEST_F(StoredTreeTest, KeysAreReadAndFoldersAreNone) {
  for (const auto& [path, data] :
       std::vector<std::pair<std::string, std::string>>{{"/r", ""},
                                                        {"/r/lock", ""},
                                                        {"/r/backup", "foreign"},
                                                        {"/r/apps", ""},
                                                        {"/r/apps/2", "table"},
                                                        {"/r/apps/2/0", "p0"},
                                                        {"/r/apps/2/1", "p1"},
                                                        {"/r/apps/2/duplication", ""},
                                                        {"/r/apps/2/duplication/9", "d"},
                                                        {"/r/apps/2/duplication/9/0", "17"},
                                                        {"/r/apps/3", "empty"},
                                                        {"/r/apps/3/duplication", ""},
                                                        {"/r/arion", ""},
                                                        {"/r/arion/servers", ""},
                                                        {"/r/arion/servers/10.0.0.1:34801", ""}})
    Put(path, data);
  const absl::StatusOr<StoredTree> tree = Read("/r");
  ASSERT_TRUE(tree.ok()) << tree.status();
  EXPECT_THAT(
      tree->entries,
      ElementsAre(Pair("/apps/2", "table"), Pair("/apps/2/0", "p0"), Pair("/apps/2/1", "p1"),
                  Pair("/apps/2/duplication/9", "d"), Pair("/apps/2/duplication/9/0", "17"),
                  Pair("/apps/3", "empty"), Pair("/arion/servers/10.0.0.1:34801", "")));
  EXPECT_TRUE(tree->nodes.contains("/apps/3/duplication"));
  EXPECT_FALSE(tree->nodes.contains("/lock"));
}

TEST_F(StoredTreeTest, ARewriteThatWasInterruptedIsSeen) {
  Put("/apps", "lock");
  EXPECT_THAT(Read("")->entries, ElementsAre(Pair("/apps", "lock")));
}

TEST_F(StoredTreeTest, WhatOthersStoredLastIsSeenThroughALaggingMember) {
  Put("/apps", "");
  zookeeper_.SetReadLag(node_, absl::InfiniteDuration());
  Put("/apps/1", "new");
  EXPECT_EQ(Read("")->entries.count("/apps/1"), 1u);
}

TEST_F(StoredTreeTest, AnErrorNamesTheNode) {
  Put("/apps", "");
  Put("/apps/1", "x");
  zookeeper_.Forbid("/apps/1");
  const absl::Status failed = Read("").status();
  EXPECT_TRUE(absl::IsPermissionDenied(failed)) << failed;
  EXPECT_NE(failed.message().find("/apps/1"), absl::string_view::npos) << failed;
}

TEST_F(StoredTreeTest, ThousandsOfNodesAreReadSomeAtATime) {
  Put("/apps", "");
  Put("/apps/1", "x");
  for (int i = 0; i < 3000; ++i) Put("/apps/1/" + std::to_string(i), std::to_string(i));
  const absl::StatusOr<StoredTree> tree = Read("");
  ASSERT_TRUE(tree.ok()) << tree.status();
  EXPECT_EQ(tree->entries.size(), 3001u);
}

}  // namespace
}  // namespace arion
