// SPDX-License-Identifier: Apache-2.0
#include "config/config_value.h"

#include <absl/strings/numbers.h>
#include <netinet/in.h>

#include <cctype>
#include <set>

#include "base/duplication_group.h"
#include "base/status.h"
#include "env/named_address.h"

namespace arion {
namespace {

absl::Status Invalid(std::string text) { return absl::InvalidArgumentError(text); }

std::string_view TrimSpace(std::string_view text) {
  // isspace needs an unsigned char.
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.front())))
    text.remove_prefix(1);
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back())))
    text.remove_suffix(1);
  return text;
}

std::vector<std::string_view> SplitAtCommas(std::string_view text) {
  std::vector<std::string_view> parts;
  while (true) {
    size_t comma = text.find(',');
    parts.push_back(TrimSpace(text.substr(0, comma)));
    if (comma == std::string_view::npos) return parts;
    text.remove_prefix(comma + 1);
  }
}

}  // namespace

// Bounds come into the message, so that one error is enough to write a right value.
absl::StatusOr<int64_t> ParseInteger(std::string_view text, int64_t first, int64_t last) {
  int64_t value = 0;
  if (!absl::SimpleAtoi(Text(text), &value)) {
    return Invalid(absl::StrCat("not a number; write one between ", first, " and ", last));
  }
  if (value < first || value > last) {
    return Invalid(absl::StrCat("out of range; write a number between ", first, " and ", last));
  }
  return value;
}

absl::StatusOr<bool> ParseSwitch(std::string_view text) {
  if (text == "true") return true;
  if (text == "false") return false;
  return Invalid("neither true nor false; write one of them");
}

absl::StatusOr<absl::Duration> ParseInterval(std::string_view text) {
  absl::Duration value;
  // Infinite is a duration for the parser; as an interval it would mean that nothing ever happens.
  if (!absl::ParseDuration(std::string(text), &value) || value == absl::InfiniteDuration()) {
    return Invalid("not a time; write it with its unit, as 9s, 500ms or 2m");
  }
  if (value <= absl::ZeroDuration())
    return Invalid("not a positive time; write it as 9s, 500ms or 2m");
  return value;
}

absl::StatusOr<uint64_t> ParseSize(std::string_view text) {
  size_t digits = 0;
  while (digits < text.size() && std::isdigit(static_cast<unsigned char>(text[digits]))) ++digits;
  std::string unit;
  // Units in any case: "MiB", "mb" and "M" are all powers of 1024 here.
  for (char c : TrimSpace(text.substr(digits)))
    unit += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  constexpr std::pair<std::string_view, int> kUnits[] = {
      {"", 0},     {"b", 0},  {"k", 10},  {"kb", 10},  {"kib", 10}, {"m", 20},  {"mb", 20},
      {"mib", 20}, {"g", 30}, {"gb", 30}, {"gib", 30}, {"t", 40},   {"tb", 40}, {"tib", 40}};
  uint64_t value = 0;
  for (const auto& [name, shift] : kUnits) {
    if (unit != name) continue;
    // A number whose unit shifts bits out would silently become a small size.
    if (!absl::SimpleAtoi(Text(text.substr(0, digits)), &value) || value > (UINT64_MAX >> shift))
      break;
    return value << shift;
  }
  return Invalid("not a size; write bytes, or a number with KiB, MiB or GiB");
}

absl::StatusOr<std::vector<NamedAddress>> ParseNamedAddresses(std::string_view text) {
  std::vector<NamedAddress> addresses;
  for (std::string_view part : SplitAtCommas(text)) {
    ASSIGN_OR_RETURN(NamedAddress address, ParseNamedAddress(part));
    addresses.push_back(std::move(address));
  }
  return addresses;
}

absl::StatusOr<Endpoint> ParseAddress(std::string_view text) {
  ASSIGN_OR_RETURN(const NamedAddress address, ParseNamedAddress(text));
  ASSIGN_OR_RETURN(const std::vector<Endpoint> found, LookUp(address));
  // The first address: a server is reached by one.
  return found[0];
}

absl::StatusOr<Endpoint> ParseListenAddress(std::string_view text) {
  // Not looked up: nobody is reached by it.
  constexpr std::string_view kEverywhere = "0.0.0.0:";
  if (!text.starts_with(kEverywhere)) return ParseAddress(text);
  ASSIGN_OR_RETURN(const int64_t port, ParseInteger(text.substr(kEverywhere.size()), 1, 65535));
  return Endpoint{INADDR_ANY, static_cast<uint16_t>(port)};
}

absl::StatusOr<std::map<std::string, uint8_t>> ParseClusterIds(std::string_view text) {
  std::map<std::string, uint8_t> ids;
  for (std::string_view part : SplitAtCommas(text)) {
    const size_t colon = part.find(':');
    if (colon == std::string_view::npos)
      return Invalid(
          absl::StrCat("\"", Text(part), "\" is not cluster:id; write it as here:1,there:2"));
    RETURN_IF_ERROR(
        AddClusterId(TrimSpace(part.substr(0, colon)), TrimSpace(part.substr(colon + 1)), &ids));
  }
  return ids;
}

absl::Status AddClusterId(std::string_view name, std::string_view id,
                          std::map<std::string, uint8_t>* ids) {
  if (name.empty()) return Invalid("a cluster without a name; write it as here:1,there:2");
  absl::StatusOr<int64_t> number =
      ParseInteger(id, DuplicationGroup::kIdMin, DuplicationGroup::kIdMax);
  if (!number.ok())
    return Invalid(absl::StrCat("cluster ", Text(name), ": id \"", Text(id), "\" is ",
                                number.status().message()));
  for (const auto& [other, taken] : *ids)
    if (taken == *number)
      return Invalid(absl::StrCat("clusters ", other, " and ", Text(name), " have the same id ",
                                  *number, "; give each its own"));
  if (!ids->emplace(name, static_cast<uint8_t>(*number)).second)
    return Invalid(absl::StrCat("cluster ", Text(name), " stands twice; name it once"));
  return absl::OkStatus();
}

absl::StatusOr<std::vector<std::pair<std::string, std::string>>> ParseDisks(std::string_view text) {
  std::vector<std::pair<std::string, std::string>> disks;
  std::set<std::string> tags;
  std::set<std::string> paths;
  for (std::string_view part : SplitAtCommas(text)) {
    size_t colon = part.find(':');
    std::string tag(TrimSpace(part.substr(0, colon)));
    std::string path(colon == std::string_view::npos ? "" : TrimSpace(part.substr(colon + 1)));
    // So that one path, written in two ways, is noticed below.
    while (path.size() > 1 && path.back() == '/') path.pop_back();
    if (tag.empty() || path.empty() || path.find(':') != std::string::npos) {
      return Invalid(absl::StrCat("\"", Text(part),
                                  "\" is not tag:path; write it as ssd1:/data/1,ssd2:/data/2"));
    }
    if (!tags.insert(tag).second)
      return Invalid(absl::StrCat("tag ", tag, " stands twice; give each disk its own"));
    if (!paths.insert(path).second)
      return Invalid(absl::StrCat("path ", path, " stands twice; name it once"));
    disks.emplace_back(tag, path);
  }
  return disks;
}

}  // namespace arion
