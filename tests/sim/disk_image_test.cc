// SPDX-License-Identifier: Apache-2.0
#include "sim/disk_image.h"
#include "sim/sim_disk.h"

#include <gtest/gtest.h>

namespace arion::sim {
namespace {

struct DiskImageTest : ::testing::Test {
  void Write(const std::string& path, const std::string& content) {
    const auto there = disk.Find(path);
    const InodePtr file = there.ok() ? *there : disk.CreateFile(path).value();
    EXPECT_TRUE(disk.Write(*file, 0, content, SimDisk::Path::kCached).ok());
  }
  void Copy(DiskImage::Half half) { image.Copy(disk, {"/d", "/logs"}, half); }

  SimDisk disk{1, [] { return int64_t{0}; }};
  DiskImage image;
};

TEST_F(DiskImageTest, WhatWasThereIsThereAgainAndNothingElse) {
  ASSERT_TRUE(disk.CreateDirectories("/d/a").ok());
  ASSERT_TRUE(disk.CreateDirectories("/logs").ok());
  Write("/d/a/f", "old");
  Write("/logs/g", "a log");
  Copy(DiskImage::Half::kFirst);
  Copy(DiskImage::Half::kSecond);
  Write("/d/a/f", "newer");
  Write("/d/a/h", "new");
  Write("/logs/g", "a later log");
  image.PutBack("/d", &disk);
  disk.Crash(CrashMode::kPowerNone);
  EXPECT_EQ(disk.AllFiles(), (std::vector<std::string>{"/d/a/f", "/logs/g"}));
  EXPECT_EQ((*disk.Find("/d/a/f"))->content, "old");
  EXPECT_EQ((*disk.Find("/logs/g"))->content, "a later log") << "of another directory";
}

// A log in which nothing was written yet is no log that is missing.
TEST_F(DiskImageTest, AFolderInWhichNothingIsComesBackToo) {
  ASSERT_TRUE(disk.CreateDirectories("/d").ok());
  ASSERT_TRUE(disk.CreateDirectories("/logs/1.0/plog").ok());
  Copy(DiskImage::Half::kFirst);
  Copy(DiskImage::Half::kSecond);
  ASSERT_TRUE(disk.RemoveAll("/logs/1.0").ok());
  image.PutBack("/logs", &disk);
  EXPECT_TRUE(disk.Find("/logs/1.0/plog").ok());
}

}  // namespace
}  // namespace arion::sim
