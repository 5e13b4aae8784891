// SPDX-License-Identifier: Apache-2.0
#include "exposition/server_log_file.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "tests/support/temp_directory.h"

namespace arion {
namespace {

constexpr time_t kNow = 1'600'000'000;

class ServerLogFileTest : public ::testing::Test {
 protected:
  std::string TextOf(const std::filesystem::path& path) const {
    std::ostringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
  }

  // In order of age: the link is left out.
  std::vector<std::string> Texts() const {
    std::vector<std::filesystem::path> paths;
    for (const auto& entry : std::filesystem::directory_iterator(directory_.path()))
      if (!entry.is_symlink()) paths.push_back(entry.path());
    std::sort(paths.begin(), paths.end());
    std::vector<std::string> texts;
    for (const auto& path : paths) {
      const std::string text = TextOf(path);
      texts.push_back(text.substr(text.find('\n') + 1));  // without the head
    }
    return texts;
  }

  const TempDirectory directory_;
  ServerLogFile file_{directory_.path(), "stem.", "link", 1 << 20};
};

// logrotate sends a signal a file.
TEST_F(ServerLogFileTest, OpenedManyTimesInASecondItLosesNothing) {
  for (const char* line : {"a\n", "b\n", "c\n"}) {
    EXPECT_TRUE(file_.Write(kNow, line));
    EXPECT_EQ(TextOf(directory_.path() + "/link").ends_with(line), true);
    file_.OpenAnew();
  }
  EXPECT_EQ(Texts(), (std::vector<std::string>{"a\n", "b\n", "c\n"}));
}

TEST_F(ServerLogFileTest, WhatIsFullIsFollowedByAnother) {
  const std::string line(400'000, '.');
  for (int i = 0; i < 7; ++i) EXPECT_TRUE(file_.Write(kNow, line));
  EXPECT_EQ(Texts(), (std::vector<std::string>{line + line + line, line + line + line, line}));
}

TEST_F(ServerLogFileTest, WhatCanNotBeOpenedIsTriedWithEachLine) {
  std::filesystem::remove_all(directory_.path());
  testing::internal::CaptureStderr();
  EXPECT_FALSE(file_.Write(kNow, "a\n"));
  EXPECT_FALSE(file_.Write(kNow, "b\n"));
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find("No such file or directory"), std::string::npos);
  EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 1) << said;
  std::filesystem::create_directory(directory_.path());
  EXPECT_TRUE(file_.Write(kNow, "c\n"));
  EXPECT_EQ(Texts(), (std::vector<std::string>{"c\n"}));
}

// As on a full disk: there a part of a line may fit, too.
TEST_F(ServerLogFileTest, NoLineIsCutWhereAFileMayNotGrow) {
  signal(SIGXFSZ, SIG_IGN);
  rlimit before;
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  EXPECT_TRUE(file_.Write(kNow, "a\n"));
  const rlimit tight{.rlim_cur = 1000, .rlim_max = before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &tight), 0);
  EXPECT_FALSE(file_.Write(kNow, std::string(2000, '.') + "\n"));
  EXPECT_TRUE(file_.Write(kNow, "b\n"));
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  EXPECT_TRUE(file_.Write(kNow, "c\n"));
  EXPECT_EQ(Texts(), (std::vector<std::string>{"a\nb\nc\n"}));
}

}  // namespace
}  // namespace arion
