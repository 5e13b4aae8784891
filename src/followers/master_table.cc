// SPDX-License-Identifier: Apache-2.0
#include "followers/master_table.h"

#include <absl/strings/ascii.h>
#include <absl/strings/str_split.h>

#include "base/status.h"
#include "messages/table_environments.h"

namespace arion {

bool FollowsMaster(const AppInfo& app) {
  return app.envs.contains(kEnvMasterCluster) && app.envs.contains(kEnvMasterMetas);
}

absl::StatusOr<MasterTable> MasterOf(const AppInfo& app) {
  MasterTable master{.cluster = app.envs.at(kEnvMasterCluster), .table = app.app_name};
  // Sources since 2.6 name their table; others mean the same name.
  if (const auto name = app.envs.find(kEnvMasterAppName);
      name != app.envs.end() && !name->second.empty())
    master.table = name->second;
  const std::vector<std::string> parts =
      absl::StrSplit(app.envs.at(kEnvMasterMetas), ',', absl::SkipWhitespace());
  for (std::string part : parts) {
    absl::StripAsciiWhitespace(&part);
    ASSIGN_OR_RETURN(NamedAddress address, ParseNamedAddress(part));
    master.meta_servers.push_back(std::move(address));
  }
  if (master.meta_servers.empty())
    return absl::InvalidArgumentError(absl::StrCat(kEnvMasterMetas, " names no meta server"));
  return master;
}

}  // namespace arion
