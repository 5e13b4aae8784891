// What those keys of an Apache Pegasus configuration do that mean something here. Whatever number
// 2.5.0 takes is taken: a number outside of what we can do acts as the nearest that we can, with a
// warning.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "config/config_rules.h"
#include "config/server_config.h"

namespace arion {

// One of their keys.
// An empty section stands for any: the key's name is enough.
struct OlderRule {
  // A section of that name, or "" for any.
  std::string_view section;
  std::string_view key;
  Apply apply;
  // The kind of server that the key is for; the other does not look at its value.
  std::optional<ServerKind> only = {};
};

// `kind` decides which port counts.
const std::vector<OlderRule>& OlderRules(ServerKind kind);

}  // namespace arion
