// SPDX-License-Identifier: Apache-2.0
#include "zookeeper/ensemble_address.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace arion {
namespace {

using ::testing::HasSubstr;

TEST(EnsembleAddress, IsReadAsZooKeepersClientsReadIt) {
  const EnsembleAddress one = *ParseEnsembleAddress("127.0.0.1:2181");
  ASSERT_EQ(one.servers.size(), 1u);
  EXPECT_EQ(one.servers[0].port, 2181);
  EXPECT_EQ(one.root, "");
  const EnsembleAddress three = *ParseEnsembleAddress(" zk1:2181, zk2:2182 ,10.0.0.3:2183/a/b ");
  ASSERT_EQ(three.servers.size(), 3u);
  EXPECT_EQ(three.root, "/a/b");
  EXPECT_EQ(three.ToString(), "zk1:2181,zk2:2182,10.0.0.3:2183/a/b");
  EXPECT_EQ(ParseEnsembleAddress("zk1:2181,")->ToString(), "zk1:2181");
  EXPECT_EQ(ParseEnsembleAddress("zk1:2181/")->root, "");
}

TEST(EnsembleAddress, WhatIsNoneIsNamed) {
  for (const std::string text : {"", " ", ",", "/a"})
    EXPECT_THAT(ParseEnsembleAddress(text).status().ToString(), HasSubstr("none is given")) << text;
  for (const std::string text : {"zk1", "zk1:2181,zk2", "zk1:", "zk1:0", "zk1:x", "zk1:65536",
                                 "[::1]:2181", "10.0.0.300:2181"}) {
    const absl::Status status = ParseEnsembleAddress(text).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << text;
    EXPECT_THAT(status.ToString(), HasSubstr("write them as zk1:2181,zk2:2181"));
  }
  EXPECT_THAT(ParseEnsembleAddress("zk1:2181,zk2").status().ToString(), HasSubstr("\"zk2\""));
  for (const std::string text : {"zk1:2181//", "zk1:2181/a/", "zk1:2181/a,zk2:2181/"})
    EXPECT_TRUE(absl::IsInvalidArgument(ParseEnsembleAddress(text).status())) << text;
}

}  // namespace
}  // namespace arion
