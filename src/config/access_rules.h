// AccessRules: from where, and with which secret, a server may be told to change something.
//
// Errors    ParseAddressRanges: InvalidArgument, the part that is no address or range is named.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/status/statusor.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace arion {

struct AddressRange {
  uint32_t first = 0;
  uint32_t last = 0;
  bool Contains(uint32_t ip) const { return ip >= first && ip <= last; }
};
// "10.1.0.0/16, 127.0.0.1": commas between.
absl::StatusOr<std::vector<AddressRange>> ParseAddressRanges(std::string_view text);

struct AccessRules {
  std::vector<AddressRange> admin_addresses;  // empty: from everywhere
  std::string admin_token;                    // empty: none is asked for
};

}  // namespace arion
