// SPDX-License-Identifier: Apache-2.0
#include "wal/log_retention.h"

#include <gtest/gtest.h>

#include <vector>

namespace arion {
namespace {

// Files of 100 bytes each; maxima[i]: what file i's header says of all before it.
std::vector<LogFileEntry> Files(std::vector<int64_t> maxima) {
  std::vector<LogFileEntry> files;
  for (const int64_t max : maxima) {
    const auto i = static_cast<int64_t>(files.size());
    files.push_back(
        {.name = {i + 1, i * 100}, .content_bytes = 100, .header_max_decree = Decree(max)});
  }
  return files;
}

TEST(LogRetentionTest, AFileGoesWhenTheNextHeaderSaysAllIsDurable) {
  const auto files = Files({0, 10, 20, 30});
  EXPECT_EQ(CountDroppable(files, Decree(9), 0), 0u);
  EXPECT_EQ(CountDroppable(files, Decree(10), 0), 1u);
  EXPECT_EQ(CountDroppable(files, Decree(29), 0), 2u);
  EXPECT_EQ(CountDroppable(files, Decree(30), 0), 3u);
}

TEST(LogRetentionTest, TheNewestFileStays) {
  EXPECT_EQ(CountDroppable(Files({0, 10}), Decree(1000), 0), 1u);
  EXPECT_EQ(CountDroppable(Files({0}), Decree(1000), 0), 0u);
  EXPECT_EQ(CountDroppable({}, Decree(1000), 0), 0u);
}

TEST(LogRetentionTest, VoidFilesGoWhateverTheyHold) {
  EXPECT_EQ(CountDroppable(Files({0, 50, 90}), Decree(0), 100), 1u);
  EXPECT_EQ(CountDroppable(Files({0, 50, 90}), Decree(0), 199), 1u);
  EXPECT_EQ(CountDroppable(Files({0, 50, 90}), Decree(0), 200), 2u);
}

TEST(LogRetentionTest, HeadersMayFallAfterANewBeginning) {
  // Files 0 and 1 are void (valid from 200); file 2's header was set back to 5.
  const auto files = Files({0, 50, 5, 60});
  EXPECT_EQ(CountDroppable(files, Decree(0), 200), 2u);
  EXPECT_EQ(CountDroppable(files, Decree(59), 200), 2u);
  EXPECT_EQ(CountDroppable(files, Decree(60), 200), 3u);
  EXPECT_EQ(RetainedAbove(files, 200, Decree(70)), Decree(5));
}

TEST(LogRetentionTest, WhatIsRetainedStartsBehindTheOldestHeader) {
  EXPECT_EQ(RetainedAbove(Files({7, 10, 20}), 0, Decree(30)), Decree(7));
  EXPECT_EQ(RetainedAbove({}, 0, Decree(30)), Decree(30));
  EXPECT_EQ(RetainedAbove(Files({7, 10}), 150, Decree(30)), Decree(30));
  EXPECT_EQ(RetainedAbove(Files({7, 10}), 100, Decree(30)), Decree(10));
}

}  // namespace
}  // namespace arion
