// What each of our keys of a configuration file does (config/older_config_rules.h: older
// versions').
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/status/status.h>
#include <absl/types/span.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/server_config.h"

namespace arion {

// A ServerConfig in the making, and values that are read before it can be put together.
struct Draft {
  ServerConfig config;
  // From an older version's [apps.*] section, until `listen` is made of them.
  std::optional<uint16_t> older_port;
  std::string older_interface;
  // Older versions keep log files in reserve only when both are set.
  std::optional<uint64_t> older_reserve_bytes;
  std::optional<int64_t> older_reserve_seconds;
  // "file:line" of the last line of an older version's [duplication-group].
  std::string older_group_origin;
  // "file:line" of an empty list of data directories.
  std::string older_no_disks_origin;
  // <home>/replica/slog
  std::vector<std::string> older_shared_log_homes;
};

// The origin of what is changed while the server runs.
inline constexpr char kInOperation[] = "a change in operation";

// Takes one value over into the draft. InvalidArgument: what is wrong; what to write. `origin`:
// where the value was set, for messages.
using Apply = absl::Status (*)(Draft& draft, std::string_view value, const std::string& origin);

// One of our keys: how it is called and explained, and what its value does.
struct Rule {
  Setting setting;
  Apply apply;
};

// All of our keys, by section.
const std::vector<Rule>& Rules();
// Of [arion.server].
absl::Span<const Rule> ServerRules();
// Of [arion.meta].
absl::Span<const Rule> MetaRules();
// Of [arion.replica].
absl::Span<const Rule> ReplicaRules();

// What the key is called at present; `key` itself where it was never renamed. Former names still
// work: a file or flag that uses one gets a warning with the present name, once.
std::string_view CurrentName(std::string_view key);
std::vector<std::string_view> FormerNames();

// ---- of keys that older versions have in the same shape ----

// Bounds of values.
constexpr int64_t kReplicaCountMax = 15;
constexpr int64_t kWriteBytesMin = 1024, kWriteBytesMax = 256 << 20;

absl::Status SetClusterName(Draft& draft, std::string_view value, const std::string& origin);
absl::Status SetMetaServers(Draft& draft, std::string_view value, const std::string& origin);
absl::Status SetDisks(Draft& draft, std::string_view value, const std::string& origin);
absl::Status SetMetaDataDirectory(Draft& draft, std::string_view value, const std::string& origin);
absl::Status SetMetaState(Draft& draft, std::string_view value, const std::string& origin);
absl::Status SetZooKeeperHosts(Draft& draft, std::string_view value, const std::string& origin);
absl::Status SetZooKeeperRoot(Draft& draft, std::string_view value, const std::string& origin);
absl::Status SetZooKeeperLockRoot(Draft& draft, std::string_view value, const std::string& origin);
absl::Status SetZooKeeperTimeout(Draft& draft, std::string_view value, const std::string& origin);
absl::Status SetRecovery(Draft& draft, std::string_view value, const std::string& origin);
absl::Status SetFunctionLevel(Draft& draft, std::string_view value, const std::string& origin);
// 0: a majority.
void SetMinReplicaCount(Draft& draft, int64_t number);

}  // namespace arion
