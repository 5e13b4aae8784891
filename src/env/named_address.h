// NamedAddress: an address as people write it: a name or an IPv4 address, and a port. A name is
// looked up by the system's resolver, which may take long.
//
// Errors    InvalidArgument: what is wrong and, after "; ", what to write. LookUp: Unavailable
//           where the name may have an address later, FailedPrecondition where its addresses can't
//           be used.
// Threads   Thread-safe. LookUp waits for the network.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/status/statusor.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"

namespace arion {

// A host that need not exist. Configuration files and command lines give it; LookUp makes Endpoints
// of it, which alone go into messages.
//
//   ASSIGN_OR_RETURN(const NamedAddress meta, ParseNamedAddress("meta1.example:34601"));
//   ASSIGN_OR_RETURN(const std::vector<Endpoint> found, LookUp(meta));   // in a pool
struct NamedAddress {
  std::string host;
  uint16_t port = 0;
  // host:port, as ParseNamedAddress reads it.
  std::string ToString() const;
  friend bool operator==(const NamedAddress&, const NamedAddress&) = default;
};

// Reads "127.0.0.1:34601" or "name:34601".
absl::StatusOr<NamedAddress> ParseNamedAddress(std::string_view text);
// Whether the text is an IPv6 address, perhaps with brackets, a port, or the length of a range
// behind it.
bool IsIpv6(std::string_view text);

// All IPv4 addresses that it has now; at least one.
absl::StatusOr<std::vector<Endpoint>> LookUp(const NamedAddress& address);

}  // namespace arion
