// SPDX-License-Identifier: Apache-2.0
#include "meta_state/unknown_tables.h"

#include <absl/strings/str_cat.h>

#include <map>
#include <set>
#include <string>

#include "base/named_list.h"
#include "meta_state/cluster_state.h"
#include "meta_state/cluster_warning.h"

namespace arion {
namespace {

constexpr size_t kUnknownNamedMax = 5;

}  // namespace

std::optional<ClusterWarning> UnknownTables(const ClusterState& state) {
  std::map<int32_t, int64_t> replicas;
  std::set<Endpoint> servers;
  for (const auto& [endpoint, node] : state.nodes) {
    // A dead server's disks may have changed since its report.
    if (!node.alive) continue;
    for (const auto& [app_id, count] : node.unknown_tables) {
      if (state.FindTable(app_id) != nullptr) continue;  // recovered since
      replicas[app_id] += count;
      servers.insert(endpoint);
    }
  }
  if (replicas.empty()) return std::nullopt;
  ClusterWarning warning{.kind = "unknown_tables",
                         .count = static_cast<int64_t>(replicas.size()),
                         .what = "meta server"};
  warning.problem = absl::StrCat(
      "does not know ", replicas.size() == 1 ? "a table" : "tables",
      " of which servers hold copies (",
      NamedList(replicas, kUnknownNamedMax,
                [](const auto& table) {
                  return absl::StrCat("id ", table.first, ": ", table.second,
                                      table.second == 1 ? " copy" : " copies");
                }),
      "; on ",
      NamedList(servers, kUnknownNamedMax, [](Endpoint server) { return server.ToString(); }),
      "): its state was lost, or an older copy of it was put back. Nothing of them is removed");
  // Without tables nothing can be lost by a recovery. With some, it must be asked for on purpose.
  if (state.tables.empty()) {
    warning.way =
        "have the state learned from the replica servers: recover -s SERVER,... (all of them)";
  } else {
    warning.way =
        "put the newest copy of meta_data_dir back; or stop this meta server, move meta.journal "
        "out of meta_data_dir, start it, and recover -s SERVER,... (all replica servers): set "
        "environments again then, and drop what had been dropped. What the copies hold: recover "
        "--dry-run -s "
        "SERVER,...";
  }
  return warning;
}

}  // namespace arion
