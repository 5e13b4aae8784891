// SPDX-License-Identifier: Apache-2.0
#include "base/crc.h"

#include <gtest/gtest.h>

#include "base/raw_key.h"

namespace arion {
namespace {

using std::string_view_literals::operator""sv;

TEST(Crc32c, HasTheCheckValueOfTheFormat) { EXPECT_EQ(Crc32c("123456789"), 0xE3069283u); }

TEST(Crc32c, ContinuesAcrossPieces) {
  const std::string text(10007, 'x');
  for (const size_t cut : {0u, 1u, 7u, 8u, 4096u, 10007u})
    EXPECT_EQ(
        Crc32c(std::string_view(text).substr(cut), Crc32c(std::string_view(text).substr(0, cut))),
        Crc32c(text));
}

TEST(Crc32c, IsTheSameHoweverLongTheTextAndWhereItLies) {
  const auto by_bits = [](std::string_view text, uint32_t crc) {
    crc = ~crc;
    for (const char c : text) {
      crc ^= static_cast<uint8_t>(c);
      for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (crc & 1 ? 0x82F63B78u : 0);
    }
    return ~crc;
  };
  std::string text(60000, 0);
  uint32_t state = 1;
  for (char& c : text) c = static_cast<char>((state = state * 1664525 + 1013904223) >> 24);
  const std::string_view all = text;
  for (const size_t n : {0u, 1u, 8u, 767u, 768u, 769u, 1100u, 1536u, 4400u, 24575u, 24576u, 24577u,
                         25400u, 49152u, 59990u})
    for (const size_t from : {0u, 1u, 3u})
      for (const uint32_t previous : {0u, 0xFFFFFFFFu, 0x12345678u})
        ASSERT_EQ(Crc32c(all.substr(from, n), previous), by_bits(all.substr(from, n), previous))
            << n << " bytes from " << from;
}

// engine/FORMAT.md 5.1; computed with the Java and Go clients.
TEST(Crc64, MatchesTheClients) {
  EXPECT_EQ(Crc64(""), 0u);
  EXPECT_EQ(Crc64("a"), 0x8c2f8445b4cbfc3cu);
  EXPECT_EQ(Crc64("abc"), 0x05e5cabb3fc1faebu);
  EXPECT_EQ(Crc64("h1"), 0xaae1fd17e635e4dau);
  EXPECT_EQ(Crc64("hash1"), 0x12cf9f9b116860c2u);
  EXPECT_EQ(Crc64("hashkey"), 0x1299d9b06672773au);
  EXPECT_EQ(Crc64("hello world"), 0x8d29d5c3f6ea8ebeu);
  EXPECT_EQ(Crc64("123456789"), 0xae8b14860a799888u);
  EXPECT_EQ(Crc64("user_1000000001"), 0x6ec7e8d9c316d0f4u);
  EXPECT_EQ(Crc64("The quick brown fox jumps over the lazy dog"), 0xd76c54054954c143u);
  EXPECT_EQ(Crc64("\xe4\xb8\xad\xe6\x96\x87"), 0x520342bc847468bau);
  EXPECT_EQ(Crc64("\0"sv), 0xd5da5047efec8728u);
  EXPECT_EQ(Crc64("\xff"), 0xff00000000000000u);
  EXPECT_EQ(Crc64("\0\1\2\3\4\5\6\7\x8\x9"sv), 0x2b09072a340e4597u);
  EXPECT_EQ(Crc64("\xff\xff\xff\xff\xff\xff\xff\xff"), 0xffffffffffffffffu);
}

// engine/FORMAT.md 5.
TEST(PartitionHash, IsOfTheHashKeyOrElseTheSortKey) {
  EXPECT_EQ(PartitionHash("\0\0"sv), 0u);
  EXPECT_EQ(PartitionHash("\0\0abc"sv), 0x05e5cabb3fc1faebu);
  EXPECT_EQ(PartitionHash("\0\2h1"sv), 0xaae1fd17e635e4dau);
  EXPECT_EQ(PartitionHash("\0\2h1s1"sv), 0xaae1fd17e635e4dau);
  EXPECT_EQ(PartitionHash("\0\5hash1sort1"sv), 0x12cf9f9b116860c2u);
  EXPECT_EQ(PartitionHash("\0\2\xff\xff\xff"sv), 0xffff000000000000u);
}

TEST(PartitionHash, IsTheSameOfAKeysParts) {
  for (const char* hash_key : {"", "h1", "hash1"})
    for (const char* sort_key : {"", "s1", "sort1"})
      EXPECT_EQ(PartitionHash(hash_key, sort_key), PartitionHash(JoinRawKey(hash_key, sort_key)));
}

TEST(PartitionHash, TakesKeysThatAreShorterThanTheySay) {
  EXPECT_NO_FATAL_FAILURE(PartitionHash(""));
  EXPECT_NO_FATAL_FAILURE(PartitionHash("\xff"));
  EXPECT_NO_FATAL_FAILURE(PartitionHash("\0\x9z"sv));
}

// Servers and tools of different versions compare sums of these.
TEST(RecordHashes, NeverChange) {
  const std::string_view key("\0\1hs", 4);
  EXPECT_EQ(RecordHash(key, "value", 0), 0x131acbc7a4d78c55u);
  EXPECT_EQ(RecordHash(key, "value", 100), 0x2d77eb0dfa2ea925u);
  EXPECT_NE(RecordHash(key, "", 0), RecordHash(key, std::string_view("\0", 1), 0));
  EXPECT_NE(RecordHash("", "a", 0), RecordHash("a", "", 0));
}

}  // namespace
}  // namespace arion
