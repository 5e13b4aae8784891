// The fields of values. SPDX-License-Identifier: Apache-2.0
#include "indexes/field_reader.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>

namespace arion {
namespace {

class FieldReaderTest : public testing::Test {
 protected:
  // Definition -> what is found, as text.
  using Found = std::map<std::string, std::string>;

  static std::string TextOf(const FieldValue& field) {
    switch (field.kind) {
      case FieldValue::kBool:
        return field.integer != 0 ? "true" : "false";
      case FieldValue::kInteger:
        return std::to_string(field.integer);
      case FieldValue::kDouble:
        return "double " + std::to_string(field.number());
      default:
        return "\"" + field.string.bytes + "\"";
    }
  }
  static Found Read(const std::vector<std::string>& texts, std::string_view value) {
    std::vector<IndexDefinition> definitions;
    for (const std::string& text : texts) {
      auto definition = IndexDefinition::Parse(text);
      EXPECT_TRUE(definition.ok()) << definition.status();
      definitions.push_back(*definition);
    }
    FieldReader reader(definitions);
    Found found;
    // Twice: nothing is left of the first.
    reader.Read(value);
    for (const FieldReader::Found& one : reader.Read(value))
      EXPECT_TRUE(found.emplace(texts.at(one.at), TextOf(one.field)).second);
    return found;
  }
};

TEST_F(FieldReaderTest, EachKindOfField) {
  const char value[] =
      R"({"b":true,"i":-7,"u":18446744073709551615,"d":1.5,"s":"t\u0000x","n":null,"o":{"x":{"y":"deep"}},)"
      R"("a":[10,[20,21],{"k":"in"}]})";
  const Found found = Read({"$.b", "$.i", "$.u", "$.d", "$.s", "$.n", "$.o", "$.o.x.y", "$.a[0]",
                            "$.a[1][1]", "$.a[2].k", "$.a[9]", "$.none"},
                           value);
  EXPECT_EQ(found, (Found{{"$.b", "true"},
                          {"$.i", "-7"},
                          {"$.u", "double 18446744073709551616.000000"},
                          {"$.d", "double 1.500000"},
                          {"$.s", std::string("\"t\0x\"", 5)},
                          {"$.o.x.y", "\"deep\""},
                          {"$.a[0]", "10"},
                          {"$.a[1][1]", "21"},
                          {"$.a[2].k", "\"in\""}}));
}

TEST_F(FieldReaderTest, NumbersAreExact) {
  EXPECT_EQ(Read({"$.a", "$.b", "$.c"}, R"({"a":9223372036854775807,"b":-0,"c":1e2})"),
            (Found{{"$.a", "9223372036854775807"}, {"$.b", "0"}, {"$.c", "double 100.000000"}}));
  FieldReader reader({*IndexDefinition::Parse("$.a")});
  // The second had undefined behaviour where the JSON reader computed it.
  for (const auto& [text, number] : std::vector<std::pair<std::string, double>>{
           {"3.00000000000000000000000000000000000000001e-7", 3e-7},
           {"0.000000000000000000000000000000e-30", 0},
           {"123456789012345678901234567890", 123456789012345678901234567890.0}}) {
    const auto& found = reader.Read("{\"a\":" + text + "}");
    ASSERT_EQ(found.size(), 1u) << text;
    EXPECT_EQ(found[0].field.number(), number) << text;
  }
  EXPECT_EQ(Read({"$.a", "$.b"}, R"({"a":1e-5000,"b":1})"), (Found{{"$.b", "1"}}));
}

TEST_F(FieldReaderTest, AMemberAndAnElementOfOnePlace) {
  EXPECT_EQ(Read({"$.a.x", "$.a[0]"}, R"({"a":{"y":5,"x":1}})"), (Found{{"$.a.x", "1"}}));
  EXPECT_EQ(Read({"$.a.x", "$.a[0]"}, R"({"a":[3,4]})"), (Found{{"$.a[0]", "3"}}));
}

TEST_F(FieldReaderTest, OneIndexOfTwoOnOneField) {
  EXPECT_EQ(Read({"$.a", "$.a;generation=2"}, R"({"a":1})"),
            (Found{{"$.a", "1"}, {"$.a;generation=2", "1"}}));
}

TEST_F(FieldReaderTest, TheFirstOfSeveralMembersCounts) {
  EXPECT_EQ(Read({"$.a", "$.z"}, R"({"a":1,"a":2})"), (Found{{"$.a", "1"}}));
}

TEST_F(FieldReaderTest, WholeValuesAndBytes) {
  EXPECT_EQ(Read({"value", "bytes(1,2)", "bytes(3,9)", "$.a"}, "abcd"),
            (Found{{"value", "\"abcd\""}, {"bytes(1,2)", "\"bc\""}}));
}

TEST_F(FieldReaderTest, WhatWasFoundBeforeAnErrorCountsWhateverElseIsLookedFor) {
  const std::string value = R"({"a":1,"b":)";
  EXPECT_EQ(Read({"$.a"}, value), (Found{{"$.a", "1"}}));
  EXPECT_EQ(Read({"$.a", "$.b", "$.c"}, value), (Found{{"$.a", "1"}}));
}

TEST_F(FieldReaderTest, NestingAndSizeAreBounded) {
  const std::string deep(100'000, '[');
  EXPECT_EQ(Read({"$.a"}, deep), Found());
  const std::string behind = R"({"a":1,"x":)" + deep;
  EXPECT_EQ(Read({"$.a", "$.b"}, behind), (Found{{"$.a", "1"}}));
  const std::string long_one = R"({"x":")" + std::string(2 << 20, 'x') + R"(","a":1})";
  EXPECT_EQ(Read({"$.a"}, long_one), Found());
}

TEST_F(FieldReaderTest, AnyBytes) {
  std::mt19937 random(7);
  const std::string good = R"({"a":{"b":[1,{"c":"x"},true,null]},"d":1.5e3,"e":"\u00e9"})";
  for (int i = 0; i < 20000; ++i) {
    std::string bad = good;
    for (int k = 0; k < 3; ++k) bad[random() % bad.size()] = static_cast<char>(random());
    if (i % 3 == 0) bad.resize(random() % bad.size());
    // Alone and beside others a field is the same.
    const Found all = Read({"$.a.b[1].c", "$.d", "$.e", "$.none"}, bad);
    for (const char* one : {"$.a.b[1].c", "$.d", "$.e"}) {
      const Found alone = Read({one}, bad);
      EXPECT_EQ(alone.contains(one), all.contains(one)) << bad;
      if (alone.contains(one) && all.contains(one)) {
        EXPECT_EQ(alone.at(one), all.at(one));
      }
    }
  }
}

}  // namespace
}  // namespace arion
