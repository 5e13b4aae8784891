// SPDX-License-Identifier: Apache-2.0
#include "messages/fields.h"
#include "base/ids.h"

#include <gtest/gtest.h>

namespace arion {
namespace {

TEST(HostPort, AnAddressIsItsOwnName) {
  const HostPort twin = HostPort::From(*Endpoint::Parse("10.0.0.1:34801"));
  EXPECT_EQ(twin.host, "10.0.0.1");
  EXPECT_EQ(twin.port, 34801);
  EXPECT_TRUE(twin.IsValid());
}

TEST(HostPort, NoAddressIsTheInvalidForm) {
  const HostPort none = HostPort::From(Endpoint());
  EXPECT_EQ(none, HostPort());
  EXPECT_FALSE(none.IsValid());
}

TEST(HostPort, APortAloneMakesNoName) {
  EXPECT_FALSE((HostPort{.host = "", .port = 34801}).IsValid());
  EXPECT_TRUE((HostPort{.host = "replica1", .port = 0}).IsValid());
}

}  // namespace
}  // namespace arion
