// What each key of a configuration file does: ours, and the older versions' that mean something here.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/status/status.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "main/server_config.h"

namespace arion {

// What is read before it can be put together.
struct Draft {
  ServerConfig config;
  std::optional<uint16_t> older_port;
  std::string older_interface;
  // Older versions keep log files in reserve only when both are set.
  std::optional<uint64_t> older_reserve_bytes;
  std::optional<int64_t> older_reserve_seconds;
  std::string older_no_disks_origin;  // "file:line" of an empty list of data directories
  std::vector<std::string> older_shared_log_homes;  // <home>/replica/slog
};

using Apply = absl::Status (*)(Draft& draft, std::string_view value, const std::string& origin);

// One of our keys.
struct Rule {
  Setting setting;
  Apply apply;
};

// A key of an Apache Pegasus configuration.
struct OlderRule {
  std::string_view section;  // a section of that name, or "" for any
  std::string_view key;
  Apply apply;
  std::optional<ServerKind> only = {};  // whose it is; the other does not look at its value
};

const std::vector<Rule>& Rules();
// Keys of spec/meta-and-admin.md 5 that mean something here. `kind` decides which port counts.
const std::vector<OlderRule>& OlderRules(ServerKind kind);

}  // namespace arion
