// SPDX-License-Identifier: Apache-2.0
#include "tools/shell/arguments.h"

#include "tools/shell/older_names.h"

#include <gtest/gtest.h>

namespace arion::shell {
namespace {

TEST(ArgumentsTest, OptionsMayStandAnywhere) {
  const auto parsed = Arguments::Parse({"a", "-g", "1.2", "b", "-y", "-5"}, {"-g", "-n"}, {"-y"});
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_EQ(parsed->words(), (Words{"a", "b", "-5"}));
  EXPECT_TRUE(parsed->Has("-y"));
  EXPECT_EQ(parsed->Value("-g"), "1.2");
  EXPECT_EQ(parsed->Value("-n"), "");
  EXPECT_EQ(*parsed->Partition("-g"), (PartitionId{1, 2}));
  EXPECT_FALSE(parsed->Node("-n")->IsValid());
}

TEST(ArgumentsTest, TheOlderShellsLongNamesMeanTheShortOnes) {
  const auto parsed =
      Arguments::Parse({"--detailed", "--gpid", "1.2", "--status", "alive"}, {"-g", "-s"}, {"-d"});
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_TRUE(parsed->Has("-d"));
  EXPECT_EQ(parsed->Value("-g"), "1.2");
  EXPECT_EQ(parsed->Value("-s"), "alive");
  EXPECT_FALSE(Arguments::Parse({"--gpid", "1.2"}, {}, {}).ok()) << "no option of this command";
  EXPECT_EQ(ShortOption("--gpid"), "-g");
  EXPECT_EQ(ShortOption("--nonsense"), "--nonsense");
  EXPECT_NE(WhyAbsent("dups"), "");
  EXPECT_EQ(WhyAbsent("nodes"), "");
}

TEST(ArgumentsTest, WhatIsNoOptionOrHasNoValueIsRefused) {
  EXPECT_FALSE(Arguments::Parse({"-x"}, {}, {}).ok());
  EXPECT_FALSE(Arguments::Parse({"-g"}, {"-g"}, {}).ok());
  EXPECT_FALSE(Arguments::Parse({"-g", ""}, {"-g"}, {}).ok());
  for (const char* bad : {"1", "1.", "0.1", "1.-1", "1.2.3", "a.b"})
    EXPECT_FALSE(Arguments::Parse({"-g", bad}, {"-g"}, {})->Partition("-g").ok()) << bad;
  EXPECT_FALSE(Arguments::Parse({"-n", "host"}, {"-n"}, {})->Node("-n").ok());
}

TEST(ArgumentsTest, AnEmptyValueIsOneWhereTheCommandSaysSo) {
  const auto parsed = Arguments::Parse({"-v", ""}, {"-v", "-s"}, {}, {"-v", "-s"});
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_TRUE(parsed->Has("-v"));
  EXPECT_FALSE(parsed->Has("-s"));
}

}  // namespace
}  // namespace arion::shell
