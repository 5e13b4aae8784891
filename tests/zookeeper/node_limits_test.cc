// SPDX-License-Identifier: Apache-2.0
#include "zookeeper/node_limits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace arion {
namespace {

using ::testing::HasSubstr;

using Kind = ZooKeeperStep::Kind;

TEST(NodeLimits, PathsOfNodesPass) {
  for (const std::string path :
       {"/", "/a", "/a/b", "/pegasus/my-cluster/apps/1/0", "/a.b/..c", "/a b/\xc3\xa4"})
    EXPECT_TRUE(CheckNodePath(path).ok()) << path;
}

TEST(NodeLimits, WhatZooKeeperTakesForNoPathIsNamed) {
  for (const std::string path :
       {"", "a", "/a/", "//", "//a", "/a//b", "/.", "/a/..", "/../a", "/a/./b", "/a\tb", "/a\x7f"})
    EXPECT_TRUE(absl::IsInvalidArgument(CheckNodePath(path))) << path;
  const absl::Status zero = CheckNodePath(std::string("/a\0b", 4));
  EXPECT_TRUE(absl::IsInvalidArgument(zero));
  EXPECT_THAT(zero.ToString(), HasSubstr("/a?b"));
}

TEST(NodeLimits, ANodeOf900KiBPasses) {
  const std::string path = "/a/b";
  const size_t room = ZooKeeperSession::kNodeBytesMax - path.size();
  EXPECT_TRUE(CheckNode(path, std::string(room, 'x')).ok());
  const absl::Status more = CheckNode(path, std::string(room + 1, 'x'));
  EXPECT_TRUE(absl::IsInvalidArgument(more));
  EXPECT_THAT(more.ToString(), HasSubstr("\"/a/b\": path and data have 921601 bytes"));
}

TEST(NodeLimits, TheBytesOfAllStepsCount) {
  std::vector<ZooKeeperStep> steps{{Kind::kCheck, "/lock"}};
  EXPECT_TRUE(CheckTransaction({}).ok());
  EXPECT_TRUE(CheckTransaction(steps).ok());
  for (int i = 0; i < 9; ++i) steps.push_back({Kind::kSet, "/a", std::string(100 << 10, 'x')});
  EXPECT_TRUE(absl::IsInvalidArgument(CheckTransaction(steps)));
  steps.back().data.resize(99 << 10);
  EXPECT_TRUE(CheckTransaction(steps).ok());
  steps.push_back({Kind::kRemove, "/a/"});
  EXPECT_THAT(CheckTransaction(steps).ToString(), HasSubstr("\"/a/\""));
}

TEST(NodeLimits, ManySmallStepsAreAsMuch) {
  // Around each ZooKeeper writes more than is in it.
  const std::vector<ZooKeeperStep> many(20'000, {Kind::kCreate, "/a/b"});
  EXPECT_TRUE(CheckTransaction(many).ok());
  const std::vector<ZooKeeperStep> too_many(21'000, {Kind::kCreate, "/a/b"});
  const absl::Status refused = CheckTransaction(too_many);
  EXPECT_TRUE(absl::IsInvalidArgument(refused));
  EXPECT_THAT(refused.ToString(), HasSubstr("a transaction of 21000 steps"));
}

}  // namespace
}  // namespace arion
