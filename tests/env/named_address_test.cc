// SPDX-License-Identifier: Apache-2.0
#include "env/named_address.h"

#include <gtest/gtest.h>

#include <string>

namespace arion {
namespace {

TEST(NamedAddressTest, AnAddressIsANameOrANumberWithAPort) {
  EXPECT_EQ(ParseNamedAddress("127.0.0.1:34601").value(), (NamedAddress{"127.0.0.1", 34601}));
  EXPECT_EQ(ParseNamedAddress("meta-1.example:34601").value(),
            (NamedAddress{"meta-1.example", 34601}));
  for (const char* bad : {"", "127.0.0.1", "127.0.0.1:0", "127.0.0.1:70000", "300.1.1.1:5",
                          ":34601", "a:b", "0.0.0.0:1", "http://a:5", "a b:5"})
    EXPECT_TRUE(absl::IsInvalidArgument(ParseNamedAddress(bad).status())) << bad;
}

TEST(NamedAddressTest, WhoWritesAnIpv6AddressIsToldThatTheProtocolHasNoPlaceForIt) {
  for (const char* text : {"::1", "[::1]:34601", "::1:34601", "fe80::1%eth0", "2001:db8::7:34601"})
    EXPECT_NE(ParseNamedAddress(text).status().message().find("the protocol has four bytes"),
              absl::string_view::npos)
        << text << ": " << ParseNamedAddress(text).status();
  EXPECT_TRUE(IsIpv6("2001:db8::/32"));
  EXPECT_FALSE(IsIpv6("10.0.0.0/8"));
}

TEST(NamedAddressTest, ANumberNeedsNoResolverAndAnUnknownNameMayBeKnownLater) {
  EXPECT_EQ(LookUp({"10.0.0.7", 5}).value(), std::vector{*Endpoint::Parse("10.0.0.7:5")});
  const auto unknown = LookUp({"no-such-name.invalid", 5});
  EXPECT_TRUE(absl::IsUnavailable(unknown.status())) << unknown.status();
}

}  // namespace
}  // namespace arion
