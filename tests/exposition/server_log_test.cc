// SPDX-License-Identifier: Apache-2.0
#include "exposition/server_log.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <string>

#include "base/log.h"

namespace arion {
namespace {

// A pipe that takes nothing more.
void StallStandardError() {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  fcntl(ends[1], F_SETFL, O_NONBLOCK);
  while (write(ends[1], "", 1) == 1) {
  }
  fcntl(ends[1], F_SETFL, 0);
  ASSERT_EQ(dup2(ends[1], STDERR_FILENO), STDERR_FILENO);
}

[[noreturn]] void FailACheck(const std::string& log_directory) {
  StallStandardError();
  ServerConfig config;
  config.log_directory = log_directory;
  StartLog("test_main", config);
  alarm(60);  // a test that hangs says so
  CHECK(log_directory == "never");
  _exit(0);
}

TEST(ServerLogDeathTest, ACheckEndsTheProcessThoughNobodyReadsStandardError) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(FailACheck(""), testing::KilledBySignal(SIGABRT), "");
  const std::string directory = testing::TempDir() + "/server_log";  // the child's as well
  std::filesystem::create_directory(directory);
  EXPECT_EXIT(FailACheck(directory), testing::KilledBySignal(SIGABRT), "");
  std::filesystem::remove_all(directory);
}

}  // namespace
}  // namespace arion
