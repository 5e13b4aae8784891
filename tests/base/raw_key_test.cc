// SPDX-License-Identifier: Apache-2.0
#include "base/raw_key.h"

#include <gtest/gtest.h>

namespace arion {
namespace {

using std::string_literals::operator""s;

// Vectors of engine/FORMAT.md 5.
TEST(RawKey, JoinsAsOnTheWire) {
  EXPECT_EQ(JoinRawKey("", ""), "\0\0"s);
  EXPECT_EQ(JoinRawKey("", "abc"), "\0\0abc"s);
  EXPECT_EQ(JoinRawKey("h1", ""), "\0\2h1"s);
  EXPECT_EQ(JoinRawKey("hash1", "sort1"), "\0\5hash1sort1"s);
  EXPECT_EQ(JoinRawKey("\xff\xff", "\xff"), "\0\2\xff\xff\xff"s);
}

TEST(RawKey, SplitIsTheInverseOfJoin) {
  for (const auto& [hash_key, sort_key] : {std::pair{""s, ""s},
                                           {""s, "s"s},
                                           {"h"s, ""s},
                                           {"\0h"s, "\0\xff"s},
                                           {std::string(kHashKeyBytesMax, 'h'), "s"s}}) {
    const std::string raw_key = JoinRawKey(hash_key, sort_key);
    auto parts = SplitRawKey(raw_key);
    ASSERT_TRUE(parts.has_value());
    EXPECT_EQ(parts->hash_key, hash_key);
    EXPECT_EQ(parts->sort_key, sort_key);
  }
}

TEST(RawKey, WhatIsShorterThanItSaysIsNone) {
  EXPECT_FALSE(IsRawKey(""));
  EXPECT_FALSE(IsRawKey("\0"s));
  EXPECT_FALSE(IsRawKey("\0\3ab"s));
  EXPECT_FALSE(IsRawKey("\xff\xff"s + std::string(65535, 'h')));
  EXPECT_TRUE(IsRawKey("\0\2ab"s));
}

TEST(RawKey, EndOfPrefixDropsTrailingOnes) {
  EXPECT_EQ(EndOfPrefix(JoinRawKey("h1", "")), "\0\2h2"s);
  EXPECT_EQ(EndOfPrefix(JoinRawKey("", "")), "\0\1"s);
  EXPECT_EQ(EndOfPrefix(JoinRawKey("\xff", "")), "\0\2"s);
  EXPECT_EQ(EndOfPrefix(JoinRawKey("a\xff\xff", "")), "\0\3b"s);
  EXPECT_EQ(EndOfPrefix("\xff\xff"), "");
}

}  // namespace
}  // namespace arion
