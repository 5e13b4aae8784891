// SPDX-License-Identifier: Apache-2.0
#include "tools/shell/words.h"

#include <gtest/gtest.h>

namespace arion::shell {
namespace {

TEST(WordsTest, CommandsEndAtSemicolonsAndLineEnds) {
  auto commands = SplitCommands("use temp; set k s v\nget k s ;; \n");
  ASSERT_TRUE(commands.ok());
  EXPECT_EQ(*commands,
            (std::vector<Words>{{"use", "temp"}, {"set", "k", "s", "v"}, {"get", "k", "s"}}));
}

TEST(WordsTest, QuotesKeepWhatSeparates) {
  auto commands = SplitCommands(R"(set "a b;c" '' "d")");
  ASSERT_TRUE(commands.ok());
  EXPECT_EQ((*commands)[0], (Words{"set", "a b;c", "", "d"}));
}

TEST(WordsTest, ACommentRunsToTheLineEnd) {
  auto commands = SplitCommands("get a#b c # and more; x\nls");
  ASSERT_TRUE(commands.ok());
  EXPECT_EQ(*commands, (std::vector<Words>{{"get", "a#b", "c"}, {"ls"}}));
}

TEST(WordsTest, EveryByteSurvivesEscapingAndReading) {
  std::string all;
  for (int i = 0; i < 256; ++i) all += static_cast<char>(i);
  for (const std::string& bytes :
       {all, std::string("\0", 1), std::string("gr\xc3\xbc\xc3\x9f \xe2\x82\xac"),
        std::string("\xc3"), std::string("\xed\xa0\x80"), std::string("\"';#\\x41")}) {
    auto commands = SplitCommands("\"" + Escape(bytes) + "\"");
    ASSERT_TRUE(commands.ok()) << commands.status();
    ASSERT_EQ(commands->size(), 1u);
    EXPECT_EQ((*commands)[0], Words{bytes});
  }
}

TEST(WordsTest, ValidUtf8StaysReadable) {
  EXPECT_EQ(Escape("gr\xc3\xbc\xc3\x9f"), "gr\xc3\xbc\xc3\x9f");
}

TEST(WordsTest, WhatCannotBeReadIsNamedByItsColumn) {
  for (const char* bad : {"set \"open", "set \\q", "set \\x4", "set \\"}) {
    auto commands = SplitCommands(bad);
    ASSERT_FALSE(commands.ok()) << bad;
    EXPECT_NE(commands.status().message().find("column 5"), absl::string_view::npos)
        << commands.status();
  }
}

}  // namespace
}  // namespace arion::shell
