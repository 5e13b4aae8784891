// The order, bounds and pages of an index as the model states them, and what it must refuse of one
// answer.
// SPDX-License-Identifier: Apache-2.0
#include "sim_checkers/find_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>

#include "base/raw_key.h"

namespace arion::sim {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

IndexDefinition On(std::string_view text) { return *IndexDefinition::Parse(text); }
std::string Key(std::string_view sort_key) { return JoinRawKey("h", sort_key); }

constexpr char kObject[] = R"({"n":2,"t":"ab","o":{"a":[1,4]},"v":"v17"})";

TEST(FindModel, AFieldIsWhatTheDefinitionNames) {
  EXPECT_EQ(IndexedField(On("$.n"), kObject), FieldValue::Of(int64_t{2}));
  EXPECT_EQ(IndexedField(On("$.t"), kObject), FieldValue::Of(std::string("ab")));
  EXPECT_EQ(IndexedField(On("$.o.a[0]"), kObject), FieldValue::Of(int64_t{1}));
  EXPECT_EQ(IndexedField(On("$.o.a[1]"), kObject), FieldValue::Of(int64_t{4}));
  EXPECT_EQ(IndexedField(On("$.o.a[2]"), kObject), std::nullopt);
  EXPECT_EQ(IndexedField(On("$.o"), kObject), std::nullopt);
  EXPECT_EQ(IndexedField(On("$.n"), R"({"n":1.5,"v":"v1"})"), FieldValue::Of(1.5));
  EXPECT_EQ(IndexedField(On("$.n"), R"({"n":true,"v":"v1"})"), FieldValue::Of(true));
  EXPECT_EQ(IndexedField(On("$.n"), R"({"n":null,"v":"v1"})"), std::nullopt);
  EXPECT_EQ(IndexedField(On("$.n"), R"({"v":"v1"})"), std::nullopt);
  EXPECT_EQ(IndexedField(On("$.n"), "5000"), std::nullopt);
  EXPECT_EQ(IndexedField(On("value"), "v5"), FieldValue::Of(std::string("v5")));
  EXPECT_EQ(IndexedField(On("bytes(1,2)"), "v57"), FieldValue::Of(std::string("57")));
  EXPECT_EQ(IndexedField(On("bytes(1,2)"), "v5"), std::nullopt);
}

TEST(FindModel, PositionsHaveTheOrderOfTheFieldsThenOfTheKeys) {
  const std::vector<FieldValue> fields = {FieldValue::Of(false),
                                          FieldValue::Of(true),
                                          FieldValue::Of(int64_t{-2}),
                                          FieldValue::Of(int64_t{0}),
                                          FieldValue::Of(1.5),
                                          FieldValue::Of(int64_t{2}),
                                          FieldValue::Of(std::string()),
                                          FieldValue::Of(std::string("a")),
                                          FieldValue::Of(std::string("a\0", 2)),
                                          FieldValue::Of(std::string("ab")),
                                          FieldValue::Of(std::string("b"))};
  std::string last;
  for (const FieldValue& field : fields)
    for (const char* sort_key : {"a", "b"}) {
      const std::string position = FoundPosition(field, Key(sort_key));
      EXPECT_LT(last, position);
      last = position;
    }
  EXPECT_EQ(FoundPosition(FieldValue::Of(int64_t{1}), "k"),
            FoundPosition(FieldValue::Of(1.0), "k"));
  EXPECT_EQ(FoundPosition(FieldValue::Of(0.0), "k"), FoundPosition(FieldValue::Of(-0.0), "k"));
}

FindPage PageOf(FindRequest request) {
  request.index = "number";
  return {.definition = On("$.n"), .request = std::move(request), .next = {}};
}
std::string Numbered(int n) { return R"({"n":)" + std::to_string(n) + R"(,"v":"v1"})"; }
// Which of the numbers 0 to 4 the answer had to hold.
std::vector<int> Asked(const FindPage& page) {
  std::vector<int> numbers;
  for (int n = 0; n < 5; ++n)
    if (PlaceInPage(page, Key("a"), Numbered(n))) numbers.push_back(n);
  return numbers;
}
std::string Place(int64_t n) { return FoundPosition(FieldValue::Of(n), Key("a")); }

TEST(FindModel, BoundsSayWhatIsAskedFor) {
  const FieldValue one = FieldValue::Of(int64_t{1}), three = FieldValue::Of(3.0);
  EXPECT_THAT(Asked(PageOf({})), ElementsAre(0, 1, 2, 3, 4));
  EXPECT_THAT(Asked(PageOf({.lower = one, .upper = one})), ElementsAre(1));
  EXPECT_THAT(Asked(PageOf({.lower = one, .upper = three})), ElementsAre(1, 2, 3));
  EXPECT_THAT(Asked(PageOf({.lower = one, .upper = three, .lower_inclusive = false})),
              ElementsAre(2, 3));
  EXPECT_THAT(Asked(PageOf({.lower = one, .upper = three, .upper_inclusive = false})),
              ElementsAre(1, 2));
  EXPECT_THAT(Asked(PageOf({.lower = three})), ElementsAre(3, 4));
  EXPECT_THAT(Asked(PageOf({.upper = one})), ElementsAre(0, 1));
  EXPECT_THAT(Asked(PageOf({.lower = FieldValue::Of(true)})), IsEmpty());
  EXPECT_THAT(Asked(PageOf({.lower = FieldValue::Of(std::string())})), IsEmpty());
  EXPECT_THAT(Asked(PageOf({.prefix = Blob("")})), IsEmpty());
}

TEST(FindModel, APageSpeaksOfWhatLiesBetweenItsEnds) {
  FindPage page = PageOf({.after = Blob(Place(1))});
  EXPECT_THAT(Asked(page), ElementsAre(2, 3, 4));
  page.next = Place(3);
  EXPECT_THAT(Asked(page), ElementsAre(2, 3));
  page = PageOf({.descending = true, .after = Blob(Place(3))});
  EXPECT_THAT(Asked(page), ElementsAre(0, 1, 2));
  page.next = Place(1);
  EXPECT_THAT(Asked(page), ElementsAre(1, 2));
}

FoundRow RowOf(int64_t n, std::string_view sort_key = "a") {
  FoundRow row{.key = Blob(Key(sort_key)), .field = FieldValue::Of(n)};
  row.position = FoundPosition(row.field, row.key);
  return row;
}

TEST(FindModel, RowsAreInOrderAndOnceAndWithinTheBounds) {
  FindPage page = PageOf({.lower = FieldValue::Of(int64_t{1}), .limit = 3});
  EXPECT_THAT(JudgeRows(page, {.rows = {RowOf(1), RowOf(1, "b"), RowOf(2)}}), IsEmpty());
  EXPECT_THAT(JudgeRows(page, {.rows = {RowOf(2), RowOf(1)}}),
              ElementsAre(HasSubstr("checkers/C10")));
  EXPECT_THAT(JudgeRows(page, {.rows = {RowOf(1), RowOf(1)}}),
              ElementsAre(HasSubstr("out of order")));
  EXPECT_THAT(JudgeRows(page, {.rows = {RowOf(0)}}), ElementsAre(HasSubstr("not asked for")));
  EXPECT_THAT(JudgeRows(page, {.rows = {RowOf(1), RowOf(2), RowOf(3), RowOf(4)}}),
              ElementsAre(HasSubstr("more rows")));
  page.next = Place(2);
  EXPECT_THAT(JudgeRows(page, {.rows = {RowOf(3)}}), ElementsAre(HasSubstr("not of the page")));
  page = PageOf({.descending = true});
  EXPECT_THAT(JudgeRows(page, {.rows = {RowOf(2), RowOf(1)}}), IsEmpty());
  EXPECT_THAT(JudgeRows(page, {.rows = {RowOf(1), RowOf(2)}}),
              ElementsAre(HasSubstr("out of order")));
}

TEST(FindModel, ARowIsThatOfItsFieldAndValue) {
  FindPage page = PageOf({.with_value = true});
  FoundRow row = RowOf(2);
  EXPECT_THAT(JudgeRows(page, {.rows = {row}}), ElementsAre(HasSubstr("or none")));
  row.value = Blob(Numbered(2));
  EXPECT_THAT(JudgeRows(page, {.rows = {row}}), IsEmpty());
  row.value = Blob(Numbered(3));
  EXPECT_THAT(JudgeRows(page, {.rows = {row}}), ElementsAre(HasSubstr("not that of its value")));
  page.request.with_value = false;
  row.value.reset();
  row.field = FieldValue::Of(int64_t{3});
  EXPECT_THAT(JudgeRows(page, {.rows = {row}}), ElementsAre(HasSubstr("not that of its field")));
}

}  // namespace
}  // namespace arion::sim
