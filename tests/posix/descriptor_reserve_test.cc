// SPDX-License-Identifier: Apache-2.0
#include "posix/descriptor_reserve.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <cerrno>

#include "posix/posix_environment.h"
#include "tests/support/no_descriptor_left.h"
#include "tests/support/temp_directory.h"

namespace arion {
namespace {

TEST(DescriptorReserveTest, WhatIsHeldIsGivenUpAtTheLimitAndKeptAgainAtTheNextClose) {
  DescriptorReserve reserve(2);
  EXPECT_TRUE(reserve.is_whole());
  NoDescriptorLeft none;
  const int a = reserve.Open("/dev/null", O_RDONLY | O_CLOEXEC, 0);
  const int b = reserve.Open("/dev/null", O_RDONLY | O_CLOEXEC, 0);
  EXPECT_GE(a, 0);
  EXPECT_GE(b, 0);
  EXPECT_FALSE(reserve.is_whole());
  EXPECT_EQ(reserve.Open("/dev/null", O_RDONLY | O_CLOEXEC, 0), -1);
  EXPECT_EQ(errno, EMFILE);
  EXPECT_EQ(reserve.wants(), 3);
  none.Free(1);
  EXPECT_EQ(reserve.Close(a), 0);
  EXPECT_EQ(reserve.Close(b), 0);
  EXPECT_TRUE(reserve.is_whole());
  none.Take();
  EXPECT_GE(reserve.Open("/dev/null", O_RDONLY | O_CLOEXEC, 0), 0) << "nobody else got it";
}

TEST(DescriptorReserveTest, WithoutAnyTheLimitIsTheLimit) {
  DescriptorReserve reserve(0);
  EXPECT_TRUE(reserve.is_whole());
  NoDescriptorLeft none;
  EXPECT_EQ(reserve.Open("/dev/null", O_RDONLY | O_CLOEXEC, 0), -1);
  EXPECT_TRUE(reserve.is_whole());
}

TEST(DescriptorReserveTest, NamesAndLogsGoOnAtTheLimitAndReadersAreToldOfIt) {
  TempDirectory directory;
  PosixEnvironment env({.event_loop_threads = 1, .descriptors_held = 2});
  LogDevice& device = env.log_device(directory.path());
  const std::string name = JoinPath(directory.path(), "f");
  // Once before: UndefinedBehaviorSanitizer opens a pipe where it meets a type for the first time.
  EXPECT_FALSE(device.LacksOpenFiles());
  EXPECT_TRUE(WriteFileDurably(env.files(), name, "").ok());
  EXPECT_TRUE(env.files().OpenForRead(name).ok());
  EXPECT_TRUE(device.Open(JoinPath(directory.path(), "log.2.0"), true).ok());

  NoDescriptorLeft none;
  EXPECT_FALSE(device.LacksOpenFiles());
  EXPECT_TRUE(WriteFileDurably(env.files(), name, "x").ok());
  EXPECT_TRUE(env.files().List(directory.path()).ok());
  EXPECT_FALSE(device.LacksOpenFiles());
  auto log = device.Open(JoinPath(directory.path(), "log.1.0"), true);
  EXPECT_TRUE(log.ok()) << log.status();
  EXPECT_TRUE(device.LacksOpenFiles()) << "no spares are to be made";
  const absl::Status read = env.files().OpenForRead(name).status();
  EXPECT_TRUE(LacksOpenFiles(read)) << read;
  EXPECT_NE(read.message().find("limit is 200"), std::string_view::npos) << read;
  log->reset();
  EXPECT_FALSE(device.LacksOpenFiles());
  env.descriptors().SetScarce(true);
  EXPECT_TRUE(device.LacksOpenFiles());
}

}  // namespace
}  // namespace arion
