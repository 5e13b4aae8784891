// One server, asked by its address: its settings, its remote commands.
//
// Errors    As Cluster; InvalidArgument: an answer that is not what it should be.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/status/statusor.h>

#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "tools/shell/cluster.h"
#include "tools/shell/words.h"

namespace arion::shell {

struct KnownServer {
  Endpoint address;
  std::string_view role;  // meta-server, replica-server
};
// Those of `type` (all, meta-server, replica-server; empty: all) that are alive, or those of `list`
// ("10.0.0.1:34801,10.0.0.2:34801") where it is not empty, whatever they are. FailedPrecondition:
// nobody is alive.
absl::StatusOr<std::vector<KnownServer>> ServersOf(Cluster& cluster, const std::string& type,
                                                   const std::string& list);

// A remote command and its arguments; what the server says to it.
absl::StatusOr<std::string> SayTo(Cluster& cluster, Endpoint server, const Words& words);

struct Setting {
  std::string key, value, at_start, default_value, origin;
  bool is_changeable = false;
  bool is_value_only =
      false;  // an older version's: it tells neither what was at the start nor a default
};
absl::StatusOr<std::vector<Setting>> SettingsOf(Endpoint server);
// Until the process ends. FailedPrecondition: why the server refuses, in its words.
absl::Status ChangeSetting(Cluster& cluster, Endpoint server, const std::string& key,
                           const std::string& value);

// For completion: of the first meta server and the first living replica server together, sorted.
// Who does not answer is left out.
std::vector<std::string> RemoteCommandNames(Cluster& cluster);
enum class Which { kAll, kChangeable };
std::vector<std::string> SettingNames(Cluster& cluster, Which which);

}  // namespace arion::shell
