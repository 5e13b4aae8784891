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

// A server and what it is.
struct KnownServer {
  Endpoint address;
  // meta-server, replica-server.
  std::string_view role;
};
// The servers of `type` (all, meta-server, replica-server; empty: all) that are alive; or those of
// `list` ("10.0.0.1:34801,10.0.0.2:34801") where it is not empty, whatever they are.
// FailedPrecondition: no such server is alive.
absl::StatusOr<std::vector<KnownServer>> ServersOf(Cluster& cluster, const std::string& type,
                                                   const std::string& list);

// Sends a remote command with its arguments; returns the server's answer.
absl::StatusOr<std::string> SayTo(Cluster& cluster, Endpoint server, const Words& words);

// One key of a server's configuration.
struct Setting {
  std::string key, value, at_start, default_value, origin;
  bool is_changeable = false;
  // An older version's: it tells neither what was at the start nor a default.
  bool is_value_only = false;
};
absl::StatusOr<std::vector<Setting>> SettingsOf(Endpoint server);
// Until the server's process ends. FailedPrecondition: why the server refuses, in its words.
absl::Status ChangeSetting(Cluster& cluster, Endpoint server, const std::string& key,
                           const std::string& value);

// For completion: the commands of the first meta server and of the first living replica server
// together, sorted. A server that does not answer is left out.
std::vector<std::string> RemoteCommandNames(Cluster& cluster);
enum class Which { kAll, kChangeable };
std::vector<std::string> SettingNames(Cluster& cluster, Which which);

}  // namespace arion::shell
