// Values of fields as people write them. SPDX-License-Identifier: Apache-2.0
#include "client/field_literal.h"

#include <gtest/gtest.h>

namespace arion {
namespace {

TEST(FieldLiteralTest, AWordIsWhatJsonWouldCallIt) {
  struct Row {
    const char* word;
    IndexedValue value;
  };
  for (const Row& row : {Row{"5", int64_t{5}},
                         Row{"-7", int64_t{-7}},
                         Row{"0", int64_t{0}},
                         Row{"9223372036854775807", INT64_MAX},
                         Row{"9223372036854775808", 0x1p63},
                         Row{"1.5", 1.5},
                         Row{"2e3", 2000.0},
                         Row{"-0.5", -0.5},
                         Row{"true", true},
                         Row{"false", false},
                         Row{"Berlin", "Berlin"},
                         Row{"True", "True"},
                         Row{"null", "null"},
                         Row{"007", "007"},
                         Row{"0x10", "0x10"},
                         Row{"nan", "nan"},
                         Row{"inf", "inf"},
                         Row{"1e999", "1e999"},
                         Row{"5-3", "5-3"},
                         Row{"-", "-"},
                         Row{"", ""},
                         Row{"+5", "+5"},
                         Row{"\"5\"", "5"},
                         Row{"\"\\u00e4 \\\"\"", "ä \""},
                         Row{"it's", "it's"}}) {
    const auto value = ParseFieldLiteral(row.word);
    ASSERT_TRUE(value.ok()) << value.status();
    EXPECT_EQ(*value, row.value) << row.word;
  }
  for (const char* bad : {"\"", "\"a", "\"a\" b", "\"\\x\""})
    EXPECT_TRUE(absl::IsInvalidArgument(ParseFieldLiteral(bad).status())) << bad;
}

}  // namespace
}  // namespace arion
