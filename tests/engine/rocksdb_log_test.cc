// SPDX-License-Identifier: Apache-2.0
#include "engine/rocksdb_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdarg>
#include <string>
#include <vector>

#include "tests/replica/log_lines.h"

namespace arion {
namespace {

using rocksdb::InfoLogLevel;
using testing::ElementsAre;
using testing::IsEmpty;

class RocksdbLogTest : public testing::Test {
 protected:
  void Say(InfoLogLevel level, const char* format, ...) {
    va_list arguments;
    va_start(arguments, format);
    log_.Logv(level, format, arguments);
    va_end(arguments);
  }
  void SayHeader(const char* format, ...) {
    va_list arguments;
    va_start(arguments, format);
    log_.LogHeader(format, arguments);
    va_end(arguments);
  }

  LogLines lines_{"RocksDB"};
  RocksdbLog log_{"2.1"};
};

TEST_F(RocksdbLogTest, FromWarningsUpItsLinesAreTheServers) {
  Say(InfoLogLevel::WARN_LEVEL, "stalled for %d ms", 7);
  Say(InfoLogLevel::ERROR_LEVEL, "%s", "damage");
  EXPECT_THAT(lines_.Take(), ElementsAre("RocksDB 2.1: stalled for 7 ms", "RocksDB 2.1: damage"));
}

TEST_F(RocksdbLogTest, WhatIsLessIsDropped) {
  Say(InfoLogLevel::INFO_LEVEL, "flushed");
  Say(InfoLogLevel::DEBUG_LEVEL, "looked");
  SayHeader("options");
  EXPECT_THAT(lines_.Take(), IsEmpty());
}

TEST_F(RocksdbLogTest, EveryCheckpointsWarningIsDropped) {
  Say(InfoLogLevel::WARN_LEVEL, "File Deletions Disabled");
  Say(InfoLogLevel::WARN_LEVEL, "File Deletions Enabled");
  EXPECT_THAT(lines_.Take(), IsEmpty());
}

TEST_F(RocksdbLogTest, ALongLineIsCut) {
  Say(InfoLogLevel::WARN_LEVEL, "%s", std::string(5000, 'x').c_str());
  const std::vector<std::string> said = lines_.Take();
  ASSERT_EQ(said.size(), 1u);
  EXPECT_EQ(said[0], "RocksDB 2.1: " + std::string(1023, 'x'));
}

TEST_F(RocksdbLogTest, ItsNameForAllThatMayPassIsTakenOutOfALine) {
  Say(InfoLogLevel::WARN_LEVEL, "open: No space left on device: /d/1.sst: Too many open files");
  EXPECT_THAT(lines_.Take(), ElementsAre("RocksDB 2.1: open: /d/1.sst: Too many open files"));
}

TEST(WithoutMisnameTest, OnlyWhereSomethingElseIsWanted) {
  EXPECT_EQ(WithoutMisname("IO error: No space left on device: a: Cannot allocate memory"),
            "IO error: a: Cannot allocate memory");
  for (const char* right : {"No space left on device: a: No space left on device",
                            "No space left on device: a", "Permission denied", ""})
    EXPECT_EQ(WithoutMisname(right), right);
}

}  // namespace
}  // namespace arion
