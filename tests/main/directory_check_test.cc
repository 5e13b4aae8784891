// SPDX-License-Identifier: Apache-2.0
#include "main/directory_check.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace arion
