// The rest of it is seen through the writer: log_writer_test.cc, private_log_test.cc.
// SPDX-License-Identifier: Apache-2.0
#include "wal/log_blocks.h"
#include "wal/log_recovery.h"

#include <gtest/gtest.h>

#include "tests/wal/log_world.h"

namespace arion {
namespace {

LogBlocks Blocks(int64_t end_offset = 0, int64_t valid_start_offset = 0) {
  PrivateLogOptions options = TestLogOptions();
  options.valid_start_offset = valid_start_offset;
  RecoveredLog recovered;
  recovered.end_offset = end_offset;
  return {options, recovered, 0};
}

void Append(LogBlocks& blocks, int64_t decree) {
  blocks.Append(*MakeMutation(decree, 10), [](const absl::Status&) {});
}

TEST(LogBlocksTest, ABlockIsWhereTheOneBeforeEnds) {
  LogBlocks blocks = Blocks(500);
  Append(blocks, 1);
  blocks.Seal(blocks.front());
  Append(blocks, 2);
  const auto first = blocks.Pop();
  EXPECT_TRUE(first->is_first());
  EXPECT_EQ(blocks.front().position, first->end());
  EXPECT_EQ(blocks.end_offset(), 500 + static_cast<int64_t>(blocks.front().end()));
}

TEST(LogBlocksDeathTest, WhatIsOpenIsNotTaken) {
  LogBlocks blocks = Blocks();
  EXPECT_DEATH(blocks.Pop(), "log_blocks/B2");
  Append(blocks, 1);
  EXPECT_DEATH(blocks.Pop(), "log_blocks/B2");
  blocks.Seal(blocks.front());
  EXPECT_DEATH(blocks.Seal(blocks.front()), "sealed");
  EXPECT_NE(blocks.Pop(), nullptr);
}

TEST(LogBlocksDeathTest, WhatIsAppendedIsNeverVoid) {
  LogBlocks blocks = Blocks(500, 500);
  EXPECT_DEATH(Blocks(499, 500), "log_blocks/B3");
  EXPECT_DEATH(blocks.StartAnew(Decree(-1)), "max_decree");
}

}  // namespace
}  // namespace arion
