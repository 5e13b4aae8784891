// SPDX-License-Identifier: Apache-2.0
#include "base/value_schema.h"

#include <absl/strings/escaping.h>
#include <gtest/gtest.h>

namespace arion {
namespace {

// Vectors of engine/FORMAT.md 6.
constexpr uint32_t kExpiry = 0x12345678;
constexpr TimeTag kTag{.timestamp_us = 0x0005d6e1f3a2b4, .cluster_id = 1, .deleted = false};

std::string Hex(const std::string& bytes) { return absl::BytesToHexString(bytes); }

TEST(ValueSchema, WritesTheSpecifiedBytes) {
  const StoredValue value{.expire_ts = kExpiry, .time_tag = kTag, .user_data = "v1"};
  EXPECT_EQ(Hex(EncodeValue(ValueSchema::kV0, value)), "123456787631");
  EXPECT_EQ(Hex(EncodeValue(ValueSchema::kV1, value)), "123456780005d6e1f3a2b4027631");
  EXPECT_EQ(Hex(EncodeValue(ValueSchema::kV2, value)), "82123456780005d6e1f3a2b4027631");
  EXPECT_EQ(Hex(EncodeValue(ValueSchema::kV0, {.user_data = "v1"})), "000000007631");
}

TEST(ValueSchema, ReadsWhatItWrites) {
  for (ValueSchema schema : {ValueSchema::kV0, ValueSchema::kV1, ValueSchema::kV2}) {
    const std::string bytes =
        EncodeValue(schema, {.expire_ts = kExpiry, .time_tag = kTag, .user_data = "v1"});
    auto value = ParseValue(schema, bytes);
    ASSERT_TRUE(value.ok());
    EXPECT_EQ(value->expire_ts, kExpiry);
    EXPECT_EQ(value->user_data, "v1");
    EXPECT_EQ(value->time_tag, schema == ValueSchema::kV0 ? TimeTag{} : kTag);
  }
}

TEST(ValueSchema, AValueThatNamesItsVersionIsReadByIt) {
  std::string bytes =
      EncodeValue(ValueSchema::kV2, {.expire_ts = kExpiry, .time_tag = kTag, .user_data = "v1"});
  for (char first : {'\x82', '\x83', '\xff'}) {  // later versions read as the newest known
    bytes[0] = first;
    auto value = ParseValue(ValueSchema::kV0, bytes);
    ASSERT_TRUE(value.ok());
    EXPECT_EQ(value->time_tag, kTag);
    EXPECT_EQ(value->user_data, "v1");
  }
}

TEST(ValueSchema, WhatIsTooShortIsDamage) {
  for (ValueSchema schema : {ValueSchema::kV0, ValueSchema::kV1, ValueSchema::kV2}) {
    const std::string bytes = EncodeValue(schema, {.expire_ts = kExpiry, .time_tag = kTag});
    EXPECT_TRUE(ParseValue(schema, bytes).ok());
    for (size_t n = 0; n < bytes.size(); ++n) {
      EXPECT_EQ(ParseValue(schema, std::string_view(bytes).substr(0, n)).status().code(),
                absl::StatusCode::kDataLoss);
    }
  }
}

TEST(ValueSchema, ExpiryIsInclusiveAndZeroIsNever) {
  EXPECT_FALSE(IsExpired(0, UINT32_MAX));
  EXPECT_TRUE(IsExpired(10, 10));
  EXPECT_TRUE(IsExpired(10, 11));
  EXPECT_FALSE(IsExpired(10, 9));
}

}  // namespace
}  // namespace arion
