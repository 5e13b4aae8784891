// SPDX-License-Identifier: Apache-2.0
#include "wal/log_format.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace arion {
namespace {

TEST(LogFormatTest, NamesAreIndexAndStartOffset) {
  EXPECT_EQ((LogFileName{2, 416}).ToString(), "log.2.416");
  const auto parsed = ParseLogFileName("log.2.416");
  ASSERT_TRUE(parsed.ok() && parsed->has_value());
  EXPECT_EQ(**parsed, (LogFileName{2, 416}));
  EXPECT_EQ((*ParseLogFileName("log.1.9223372036854775807"))->start_offset, INT64_MAX);
}

TEST(LogFormatTest, NearNamesAreNoLogs) {
  for (const char* name : {"log.1.2.removed", "log.3", "log.1a.2", "log..2", "log.1.2a", "log.1.",
                           "log.-1.2", "log.1.+2", "log. 1.2", "Log.1.2", "xlog.1.2",
                           "log.1.2.tail", "spare.2", "log.", "log", "", "log.1.2 "}) {
    const auto parsed = ParseLogFileName(name);
    ASSERT_TRUE(parsed.ok()) << name;
    EXPECT_FALSE(parsed->has_value()) << name;
  }
}

TEST(LogFormatTest, OffsetsBeyondTheOffsetSpaceAreAnError) {
  for (const char* name :
       {"log.1.18446744073709551615", "log.1.9223372036854775808", "log.99999999999999999999.0"})
    EXPECT_TRUE(absl::IsOutOfRange(ParseLogFileName(name).status())) << name;
}

// wal/FORMAT.md 2.4.
TEST(LogFormatTest, FirstBlockIsTheWorkedExample) {
  char block[kFirstBlockBytes];
  EXPECT_EQ(
      StoreFirstBlock(0, {.pid = {2, 1}, .max_decree = Decree(0), .valid_start_offset = 0}, block),
      0x75FF3296u);
  const unsigned char expected[] = {
      0xEF, 0xBE, 0xAD, 0xDE, 0x2C, 0, 0, 0, 0x96, 0x32, 0xFF, 0x75, 0, 0, 0,
      0,    0xEF, 0xBE, 0xAD, 0xDE, 1, 0, 0, 0,    0,    0,    0,    0, 0, 0,
      0,    0,    1,    0,    0,    0, 2, 0, 0,    0,    1,    0,    0, 0, 0,
      0,    0,    0,    0,    0,    0, 0, 0, 0,    0,    0,    0,    0, 0, 0};
  EXPECT_EQ(std::string(block, sizeof(block)),
            std::string(reinterpret_cast<const char*>(expected), sizeof(expected)));
}

TEST(LogFormatTest, FileHeaderComesBack) {
  char block[kFirstBlockBytes];
  StoreFirstBlock(1234567890123,
                  {.pid = {7, 3}, .max_decree = Decree(99), .valid_start_offset = 1000}, block);
  std::string_view body(block + kBlockHeaderBytes, kFirstBlockBytes - kBlockHeaderBytes);
  const auto header = TakeFileHeader(&body);
  ASSERT_TRUE(header.ok());
  EXPECT_TRUE(body.empty());
  EXPECT_EQ(header->start_offset, 1234567890123);
  ASSERT_NE(header->Find({7, 3}), nullptr);
  EXPECT_EQ(header->Find({7, 3})->max_decree, Decree(99));
  EXPECT_EQ(header->Find({7, 3})->valid_start_offset, 1000);
  EXPECT_EQ(header->Find({7, 4}), nullptr);
}

TEST(LogFormatTest, HeadersThatDoNotFitAreRefused) {
  char block[kFirstBlockBytes];
  StoreFirstBlock(0, {.pid = {7, 3}}, block);
  for (size_t n = 0; n < kFirstBlockBytes - kBlockHeaderBytes; ++n) {
    std::string_view body(block + kBlockHeaderBytes, n);
    EXPECT_TRUE(absl::IsDataLoss(TakeFileHeader(&body).status())) << n;
    EXPECT_EQ(body.size(), n);
  }
  for (const char count : {'\x7f', '\xff'}) {
    std::string bytes(block + kBlockHeaderBytes, kFirstBlockBytes - kBlockHeaderBytes);
    bytes[19] = count;
    std::string_view body = bytes;
    EXPECT_FALSE(TakeFileHeader(&body).ok());
  }
}

TEST(LogFormatDeathTest, NothingIsWrittenThatAReaderWouldRefuse) {
  char block[kFirstBlockBytes];
  EXPECT_DEATH(StoreFirstBlock(999, {.pid = {7, 3}, .valid_start_offset = 1000}, block),
               "void records");
  EXPECT_DEATH(StoreFirstBlock(-1, {.pid = {7, 3}, .valid_start_offset = -1}, block),
               "start_offset");
  EXPECT_DEATH(StoreBlockHeader({.length = -1}, block), "a reader ends");
}

}  // namespace
}  // namespace arion
