// Fields as bytes, and the entries that a request is about. SPDX-License-Identifier: Apache-2.0
#include "indexes/field_order.h"

#include <gtest/gtest.h>

#include <limits>
#include <random>
#include <vector>

#include "base/raw_key.h"

namespace arion {
namespace {

std::string Bytes(const FieldValue& field) {
  std::string bytes;
  EXPECT_TRUE(AppendField(field, &bytes));
  return bytes;
}
FieldValue Text(std::string text) { return FieldValue::Of(std::move(text)); }
FieldValue Int(int64_t number) { return FieldValue::Of(number); }
FieldValue Real(double number) { return FieldValue::Of(number); }

TEST(FieldOrderTest, BytesAreInTheOrderOfTheFields) {
  constexpr int64_t kMin = std::numeric_limits<int64_t>::min();
  constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
  const std::vector<FieldValue> rising = {FieldValue::Of(false),
                                          FieldValue::Of(true),
                                          Real(-std::numeric_limits<double>::infinity()),
                                          Real(-1e300),
                                          Int(kMin),
                                          Int(kMin + 1),
                                          Int(-(int64_t{1} << 53) - 1),
                                          Int(-(int64_t{1} << 53)),
                                          Int(-1),
                                          Real(-0.5),
                                          Int(0),
                                          Real(1e-300),
                                          Int(1),
                                          Real(1.5),
                                          Int(2),
                                          Int(int64_t{1} << 53),
                                          Int((int64_t{1} << 53) + 1),
                                          Int(kMax - 1),
                                          Int(kMax),
                                          Real(0x1p63),
                                          Real(1e300),
                                          Real(std::numeric_limits<double>::infinity()),
                                          Text(""),
                                          Text(std::string("\0", 1)),
                                          Text(std::string("\0\0", 2)),
                                          Text(std::string("\0a", 2)),
                                          Text(std::string("\0\xff", 2)),
                                          Text("\x01"),
                                          Text("a"),
                                          Text(std::string("a\0", 2)),
                                          Text("aa"),
                                          Text("b"),
                                          Text("\xff")};
  for (size_t i = 0; i < rising.size(); ++i) {
    for (size_t k = 0; k < rising.size(); ++k) {
      const int wanted = i < k ? -1 : i > k ? 1 : 0;
      const int bytes = Bytes(rising[i]).compare(Bytes(rising[k]));
      EXPECT_EQ(bytes < 0 ? -1 : bytes > 0 ? 1 : 0, wanted) << i << " " << k;
      const int order = CompareFields(rising[i], rising[k]);
      EXPECT_EQ(order < 0 ? -1 : order > 0 ? 1 : 0, wanted) << i << " " << k;
    }
  }
}

TEST(FieldOrderTest, ANumberIsOneHoweverItIsWritten) {
  EXPECT_EQ(Bytes(Int(5)), Bytes(Real(5)));
  EXPECT_EQ(Bytes(Real(0.0)), Bytes(Real(-0.0)));
  EXPECT_EQ(CompareFields(Int(5), Real(5)), 0);
}

TEST(FieldOrderTest, WhatIsNoFieldIsRefused) {
  std::string bytes = "kept";
  EXPECT_FALSE(AppendField(Real(std::numeric_limits<double>::quiet_NaN()), &bytes));
  EXPECT_FALSE(AppendField({.kind = 99}, &bytes));
  EXPECT_EQ(bytes, "kept");
}

TEST(FieldOrderTest, AnEntryIsTakenApartAgain) {
  const std::string key = JoinRawKey("user", std::string("\0\x01", 2));
  for (const FieldValue& field : {Text(std::string("a\0b", 3)), Int(7), FieldValue::Of(true)}) {
    const std::string position = Bytes(field) + key;
    const std::string bytes = EntryPrefix(9) + position;
    const std::optional<IndexEntry> entry = SplitEntry(bytes);
    ASSERT_TRUE(entry.has_value());
    EXPECT_EQ(entry->field, Bytes(field));
    EXPECT_EQ(entry->raw_key, key);
    EXPECT_EQ(entry->position, position);
  }
}

TEST(FieldOrderTest, NoBytesAreMoreThanNoEntry) {
  std::mt19937 random(1);
  for (int i = 0; i < 20000; ++i) {
    std::string bytes = i % 2 == 0 ? EntryPrefix(1) : std::string();
    const size_t length = random() % 20;
    for (size_t k = 0; k < length; ++k) {
      constexpr char kLikely[] = {0x21, 0x22, 0x30, 0x40, 0x00, 0x01, static_cast<char>(0xff)};
      bytes.push_back(random() % 2 == 0 ? kLikely[random() % 7] : static_cast<char>(random()));
    }
    if (const auto entry = SplitEntry(bytes)) {
      EXPECT_EQ(std::string(entry->field) + std::string(entry->raw_key), entry->position);
    }
  }
}

TEST(FieldOrderTest, LongStringsCountUpToABound) {
  const std::string same(kFieldBytesMax, 'x');
  EXPECT_EQ(Bytes(Text(same + "a")), Bytes(Text(same + "b")));
  EXPECT_LT(CompareFields(Text(same + "a"), Text(same + "b")), 0) << "whole strings are compared";
}

class EntriesOfTest : public testing::Test {
 protected:
  static bool Holds(const FindRequest& request, const FieldValue& field) {
    const absl::StatusOr<KeyRange> range = EntriesOf(request, 3);
    EXPECT_TRUE(range.ok()) << range.status();
    const std::string entry = EntryPrefix(3) + Bytes(field) + "key";
    const bool holds = range->first <= entry && (range->end.empty() || entry < range->end);
    // What is within the bounds is in the range; the range may hold a little more.
    if (IsWithin(request, field)) {
      EXPECT_TRUE(holds);
    }
    return holds && IsWithin(request, field);
  }
};

TEST_F(EntriesOfTest, EachBound) {
  FindRequest request{.lower = Int(5), .upper = Int(5)};
  EXPECT_TRUE(Holds(request, Int(5)));
  EXPECT_TRUE(Holds(request, Real(5)));
  EXPECT_FALSE(Holds(request, Int(4)));
  EXPECT_FALSE(Holds(request, Real(5.5)));

  request = {.lower = Int(5), .lower_inclusive = false};
  EXPECT_FALSE(Holds(request, Int(5)));
  EXPECT_TRUE(Holds(request, Int(6)));
  EXPECT_FALSE(Holds(request, Text("6"))) << "of another kind";
  EXPECT_FALSE(Holds(request, FieldValue::Of(true)));

  request = {.upper = Text("m"), .upper_inclusive = true};
  EXPECT_TRUE(Holds(request, Text("m")));
  EXPECT_TRUE(Holds(request, Text("")));
  EXPECT_FALSE(Holds(request, Text("n")));
  EXPECT_FALSE(Holds(request, Int(1)));

  request = {.lower = FieldValue::Of(false)};
  EXPECT_TRUE(Holds(request, FieldValue::Of(false)));
  EXPECT_TRUE(Holds(request, FieldValue::Of(true)));
  EXPECT_FALSE(Holds(request, Int(0)));

  request = {.prefix = Blob("ab")};
  EXPECT_TRUE(Holds(request, Text("ab")));
  EXPECT_TRUE(Holds(request, Text("abz")));
  EXPECT_FALSE(Holds(request, Text("aa")));
  EXPECT_FALSE(Holds(request, Text("b")));

  request = {};
  for (const FieldValue& field : {Text("x"), Int(1), FieldValue::Of(false)})
    EXPECT_TRUE(Holds(request, field));
}

TEST_F(EntriesOfTest, BoundsOfTwoKindsAreRefused) {
  EXPECT_FALSE(EntriesOf({.lower = Int(1), .upper = Text("a")}, 1).ok());
  EXPECT_FALSE(EntriesOf({.lower = FieldValue{.kind = 77}}, 1).ok());
}

TEST_F(EntriesOfTest, ItGoesOnBehindAPlaceInEitherDirection) {
  const std::string place = Bytes(Int(5)) + "key";
  const auto forward = EntriesOf({.after = Blob(place)}, 3);
  const auto backward = EntriesOf({.descending = true, .after = Blob(place)}, 3);
  ASSERT_TRUE(forward.ok() && backward.ok());
  const std::string entry = EntryPrefix(3) + place;
  EXPECT_GT(forward->first, entry);
  EXPECT_LE(forward->first, entry + std::string(1, '\0'));
  EXPECT_EQ(backward->end, entry);
}

}  // namespace
}  // namespace arion
