// SPDX-License-Identifier: Apache-2.0
#include "messages/index_definition.h"

#include <absl/status/status.h>
#include <gtest/gtest.h>

namespace arion {
namespace {

using Source = IndexDefinition::Source;
using Step = IndexDefinition::Step;

TEST(IndexDefinitionTest, APathNamesMembersAndElements) {
  const auto definition = IndexDefinition::Parse("$.lines[0].sku");
  ASSERT_TRUE(definition.ok()) << definition.status();
  EXPECT_EQ(definition->source, Source::kField);
  EXPECT_EQ(
      definition->path,
      (std::vector<Step>{{.member = "lines"}, {.member = {}, .element = 0}, {.member = "sku"}}));
  EXPECT_EQ(definition->generation, 0);
  EXPECT_FALSE(definition->is_paused);
}

TEST(IndexDefinitionTest, BytesHaveAnOffsetAndALength) {
  const auto definition = IndexDefinition::Parse("bytes(16,8);generation=2;paused");
  ASSERT_TRUE(definition.ok()) << definition.status();
  EXPECT_EQ(definition->source, Source::kBytes);
  EXPECT_EQ(definition->offset, 16u);
  EXPECT_EQ(definition->length, 8u);
  EXPECT_EQ(definition->generation, 2);
  EXPECT_TRUE(definition->is_paused);
}

TEST(IndexDefinitionTest, TheTextOfADefinitionIsReadAsTheSame) {
  for (const char* text :
       {"value", "value;paused", "$.a", "$[3]", "$.customer.city", "$.lines[0].sku;generation=7",
        "$.a_b-c@d", "bytes(0,1)", "bytes(67108864,1024)", "bytes(16,8);generation=2;paused"}) {
    const auto definition = IndexDefinition::Parse(text);
    ASSERT_TRUE(definition.ok()) << definition.status();
    EXPECT_EQ(definition->Text(), text);
    EXPECT_EQ(*IndexDefinition::Parse(definition->Text()), *definition);
  }
  EXPECT_EQ(IndexDefinition::Parse("value;paused;generation=2")->Text(),
            "value;generation=2;paused")
      << "what follows comes in any order";
}

TEST(IndexDefinitionTest, WhatIsNoDefinitionIsRefusedWithWhatWasExpected) {
  std::string deep = "$";
  for (size_t i = 0; i <= kIndexPathDepthMax; ++i) deep += ".a";
  for (const std::string& bad : {std::string(),
                                 std::string("Value"),
                                 std::string("value "),
                                 std::string("$"),
                                 std::string("$."),
                                 std::string("$a"),
                                 std::string("$.a."),
                                 std::string("$..a"),
                                 std::string("$.a b"),
                                 std::string("$.a[]"),
                                 std::string("$.a[-1]"),
                                 std::string("$.a[x]"),
                                 std::string("$.a[1"),
                                 std::string("$.a[9999999]"),
                                 std::string("$.a['b']"),
                                 std::string("bytes"),
                                 std::string("bytes()"),
                                 std::string("bytes(1)"),
                                 std::string("bytes(1,0)"),
                                 std::string("bytes(-1,8)"),
                                 std::string("bytes(1,1025)"),
                                 std::string("bytes(67108865,1)"),
                                 std::string("bytes(1,2,3)"),
                                 std::string("value;"),
                                 std::string("value;pause"),
                                 std::string("value;paused;paused"),
                                 std::string("value;generation=0"),
                                 std::string("value;generation=-1"),
                                 std::string("value;generation=x"),
                                 std::string("value;generation=1;generation=2"),
                                 deep,
                                 "$." + std::string(kIndexDefinitionBytesMax, 'a')}) {
    const absl::Status status = IndexDefinition::Parse(bad).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << bad;
    EXPECT_NE(status.message().find("expected $.a.b"), absl::string_view::npos) << bad;
  }
}

TEST(IndexDefinitionTest, NeitherAPauseNorAGenerationChangesWhatItIsOn) {
  const auto of = [](const char* text) { return *IndexDefinition::Parse(text); };
  EXPECT_TRUE(of("$.a").IsSameContent(of("$.a;paused")));
  EXPECT_TRUE(of("$.a;paused").IsSameContent(of("$.a")));
  EXPECT_TRUE(of("$.a").IsSameContent(of("$.a;generation=1")));
  EXPECT_FALSE(of("$.a").IsSameContent(of("$.b")));
}

TEST(IndexDefinitionTest, NamesAreShortWords) {
  for (const std::string& good :
       {std::string("a"), std::string("by-City_2"), std::string(kIndexNameBytesMax, 'n')})
    EXPECT_TRUE(IsIndexName(good)) << good;
  for (const std::string& bad :
       {std::string(), std::string("a.b"), std::string("a b"), std::string("\xc3\xa4"),
        std::string(kIndexNameBytesMax + 1, 'n'), std::string("a\0", 2)})
    EXPECT_FALSE(IsIndexName(bad)) << bad;
  EXPECT_EQ(IndexEnvKey("city"), "index.city");
  EXPECT_EQ(IndexNameOf("index.city"), "city");
  EXPECT_EQ(IndexNameOf("index."), "");
  EXPECT_EQ(IndexNameOf("index"), std::nullopt);
  EXPECT_EQ(IndexNameOf("default_ttl"), std::nullopt);
}

}  // namespace
}  // namespace arion
