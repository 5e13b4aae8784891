// The list of a replica's indexes. SPDX-License-Identifier: Apache-2.0
#include "indexes/index_list.h"

#include <gtest/gtest.h>

namespace arion {
namespace {

IndexList TwoIndexes() {
  return {.next_id = 8,
          .serial = 77,
          .indexes = {{.id = 3,
                       .is_whole = true,
                       .name = "by_city",
                       .definition = *IndexDefinition::Parse("$.customer.city;generation=2")},
                      {.id = 7,
                       .name = "first",
                       .definition = *IndexDefinition::Parse("bytes(0,4)"),
                       .entries = 12,
                       .left_out = 3}}};
}

TEST(IndexListTest, WhatIsEncodedIsDecoded) {
  for (const IndexList& list : {IndexList{}, TwoIndexes()}) {
    const auto decoded = IndexList::Decode(list.Encode());
    ASSERT_TRUE(decoded.ok()) << decoded.status();
    EXPECT_EQ(*decoded, list);
  }
}

TEST(IndexListTest, WhatIsDamagedIsSaidToBe) {
  const std::string good = TwoIndexes().Encode();
  for (size_t i = 0; i < good.size(); ++i) {
    std::string bad = good;
    bad[i] = static_cast<char>(bad[i] ^ 1);
    EXPECT_TRUE(absl::IsDataLoss(IndexList::Decode(bad).status())) << i;
    EXPECT_FALSE(IndexList::Decode(good.substr(0, i)).ok()) << i;
  }
}

}  // namespace
}  // namespace arion
