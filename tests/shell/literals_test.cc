// SPDX-License-Identifier: Apache-2.0
#include "tools/shell/literals.h"

#include <gtest/gtest.h>

#include "client/field_literal.h"

namespace arion::shell {
namespace {

TEST(LiteralsTest, WhatIsShownIsReadAsTheSame) {
  for (const IndexedValue& value :
       {IndexedValue(true), IndexedValue(int64_t{-5}), IndexedValue(0.1), IndexedValue(1e300),
        IndexedValue(-2.5e-7), IndexedValue("Berlin")}) {
    const std::string text = LiteralText(value, Escape);
    EXPECT_EQ(*ParseFieldLiteral(text), value) << text;
  }
  EXPECT_EQ(LiteralText(std::string("\0", 1), Escape), Escape(std::string("\0", 1)));
}

FindOptions Condition(const Words& words) {
  const auto options = ParseCondition(words, 0);
  EXPECT_TRUE(options.ok()) << options.status();
  return options.value_or(FindOptions());
}

TEST(LiteralsTest, ConditionsAreBounds) {
  const Words prefix = {"prefix", "1"};
  FindOptions options = Condition({"=", "5"});
  EXPECT_EQ(options.lower, IndexedValue(int64_t{5}));
  EXPECT_EQ(options.upper, IndexedValue(int64_t{5}));
  EXPECT_EQ(options.lower_bound, Bound::kInclusive);
  options = Condition({"<", "5"});
  EXPECT_EQ(options.lower, std::nullopt);
  EXPECT_EQ(options.upper, IndexedValue(int64_t{5}));
  EXPECT_EQ(options.upper_bound, Bound::kExclusive);
  EXPECT_EQ(Condition({"<=", "5"}).upper_bound, Bound::kInclusive);
  options = Condition({">", "a"});
  EXPECT_EQ(options.lower, IndexedValue("a"));
  EXPECT_EQ(options.upper, std::nullopt);
  EXPECT_EQ(options.lower_bound, Bound::kExclusive);
  EXPECT_EQ(Condition({">=", "a"}).lower_bound, Bound::kInclusive);
  options = Condition({"between", "1", "2.5"});
  EXPECT_EQ(options.lower, IndexedValue(int64_t{1}));
  EXPECT_EQ(options.upper, IndexedValue(2.5));
  EXPECT_EQ(*ParseCondition(prefix, 0)->prefix, "1") << "a text, whatever it looks like";
  options = Condition({});
  EXPECT_FALSE(options.lower || options.upper || options.prefix) << "all";
  for (const Words& bad : {Words{"="}, Words{"5"}, Words{"=", "5", "6"}, Words{"!=", "5"},
                           Words{"between", "1"}, Words{"prefix"}, Words{"=", "\"open"}})
    EXPECT_TRUE(absl::IsInvalidArgument(ParseCondition(bad, 0).status())) << bad[0];
}

TEST(LiteralsTest, SeveralIndexesAreSeparatedByCommasWhereverTheyStand) {
  const std::vector<IndexWords> both = {{"a", "$.x"}, {"b", "bytes(16,8)"}};
  for (const Words& words : {Words{"t", "a", "on", "$.x,", "b", "on", "bytes(16,8)"},
                             Words{"t", "a", "on", "$.x", ",", "b", "on", "bytes(16,", "8)"},
                             Words{"t", "a on $.x,b on bytes(16 , 8)"},
                             Words{"t", "a", "ON", "$.x", ",b", "ON", "bytes(16,8)"}}) {
    const auto indexes = ParseIndexWords(words, 1);
    ASSERT_TRUE(indexes.ok()) << indexes.status();
    EXPECT_EQ(*indexes, both);
  }
  for (const Words& bad :
       {Words{"t"}, Words{"t", "a"}, Words{"t", "a", "on"}, Words{"t", "a", "of", "value"},
        Words{"t", "a", "on", "value,"}, Words{"t", ",", "a", "on", "value"}})
    EXPECT_TRUE(absl::IsInvalidArgument(ParseIndexWords(bad, 1).status()));
}

}  // namespace
}  // namespace arion::shell
