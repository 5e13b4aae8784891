// SPDX-License-Identifier: Apache-2.0
#include "env/named_address.h"

#include <absl/strings/numbers.h>
#include <absl/strings/str_cat.h>
#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <utility>

#include "base/status.h"

namespace arion {
namespace {

// getaddrinfo's code.
int Ask(const std::string& host, int family, std::vector<uint32_t>* addresses) {
  addrinfo hints{};
  hints.ai_family = family;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int code = getaddrinfo(host.c_str(), nullptr, &hints, &found);
  if (code != 0) return code;
  for (const addrinfo* at = found; at != nullptr; at = at->ai_next)
    if (at->ai_family == AF_INET)
      addresses->push_back(ntohl(reinterpret_cast<sockaddr_in*>(at->ai_addr)->sin_addr.s_addr));
  freeaddrinfo(found);
  return 0;
}

}  // namespace

std::string NamedAddress::ToString() const { return absl::StrCat(host, ":", port); }

bool IsIpv6(std::string_view text) {
  text = text.substr(0, text.find('/'));
  if (!text.empty() && text.front() == '[') text = text.substr(1, text.find(']') - 1);
  in6_addr unused;
  return inet_pton(AF_INET6, std::string(text.substr(0, text.find('%'))).c_str(), &unused) == 1;
}

absl::StatusOr<NamedAddress> ParseNamedAddress(std::string_view text) {
  const size_t colon = text.rfind(':');
  std::string host(text.substr(0, colon));
  // Asked first: an IPv6 address has colons, and would read as a name with an odd port.
  if (IsIpv6(text) || IsIpv6(host)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "\"", Text(text),
        "\" is an IPv6 address, and the protocol has four bytes for an address, as Pegasus' has; "
        "write an IPv4 address, or a name that has one"));
  }
  uint32_t port = 0;
  const bool has_port = colon != std::string_view::npos &&
                        absl::SimpleAtoi(Text(text.substr(colon + 1)), &port) && port > 0 &&
                        port <= UINT16_MAX;
  // Digits and dots that are no IPv4 address with a port ("10.0.0:34601", "10.0.0.300:34601"): a
  // resolver would read some of them as addresses nobody meant.
  const bool is_number =
      !Endpoint::Parse(text) && host.find_first_not_of("0123456789.") == std::string::npos;
  const bool is_name = host.find_first_of(" \t:/[]@") == std::string::npos;
  if (!has_port || is_number || !is_name) {
    return absl::InvalidArgumentError(
        absl::StrCat("\"", Text(text), "\" is not an address; write it as 127.0.0.1:34601"));
  }
  return NamedAddress{std::move(host), static_cast<uint16_t>(port)};
}

absl::StatusOr<std::vector<Endpoint>> LookUp(const NamedAddress& address) {
  if (const auto endpoint = Endpoint::Parse(address.ToString())) return std::vector{*endpoint};
  std::vector<uint32_t> found;
  // Only IPv4 is asked for: a name with both kinds is then no error.
  const int code = Ask(address.host, AF_INET, &found);
  const std::string why = code == EAI_SYSTEM ? strerror(errno) : gai_strerror(code);
  if (!found.empty()) {
    std::sort(found.begin(), found.end());  // resolvers turn them round
    found.erase(std::unique(found.begin(), found.end()), found.end());
    std::vector<Endpoint> endpoints;
    for (const uint32_t ip : found) endpoints.push_back({ip, address.port});
    return endpoints;
  }
  // Names without an IPv4 address. Only if they have one of the other kind is it final: a name that
  // does not exist yet may come, as those of containers do.
  const bool is_unknown = code == EAI_NONAME || code == EAI_NODATA || code == EAI_ADDRFAMILY;
  if (is_unknown && Ask(address.host, AF_INET6, &found) == 0)
    return absl::FailedPreconditionError(
        absl::StrCat("the name ", address.host,
                     " has IPv6 addresses only, and the protocol has four bytes for an address, as "
                     "Pegasus' has; "
                     "give it an IPv4 address"));
  return absl::UnavailableError(
      absl::StrCat("the name ", address.host, " can't be looked up now (", why, ")"));
}

}  // namespace arion
