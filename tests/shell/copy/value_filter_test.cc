// SPDX-License-Identifier: Apache-2.0
#include "tools/shell/copy/value_filter.h"

#include <gtest/gtest.h>

namespace arion::shell {
namespace {

bool Passes(const char* type, std::string_view value) {
  return ValueFilter::Make(type, "ab")->Passes(value);
}

TEST(ValueFilterTest, EachTypeLooksElsewhere) {
  EXPECT_TRUE(Passes("anywhere", "xaby") && Passes("anywhere", "ab"));
  EXPECT_FALSE(Passes("anywhere", "xa"));
  EXPECT_TRUE(Passes("prefix", "aby") && !Passes("prefix", "xab"));
  EXPECT_TRUE(Passes("postfix", "xab") && !Passes("postfix", "aby"));
  EXPECT_TRUE(Passes("exact", "ab") && !Passes("exact", "abx"));
  EXPECT_TRUE(ValueFilter().Passes(""));
  EXPECT_TRUE(ValueFilter::Make("", "")->TakesAll());
}

TEST(ValueFilterTest, OneWithoutTheOtherIsRefused) {
  for (const auto& [type, pattern] : {std::pair("", "a"), {"prefix", ""}, {"begins", "a"}})
    EXPECT_TRUE(absl::IsInvalidArgument(ValueFilter::Make(type, pattern).status()));
}

}  // namespace
}  // namespace arion::shell
