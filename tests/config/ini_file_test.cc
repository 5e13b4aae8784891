// SPDX-License-Identifier: Apache-2.0
#include "config/ini_file.h"

#include <gtest/gtest.h>

namespace arion {
namespace {

TEST(IniFileTest, SectionsKeysAndLinesAreKept) {
  absl::StatusOr<IniFile> file = IniFile::Parse(
      "; about us\r\n"
      "[arion.server]\r\n"
      "cluster_name = one box  ; the small one\n"
      "\n"
      "[apps.meta]\n"
      "  ports=34601\n"
      "run\n",
      "a.ini");
  ASSERT_TRUE(file.ok()) << file.status();
  ASSERT_EQ(file->entries().size(), 3u);
  EXPECT_EQ(file->entries()[0].section, "arion.server");
  EXPECT_EQ(file->entries()[0].value, "one box");
  EXPECT_EQ(file->entries()[0].line, 3);
  EXPECT_EQ(file->entries()[1].key, "ports");
  EXPECT_EQ(file->entries()[1].value, "34601");
  EXPECT_EQ(file->entries()[2].key, "run");
  EXPECT_EQ(file->entries()[2].value, "");
}

TEST(IniFileTest, AHashInsideAValueStays) {
  absl::StatusOr<IniFile> file = IniFile::Parse("[a]\nk = x#y;z\n", "a.ini");
  ASSERT_TRUE(file.ok());
  EXPECT_EQ(file->entries()[0].value, "x#y;z");
}

TEST(IniFileTest, EveryUnreadableLineIsNamedByFileAndLine) {
  struct Case {
    std::string content, expected;
  };
  const Case cases[] = {
      {"[a\nk = v\n", "a.ini:1: "},
      {"\nk = v\n", "a.ini:2: "},
      {"[a]\n= v\n", "a.ini:2: "},
      {"[]\n", "a.ini:1: "},
      {std::string("[a]\nk = v\0w\n", 11), "a.ini:2: "},
  };
  for (const Case& c : cases) {
    absl::StatusOr<IniFile> file = IniFile::Parse(c.content, "a.ini");
    ASSERT_FALSE(file.ok()) << c.content;
    EXPECT_EQ(std::string(file.status().message()).substr(0, c.expected.size()), c.expected);
  }
}

TEST(IniFileTest, AMissingFileSaysItsPath) {
  absl::StatusOr<IniFile> file = IniFile::Load("/nowhere/arion.ini");
  ASSERT_TRUE(absl::IsNotFound(file.status()));
  EXPECT_NE(std::string(file.status().message()).find("/nowhere/arion.ini"), std::string::npos);
}

}  // namespace
}  // namespace arion
