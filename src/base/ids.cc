// SPDX-License-Identifier: Apache-2.0
#include "base/ids.h"

#include <charconv>

namespace arion {

std::string PartitionId::ToString() const {
  return std::to_string(app_id) + "." + std::to_string(index);
}

std::ostream& operator<<(std::ostream& out, PartitionId pid) { return out << pid.ToString(); }

// The lowest two bits are the type: none, IPv4, or one that has no place here.
std::optional<Endpoint> Endpoint::FromPacked(uint64_t packed) {
  switch (packed & 3) {
    case 0:
      return Endpoint{};
    case 1:
      return Endpoint{static_cast<uint32_t>(packed >> 32), static_cast<uint16_t>(packed >> 16)};
    default:
      return std::nullopt;
  }
}

std::optional<Endpoint> Endpoint::Parse(std::string_view text) {
  const size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return std::nullopt;
  std::string_view host = text.substr(0, colon);
  const std::string_view port_text = text.substr(colon + 1);
  // The only name that needs no resolver.
  if (host == "localhost") host = "127.0.0.1";

  uint32_t port = 0;
  // from_chars takes neither blanks nor a sign, so nothing else may stand around the number.
  auto [end, error] = std::from_chars(port_text.data(), port_text.data() + port_text.size(), port);
  if (error != std::errc() || end != port_text.data() + port_text.size() || port == 0 ||
      port > 65535)
    return std::nullopt;

  uint32_t ip = 0;
  const char* cursor = host.data();
  const char* const host_end = host.data() + host.size();
  // At most three digits an octet, always decimal: a leading zero does not make it octal.
  for (int octet_index = 0; octet_index < 4; ++octet_index) {
    if (octet_index > 0) {
      if (cursor == host_end || *cursor != '.') return std::nullopt;
      ++cursor;
    }
    uint32_t octet = 0;
    auto [octet_end, octet_error] = std::from_chars(cursor, host_end, octet);
    if (octet_error != std::errc() || octet > 255 || octet_end - cursor > 3) return std::nullopt;
    ip = ip << 8 | octet;
    cursor = octet_end;
  }
  if (cursor != host_end || ip == 0) return std::nullopt;
  return Endpoint{ip, static_cast<uint16_t>(port)};
}

std::string Endpoint::ToString() const {
  if (!IsValid()) return "-";
  return std::to_string(ip >> 24) + "." + std::to_string(ip >> 16 & 255) + "." +
         std::to_string(ip >> 8 & 255) + "." + std::to_string(ip & 255) + ":" +
         std::to_string(port);
}

std::ostream& operator<<(std::ostream& out, Endpoint endpoint) {
  return out << endpoint.ToString();
}

std::string_view DurabilityName(Durability durability) {
  return durability == Durability::kFsync ? "fsync" : "os";
}

}  // namespace arion
