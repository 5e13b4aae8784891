// What an Apache Pegasus configuration's keys do that mean something here. Whatever number 2.5.0
// takes is taken: what lies outside of what we can do acts as the nearest that does, with a warning.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "config/config_rules.h"
#include "config/server_config.h"

namespace arion {

struct OlderRule {
  std::string_view section;  // a section of that name, or "" for any
  std::string_view key;
  Apply apply;
  std::optional<ServerKind> only = {};  // whose it is; the other does not look at its value
};

// `kind` decides which port counts.
const std::vector<OlderRule>& OlderRules(ServerKind kind);

}  // namespace arion
