// Configurations from a few lines of a file, for tests. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/status.h"
#include "config/ini_file.h"
#include "config/server_config.h"

namespace arion {

using Flags = std::map<std::string, std::string>;

inline absl::StatusOr<ServerConfig> Make(ServerKind kind, std::string_view content,
                                         const Flags& flags = {}) {
  absl::StatusOr<IniFile> file = IniFile::Parse(content, "a.ini");
  if (!file.ok()) return file.status();
  return MakeServerConfig(kind, *file, flags);
}

inline absl::StatusOr<ServerConfig> MakeReplica(std::string content, const Flags& flags = {}) {
  return Make(ServerKind::kReplica, "[arion.replica]\ndata_dirs = d1:/data/1\n" + content, flags);
}

inline std::string ErrorOf(const absl::StatusOr<ServerConfig>& config) {
  return config.ok() ? "(no error)" : std::string(config.status().message());
}

}  // namespace arion
