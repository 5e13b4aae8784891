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

// IPv4 addresses from `first` to `last`, both inclusive, in host byte order.
struct AddressRange {
  uint32_t first = 0;
  uint32_t last = 0;
  bool Contains(uint32_t ip) const { return ip >= first && ip <= last; }
};
// Reads "10.1.0.0/16, 127.0.0.1": with commas between.
absl::StatusOr<std::vector<AddressRange>> ParseAddressRanges(std::string_view text);

// What admin/access_control.h goes by. Read from the configuration at the start, then immutable.
struct AccessRules {
  // Empty: from everywhere.
  std::vector<AddressRange> admin_addresses;
  // The token itself, read from admin_token_file. Empty: none is asked for.
  std::string admin_token;
};

}  // namespace arion
