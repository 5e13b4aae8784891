// SPDX-License-Identifier: Apache-2.0
#include "sim/last_log_block.h"
#include "sim/sim_disk.h"

#include <gtest/gtest.h>

#include "tests/fuzz/log_bytes.h"

namespace arion::sim {
namespace {

struct LastLogBlockTest : ::testing::Test {
  LastLogBlockTest() { EXPECT_TRUE(disk.CreateDirectories("/plog").ok()); }
  // The next file of the log; returns its bytes.
  std::string Add(int64_t blocks, const std::string& behind) {
    const std::string bytes = FuzzLog({.start_offset = end, .blocks = blocks});
    const LogFileName name{.index = ++index, .start_offset = end};
    const InodePtr file = disk.CreateFile("/plog/" + name.ToString()).value();
    EXPECT_TRUE(disk.Write(*file, 0, bytes + behind, SimDisk::Path::kCached).ok());
    end += static_cast<int64_t>(bytes.size());
    return bytes;
  }
  std::optional<LastLogBlock> Find() { return FindLastLogBlock(disk, "/plog"); }

  SimDisk disk{1, [] { return int64_t{0}; }};
  int64_t index = 0, end = 0;
};

TEST_F(LastLogBlockTest, WhatLiesBehindItIsNone) {
  const std::string zeros(4096, '\0');
  Add(3, "");
  const std::string two = Add(2, zeros);
  const auto last = Find();
  ASSERT_TRUE(last);
  EXPECT_TRUE(last->path.starts_with("/plog/log.2."));
  EXPECT_LT(last->position, two.size());
  EXPECT_TRUE(last->is_behind_others);
}

TEST_F(LastLogBlockTest, ATornBlockIsNone) {
  Add(3, "");
  const uint64_t position = Find()->position;
  const InodePtr file = disk.Find("/plog/log.1.0").value();
  file->content.pop_back();
  EXPECT_LT(Find()->position, position);
}

TEST_F(LastLogBlockTest, AFileInWhichNoBlockIsWholeIsPassedOver) {
  Add(3, "");
  const uint64_t position = Find()->position;
  Add(3, "");
  const InodePtr file = disk.Find(Find()->path).value();
  file->content.resize(20);
  EXPECT_EQ(Find()->path, "/plog/log.1.0");
  EXPECT_EQ(Find()->position, position);
}

TEST_F(LastLogBlockTest, TheFirstRecordsAreWrittenWithTheFilesHeader) {
  Add(1, "");
  EXPECT_FALSE(Find()->is_behind_others);
}

}  // namespace
}  // namespace arion::sim
