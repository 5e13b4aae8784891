// SPDX-License-Identifier: Apache-2.0
#include "config/access_rules.h"

#include <absl/strings/numbers.h>
#include <absl/strings/str_split.h>
#include <arpa/inet.h>

#include "base/status.h"
#include "env/named_address.h"

namespace arion {
namespace {

constexpr int kAddressBits = 32;

absl::StatusOr<AddressRange> ParseRange(std::string_view text) {
  const size_t slash = text.find('/');
  const std::string address(text.substr(0, slash));
  in_addr parsed;
  int bits = kAddressBits;
  const bool is_length =
      slash == std::string_view::npos ||
      (absl::SimpleAtoi(Text(text.substr(slash + 1)), &bits) && bits >= 0 && bits <= kAddressBits);
  // A clear word for IPv6: the text is a correct address, and yet can't be used.
  if (IsIpv6(text))
    return absl::InvalidArgumentError(
        absl::StrCat("\"", Text(text),
                     "\" is IPv6, and no peer comes by it: the protocol has four bytes for an "
                     "address, as Pegasus' has; write IPv4 addresses or ranges"));
  if (inet_pton(AF_INET, address.c_str(), &parsed) != 1 || !is_length)
    return absl::InvalidArgumentError(
        absl::StrCat("\"", Text(text), "\" is no address or range; write 10.0.0.7 or 10.0.0.0/24"));
  const uint32_t ip = ntohl(parsed.s_addr);
  // In 64 bits: a shift of a 32 bit number by 32 is undefined.
  const auto others = static_cast<uint32_t>(((uint64_t{1} << (kAddressBits - bits)) - 1));
  // 10.0.0.7/24 is most likely a mistake: one address or the whole range?
  if ((ip & others) != 0 && bits != kAddressBits)
    return absl::InvalidArgumentError(absl::StrCat(
        "\"", Text(text), "\" has bits set behind its first ", bits, "; write the range's first"));
  return AddressRange{.first = ip, .last = ip | others};
}

}  // namespace

absl::StatusOr<std::vector<AddressRange>> ParseAddressRanges(std::string_view text) {
  std::vector<AddressRange> ranges;
  for (absl::string_view part :
       absl::StrSplit(Text(text), absl::ByAnyChar(", "), absl::SkipEmpty())) {
    ASSIGN_OR_RETURN(AddressRange range, ParseRange(View(part)));
    ranges.push_back(range);
  }
  return ranges;
}

}  // namespace arion
