// The list of a replica's indexes. SPDX-License-Identifier: Apache-2.0
#include "indexes/index_list.h"

#include <gtest/gtest.h>

namespace arion {
namespace {

IndexList TwoIndexes() {
  return {.next_id = 9,
          .serial = 77,
          .built_store_bytes = 5,
          .built_data_bytes = 6,
          .indexes = {{.name = "by_city",
                       .definition = *IndexDefinition::Parse("$.customer.city;generation=2"),
                       .whole_at = Decree(70),
                       .current = {.id = 3, .entries = 9, .left_out = 1},
                       .successor = IndexGeneration{.id = 8, .entries = 2}},
                      {.name = "first",
                       .definition = *IndexDefinition::Parse("bytes(0,4)"),
                       .current = {.id = 7, .entries = 12, .left_out = 3}}}};
}

IndexList WithWalk() {
  IndexList list = TwoIndexes();
  list.walk = {.ids = {7, 8},
               .from = std::string("a\0b\t\n,", 6),
               .at = Decree(76),
               .records = 1000,
               .bytes = 123456,
               .files = {"run0.0.sst", "run1.0.sst"}};
  return list;
}

TEST(IndexListTest, WhatIsEncodedIsDecoded) {
  for (const IndexList& list : {IndexList{}, TwoIndexes(), WithWalk()}) {
    const auto decoded = IndexList::Decode(list.Encode());
    ASSERT_TRUE(decoded.ok()) << decoded.status();
    EXPECT_EQ(*decoded, list);
  }
}

TEST(IndexListTest, WhatIsDamagedIsSaidToBe) {
  const std::string good = WithWalk().Encode();
  for (size_t i = 0; i < good.size(); ++i) {
    std::string bad = good;
    bad[i] = static_cast<char>(bad[i] ^ 1);
    EXPECT_TRUE(absl::IsDataLoss(IndexList::Decode(bad).status())) << i;
    EXPECT_FALSE(IndexList::Decode(good.substr(0, i)).ok()) << i;
  }
}

}  // namespace
}  // namespace arion
