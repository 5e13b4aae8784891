// SPDX-License-Identifier: Apache-2.0
#include "base/ids.h"

#include <gtest/gtest.h>

namespace arion {
namespace {

TEST(Endpoint, PacksAsTheWireWantsIt) {  // rpc/PROTOCOL.md 3.3
  EXPECT_EQ(Endpoint::Parse("127.0.0.1:34801")->packed(), 0x7f00000187f10001u);
  EXPECT_EQ(Endpoint::Parse("10.0.0.1:34801")->packed(), 0x0a00000187f10001u);
  EXPECT_EQ(Endpoint::Parse("192.168.1.20:8080")->packed(), 0xc0a801141f900001u);
  EXPECT_EQ(Endpoint{}.packed(), 0u);
  EXPECT_EQ(Endpoint::FromPacked(0xc0a801141f900001u)->ToString(), "192.168.1.20:8080");
  EXPECT_FALSE(Endpoint::FromPacked(0xc0a801141f900003u).has_value());
}

TEST(Endpoint, ParsesOnlyAddresses) {
  for (const char* bad :
       {"", ":", "127.0.0.1", "127.0.0.1:", "127.0.0.1:0", "127.0.0.1:65536", "1.2.3:4",
        "1.2.3.4.5:6", "256.1.1.1:1", "a.b.c.d:1", "1.2.3.4:1x", " 1.2.3.4:1", "0.0.0.0:1"})
    EXPECT_FALSE(Endpoint::Parse(bad).has_value()) << bad;
  EXPECT_EQ(Endpoint::Parse("localhost:1")->ToString(), "127.0.0.1:1");
}

TEST(PartitionId, PacksIndexHighAndAppLow) {
  EXPECT_EQ((PartitionId{2, 3}).packed(), 0x0000000300000002);
  EXPECT_EQ(PartitionId::FromPacked(0x0000000300000002), (PartitionId{2, 3}));
  EXPECT_EQ(PartitionId::FromPacked((PartitionId{-1, -2}).packed()), (PartitionId{-1, -2}));
  EXPECT_EQ((PartitionId{2, 3}).thread_hash(), 15841);
}

}  // namespace
}  // namespace arion
