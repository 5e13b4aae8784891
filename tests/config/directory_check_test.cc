// SPDX-License-Identifier: Apache-2.0
#include "config/directory_check.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>

#include "tests/support/temp_directory.h"

namespace arion {
namespace {

TEST(DirectoryCheckTest, AMissingDirectoryIsNamedWithItsLineAndARemedy) {
  absl::Status status = CheckDirectory("a.ini:4", "data_dirs: ssd1", "/nowhere/data");
  EXPECT_TRUE(absl::IsNotFound(status));
  EXPECT_EQ(status.message(),
            "a.ini:4: data_dirs: ssd1 = \"/nowhere/data\": there is no such directory; mkdir -p "
            "/nowhere/data, or mount "
            "the disk that holds it");
}

TEST(DirectoryCheckTest, AFileIsNoDirectory) {
  EXPECT_TRUE(absl::IsInvalidArgument(CheckDirectory("a.ini:4", "data_dirs: ssd1", "/etc/passwd")));
}

TEST(DirectoryCheckTest, ADirectoryThatMayNotBeWrittenIsRefused) {
  EXPECT_TRUE(absl::IsPermissionDenied(CheckDirectory("a.ini:4", "data_dirs: ssd1", "/proc/self")));
}

// In a mount namespace of its own: ext4's usual answer to an error.
TEST(DirectoryCheckTest, ADiskThatBecameReadOnlyFails) {
  TempDirectory directory;
  const pid_t child = fork();
  if (child == 0) {
    const char* const path = directory.path().c_str();
    if (unshare(CLONE_NEWNS) != 0 ||
        mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        mount("tmpfs", path, "tmpfs", MS_RDONLY, nullptr) != 0)
      _exit(2);
    _exit(absl::IsUnavailable(CheckDirectory("a.ini:4", "data_dirs: ssd1", path)) ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  if (WEXITSTATUS(status) == 2) GTEST_SKIP() << "mounts need root";
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

// That one which hangs is waited for: tests/cluster/restart_test.py.
TEST(DirectoryCheckTest, ADiskThatWasAskedHoldsNothingMore) {
  TempDirectory directory;
  AwaitDisk(directory.path());
  EXPECT_TRUE(std::filesystem::is_empty(directory.path()));
  AwaitDisk(directory.path() + "/missing");
}

}  // namespace
}  // namespace arion
