// SPDX-License-Identifier: Apache-2.0
#include "main/cluster_file.h"
#include "base/cluster_identity.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "posix/posix_environment.h"

namespace arion {
namespace {

class ClusterFileTest : public testing::Test {
 protected:
  ClusterFileTest() {
    std::filesystem::remove_all(root_);
    std::filesystem::create_directories(root_ + "/1");
    std::filesystem::create_directories(root_ + "/2");
  }
  const std::string root_ = testing::TempDir() + "/cluster_file";
  PosixEnvironment env_{PosixEnvironmentOptions{.event_loop_threads = 1}};
};

TEST_F(ClusterFileTest, AMetaServerMakesAnIdOnce) {
  ClusterIdentity first("a"), again("a"), other("a");
  ASSERT_TRUE(TakeOrMakeClusterId(env_, root_ + "/1", NewCluster::kMake, &first).ok());
  EXPECT_NE(first.id(), 0u);
  ASSERT_TRUE(TakeOrMakeClusterId(env_, root_ + "/1", NewCluster::kMake, &again).ok());
  EXPECT_EQ(again.id(), first.id());
  ASSERT_TRUE(TakeOrMakeClusterId(env_, root_ + "/2", NewCluster::kMake, &other).ok());
  EXPECT_NE(other.id(), first.id());
}

TEST_F(ClusterFileTest, OneThatRecoversMakesNone) {
  ClusterIdentity cluster("a");
  ASSERT_TRUE(TakeOrMakeClusterId(env_, root_ + "/1", NewCluster::kLearn, &cluster).ok());
  EXPECT_EQ(cluster.id(), 0u);
  EXPECT_TRUE(std::filesystem::is_empty(root_ + "/1"));
}

TEST_F(ClusterFileTest, DirectoriesOfTwoClustersAreRefused) {
  ClusterIdentity one("a"), two("b"), server("a");
  ASSERT_TRUE(one.Adopt(1) && two.Adopt(2));
  ASSERT_TRUE(RememberClusterId(env_.files(), root_ + "/1", one).ok());
  const std::vector<std::string> both = {root_ + "/1", root_ + "/2"};
  ASSERT_TRUE(TakeClusterId(env_.files(), both, &server).ok()) << "the second is new";
  EXPECT_EQ(server.id(), 1u);
  ASSERT_TRUE(RememberClusterId(env_.files(), root_ + "/2", two).ok());
  const absl::Status mixed = TakeClusterId(env_.files(), both, &server);
  EXPECT_TRUE(absl::IsFailedPrecondition(mixed)) << mixed;
  EXPECT_THAT(mixed.message(), testing::HasSubstr("00000002"));
}

TEST_F(ClusterFileTest, ADirectoryThatCanNotBeLookedAtKeepsNoReplicaServerFromStarting) {
  ClusterIdentity written("a"), server("a");
  ASSERT_TRUE(written.Adopt(0x1234));
  ASSERT_TRUE(RememberClusterId(env_.files(), root_ + "/2", written).ok());
  std::filesystem::create_symlink(root_ + "/loop", root_ + "/loop");
  const std::vector<std::string> both = {root_ + "/loop", root_ + "/2"};
  EXPECT_TRUE(TakeClusterId(env_.files(), both, &server).ok());
  EXPECT_EQ(server.id(), 0x1234u);
}

TEST_F(ClusterFileTest, AReplicaServerKeepsADamagedFileAsideAndLearnsTheIdAnew) {
  ClusterIdentity written("a");
  ASSERT_TRUE(written.Adopt(0x1234));
  const std::string path = root_ + "/1/.arion-cluster";
  ASSERT_TRUE(RememberClusterId(env_.files(), root_ + "/1", written).ok());
  const std::string whole = *ReadFile(env_.files(), path);
  for (size_t at = 0; at < 8; ++at) {
    std::string damaged = whole;
    damaged[at] ^= 1;  // another id
    ASSERT_TRUE(WriteFileDurably(env_.files(), path, damaged).ok());
    ClusterIdentity cluster("a");
    const absl::Status status = TakeClusterId(env_.files(), {root_ + "/1"}, &cluster);
    EXPECT_TRUE(status.ok()) << status;
    EXPECT_EQ(cluster.id(), 0u);
    EXPECT_EQ(*ReadFile(env_.files(), path + ".damaged"), damaged);
    EXPECT_FALSE(Exists(env_.files(), path));
  }
}

TEST_F(ClusterFileTest, AnOlderVersionsFileHasNoChecksum) {
  ASSERT_TRUE(WriteFileDurably(env_.files(), root_ + "/1/.arion-cluster", "0000abcd a\n").ok());
  ClusterIdentity cluster("a");
  EXPECT_TRUE(TakeClusterId(env_.files(), {root_ + "/1"}, &cluster).ok());
  EXPECT_EQ(cluster.id(), 0xabcdu);
}

TEST_F(ClusterFileTest, AMetaServersDamagedFileIsNamed) {
  ASSERT_TRUE(
      WriteFileDurably(env_.files(), root_ + "/1/.arion-cluster", "\x01\xff whatever").ok());
  ClusterIdentity cluster("a");
  const absl::Status status = TakeOrMakeClusterId(env_, root_ + "/1", NewCluster::kMake, &cluster);
  EXPECT_TRUE(absl::IsDataLoss(status));
  EXPECT_THAT(status.message(), testing::HasSubstr(root_ + "/1/.arion-cluster"));
}

}  // namespace
}  // namespace arion
