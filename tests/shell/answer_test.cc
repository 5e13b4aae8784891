// SPDX-License-Identifier: Apache-2.0
#include "tools/shell/answer.h"

#include <gtest/gtest.h>

namespace arion::shell {
namespace {

Answer Example() {
  Answer answer;
  answer.Add("name", std::string("temp")).Add("id", int64_t{2});
  answer.AddList({"partitions",
                  {"index", "primary", "secondaries"},
                  {{int64_t{0}, std::string("127.0.0.1:1"), std::vector<std::string>{"a", "b"}},
                   {int64_t{10}, std::string(), std::vector<std::string>{}}}});
  return answer;
}

TEST(AnswerTest, TextIsAlignedAndNumbersToTheRight) {
  EXPECT_EQ(Example().ToText(),
            "name  temp\n"
            "id    2\n"
            "INDEX  PRIMARY      SECONDARIES\n"
            "    0  127.0.0.1:1  a,b\n"
            "   10  -            -\n");
}

TEST(AnswerTest, JsonHasTheSameNamesInOneLine) {
  EXPECT_EQ(Example().ToJson(),
            "{\"name\":\"temp\",\"id\":2,\"partitions\":[{\"index\":0,\"primary\":\"127.0.0.1:1\","
            "\"secondaries\":"
            "[\"a\",\"b\"]},{\"index\":10,\"primary\":\"\",\"secondaries\":[]}]}\n");
}

TEST(AnswerTest, ALineStandsForTheFieldsInTextOnly) {
  Answer answer;
  answer.Add("value", std::string("a\"b")).Say("\"a\\\"b\"");
  EXPECT_EQ(answer.ToText(), "\"a\\\"b\"\n");
  EXPECT_EQ(answer.ToJson(), "{\"value\":\"a\\\"b\"}\n");
}

TEST(AnswerTest, AnEmptyListHasItsHeader) {
  Answer answer;
  answer.AddList({"nodes", {"address", "state"}, {}});
  EXPECT_EQ(answer.ToText(), "ADDRESS  STATE\n");
  EXPECT_EQ(answer.ToJson(), "{\"nodes\":[]}\n");
}

}  // namespace
}  // namespace arion::shell
