// SPDX-License-Identifier: Apache-2.0
#include "base/key_ownership.h"

#include <gtest/gtest.h>

#include "base/raw_key.h"

namespace arion {
namespace {

TEST(KeyOwnershipTest, OwnsTheHashesThatClientsRouteToIt) {
  const KeyOwnership fifth{.index = 5, .count = 8};
  EXPECT_TRUE(fifth.Owns(0xff05));
  EXPECT_FALSE(fifth.Owns(0xff06));
  EXPECT_TRUE((KeyOwnership{.index = 7, .count = 8}).Owns(UINT64_MAX));
  EXPECT_TRUE((KeyOwnership{.index = 2, .count = 3}).Owns(5)) << "no power of two";
}

TEST(KeyOwnershipTest, WhatIsNotCheckedOwnsAll) {
  EXPECT_TRUE(KeyOwnership().Owns(7));
  EXPECT_TRUE(KeyOwnership().OwnsKey(JoinRawKey("h", "s")));
  EXPECT_TRUE((KeyOwnership{.index = 5}).Owns(6));
}

TEST(KeyOwnershipTest, EachKeyHasOnePartition) {
  for (const char* hash_key : {"", "a", "h1", "user7"})
    for (const char* sort_key : {"", "s", "t"}) {
      int owners = 0;
      for (int32_t i = 0; i < 8; ++i)
        owners += KeyOwnership{.index = i, .count = 8}.OwnsKey(JoinRawKey(hash_key, sort_key));
      EXPECT_EQ(owners, 1) << hash_key << " " << sort_key;
    }
}

TEST(KeyOwnershipTest, NothingIsDroppedWhereItIsNotKnownOrOwnsNothing) {
  EXPECT_FALSE(KeyOwnership().MayDrop());
  EXPECT_FALSE((KeyOwnership{.index = 8, .count = 8}).MayDrop())
      << "a child that is not registered";
  EXPECT_FALSE((KeyOwnership{.index = -1, .count = 8}).MayDrop());
  EXPECT_TRUE((KeyOwnership{.index = 7, .count = 8}).MayDrop());
}

}  // namespace
}  // namespace arion
