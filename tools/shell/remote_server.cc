// SPDX-License-Identifier: Apache-2.0
#include "tools/shell/remote_server.h"

#include <absl/strings/str_split.h>

#include <algorithm>
#include <set>

#include "base/status.h"
#include "messages/tool_messages.h"
#include "rpc/thrift_codec.h"
#include "tools/pages/server_page.h"

namespace arion::shell {
namespace {

// One server of each kind.
std::vector<Endpoint> Examples(Cluster& cluster) {
  std::vector<Endpoint> servers = {cluster.meta_servers().front()};
  const absl::StatusOr<std::vector<NodeState>> nodes = cluster.Nodes({});
  if (!nodes.ok()) return servers;
  const auto living =
      std::find_if(nodes->begin(), nodes->end(), [](const NodeState& node) { return node.alive; });
  if (living != nodes->end()) servers.push_back(living->address);
  return servers;
}

}  // namespace

absl::StatusOr<std::vector<KnownServer>> ServersOf(Cluster& cluster, const std::string& type,
                                                   const std::string& list) {
  std::vector<KnownServer> servers;
  if (!list.empty()) {
    for (const auto word : absl::StrSplit(list, ',', absl::SkipEmpty())) {
      const auto server = Endpoint::Parse(View(word));
      if (!server)
        return absl::InvalidArgumentError(
            "-l and -n take servers, as 10.0.0.1:34801,10.0.0.2:34801");
      const auto& metas = cluster.meta_servers();
      const bool is_meta = std::find(metas.begin(), metas.end(), *server) != metas.end();
      servers.push_back({*server, is_meta ? "meta-server" : "replica-server"});
    }
    if (servers.empty()) return absl::InvalidArgumentError("-l and -n name servers");
    return servers;
  }
  const bool all = type.empty() || type == "all";
  const bool metas = all || type == "meta-server" || type == "meta";
  const bool replicas = all || type == "replica-server" || type == "replica";
  if (!metas && !replicas)
    return absl::InvalidArgumentError("-t takes all, meta-server or replica-server");
  if (metas)
    for (Endpoint meta : cluster.meta_servers()) servers.push_back({meta, "meta-server"});
  if (replicas) {
    ASSIGN_OR_RETURN(std::vector<NodeState> nodes, cluster.Nodes({}));
    for (const NodeState& node : nodes)
      if (node.alive) servers.push_back({node.address, "replica-server"});
  }
  if (servers.empty())
    return absl::FailedPreconditionError("no replica server is alive; nobody was asked");
  return servers;
}

absl::StatusOr<std::string> SayTo(Cluster& cluster, Endpoint server, const Words& words) {
  const CommandRequest command{.cmd = words[0], .arguments = {words.begin() + 1, words.end()}};
  ASSIGN_OR_RETURN(AdminClient * admin, cluster.Admin());
  ASSIGN_OR_RETURN(const std::string body,
                   admin->AskServer(server, kRpcCommand, EncodeWrapped(command)));
  return DecodeWrapped<std::string>(body);
}

absl::StatusOr<std::vector<Setting>> SettingsOf(Endpoint server) {
  ASSIGN_OR_RETURN(std::vector<JsonRow> rows, FetchMembers(server, "/configs"));
  std::vector<Setting> settings;
  for (JsonRow& row : rows) {
    const bool is_value_only = !row.contains("at_start");
    settings.push_back({row["name"], row["value"], row["at_start"], row["default"], row["origin"],
                        !row["tags"].empty(), is_value_only});
  }
  return settings;
}

absl::Status ChangeSetting(Cluster& cluster, Endpoint server, const std::string& key,
                           const std::string& value) {
  ASSIGN_OR_RETURN(const std::string answer, SayTo(cluster, server, {"config-set", key, value}));
  // The answer is a text for people, in both versions: this is what a refusal begins with.
  constexpr std::string_view kRefused = "ERR: ";
  const size_t at = answer.find(kRefused);
  if (at == std::string::npos) return absl::OkStatus();
  const size_t why = at + kRefused.size();
  return absl::FailedPreconditionError(answer.substr(why, answer.rfind('"') - why));
}

std::vector<std::string> RemoteCommandNames(Cluster& cluster) {
  std::set<std::string> names;
  for (const Endpoint server : Examples(cluster)) {
    const absl::StatusOr<std::string> help = SayTo(cluster, server, {"help"});
    if (!help.ok()) continue;
    for (const auto line : absl::StrSplit(*help, '\n', absl::SkipEmpty()))
      names.emplace(line.substr(0, line.find(' ')));
  }
  return {names.begin(), names.end()};
}

std::vector<std::string> SettingNames(Cluster& cluster, Which which) {
  std::set<std::string> names;
  for (const Endpoint server : Examples(cluster)) {
    const absl::StatusOr<std::vector<Setting>> settings = SettingsOf(server);
    if (!settings.ok()) continue;
    for (const Setting& setting : *settings)
      if (which == Which::kAll || setting.is_changeable) names.insert(setting.key);
  }
  return {names.begin(), names.end()};
}

}  // namespace arion::shell
