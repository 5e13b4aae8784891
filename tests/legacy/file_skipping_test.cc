// Which files of a shared log need not be read. SPDX-License-Identifier: Apache-2.0
#include "legacy/file_skipping.h"
#include "legacy/shared_log_catalog.h"

#include <gtest/gtest.h>

namespace arion {
namespace {

constexpr PartitionId kOne{1, 0}, kOther{2, 0};

// Four files of 100 bytes; the largest decrees of kOne in the first three are 10, 20, 30.
class FileSkippingTest : public testing::Test {
 protected:
  FileSkippingTest() {
    for (int i = 0; i < 4; ++i) {
      SharedLogFile file;
      file.name.index = i + 1;
      file.name.start_offset = i * 100;
      file.size = 100;
      if (i > 0) file.earlier[kOne] = Decree(i * 10);
      files_.push_back(file);
    }
  }
  size_t First(std::vector<PrivateLogReach> replicas) { return FirstFileToRead(files_, replicas); }
  std::vector<SharedLogFile> files_;
};

TEST_F(FileSkippingTest, TheNewestFileIsAlwaysRead) {
  EXPECT_EQ(First({}), 3u);
  EXPECT_EQ(First({{.pid = kOne, .committed_on_disk = Decree(1000)}}), 3u);
  files_.clear();
  EXPECT_EQ(First({}), 0u);
}

TEST_F(FileSkippingTest, AFileIsReadWhereItHoldsMoreThanThePrivateLog) {
  EXPECT_EQ(First({{.pid = kOne, .committed_on_disk = Decree(30)}}), 3u);
  EXPECT_EQ(First({{.pid = kOne, .committed_on_disk = Decree(29)}}), 2u);
  EXPECT_EQ(First({{.pid = kOne, .committed_on_disk = Decree(20)}}), 2u);
  EXPECT_EQ(First({{.pid = kOne, .committed_on_disk = Decree(10)}}), 1u);
  EXPECT_EQ(First({{.pid = kOne, .committed_on_disk = Decree(0)}}), 0u);
}

TEST_F(FileSkippingTest, WhatIsVoidForAReplicaIsNotReadForIt) {
  EXPECT_EQ(First({{.pid = kOne, .committed_on_disk = Decree(0), .valid_start_offset = 200}}), 2u);
  EXPECT_EQ(First({{.pid = kOne, .committed_on_disk = Decree(0), .valid_start_offset = 199}}), 1u);
}

TEST_F(FileSkippingTest, AReplicaThatNoHeaderNamesNeedsNoOlderFile) {
  EXPECT_EQ(First({{.pid = kOther, .committed_on_disk = Decree(0)}}), 3u);
}

TEST_F(FileSkippingTest, TheReplicaThatNeedsMostDecides) {
  files_[2].earlier[kOther] = Decree(5);
  files_[3].earlier[kOther] = Decree(5);
  EXPECT_EQ(First({{.pid = kOne, .committed_on_disk = Decree(29)},
                   {.pid = kOther, .committed_on_disk = Decree(5)}}),
            2u);
  EXPECT_EQ(First({{.pid = kOne, .committed_on_disk = Decree(29)},
                   {.pid = kOther, .committed_on_disk = Decree(4)}}),
            1u);
}

}  // namespace
}  // namespace arion
