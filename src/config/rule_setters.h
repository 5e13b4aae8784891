// The setters that several keys share: a key's rule names the member of ServerConfig that its value
// goes to. Only the files that hold keys include this: server_rules.cc, meta_rules.cc,
// replica_rules.cc.
//
// Shapes    `Group` leads from a ServerConfig to the struct that has `Member`: a pointer to a
//           member, or a lambda where it lies deeper.
// Errors    InvalidArgument: what is wrong with the value, and what to write instead.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <limits>
#include <string>
#include <type_traits>

#include "base/status.h"
#include "config/config_value.h"
#include "config/server_config.h"

namespace arion {

struct Draft;

constexpr int64_t kInt32Max = std::numeric_limits<int32_t>::max();

// ---- where a value goes ----

constexpr auto kServer = [](auto& config) -> auto& { return config; };
constexpr auto kMeta = &ServerConfig::meta;
constexpr auto kReplica = &ServerConfig::replica;
constexpr auto kSharedLog = [](auto& config) -> auto& { return config.replica.shared_log; };
constexpr auto kRecovery = [](auto& config) -> auto& { return config.replica.recovery; };
constexpr auto kGarbage = [](auto& config) -> auto& { return config.replica.garbage; };
constexpr auto kDiskHealth = [](auto& config) -> auto& { return config.replica.disk; };
constexpr auto kLogDevice = &ServerConfig::log_device;

// ---- what a value is ----
// Each takes its target as template arguments, so a row of the table needs no code of its own.

// A time with its unit: "3s".
template <auto Group, auto Member>
absl::Status SetInterval(Draft& draft, std::string_view value, const std::string&) {
  ASSIGN_OR_RETURN(std::invoke(Group, draft.config).*Member, ParseInterval(value));
  return absl::OkStatus();
}

// "true" or "false".
template <auto Group, auto Member>
absl::Status SetSwitch(Draft& draft, std::string_view value, const std::string&) {
  ASSIGN_OR_RETURN(std::invoke(Group, draft.config).*Member, ParseSwitch(value));
  return absl::OkStatus();
}

// A whole number from kFirst to kLast.
template <auto Group, auto Member, int64_t kFirst, int64_t kLast>
absl::Status SetNumber(Draft& draft, std::string_view value, const std::string&) {
  ASSIGN_OR_RETURN(int64_t number, ParseInteger(value, kFirst, kLast));
  auto& target = std::invoke(Group, draft.config).*Member;
  target = static_cast<std::remove_reference_t<decltype(target)>>(number);
  return absl::OkStatus();
}

// A number of bytes from kFirst to kLast: "64 MiB".
template <auto Group, auto Member, uint64_t kFirst = 0,
          uint64_t kLast = std::numeric_limits<uint64_t>::max()>
absl::Status SetSize(Draft& draft, std::string_view value, const std::string&) {
  ASSIGN_OR_RETURN(uint64_t bytes, ParseSize(value));
  if (bytes < kFirst || bytes > kLast) {
    return absl::InvalidArgumentError(
        absl::StrCat("out of range; write a size between ", kFirst, " and ", kLast, " bytes"));
  }
  std::invoke(Group, draft.config).*Member = bytes;
  return absl::OkStatus();
}

}  // namespace arion
