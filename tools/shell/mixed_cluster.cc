// SPDX-License-Identifier: Apache-2.0
#include "tools/shell/mixed_cluster.h"

#include <absl/strings/numbers.h>
#include <absl/time/time.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "base/named_list.h"
#include "base/status.h"
#include "tools/pages/server_page.h"
#include "tools/shell/remote_server.h"

namespace arion::shell {
namespace {

constexpr size_t kNamedMax = 5;
constexpr char kInPageCache[] =
    "members of an older version acknowledge what is in their page cache: ";

std::string Named(const std::set<Endpoint>& servers) {
  return NamedList(servers, kNamedMax, [](Endpoint server) { return server.ToString(); });
}

// nullopt: no meta server tells it.
std::optional<std::vector<WeakTable>> AsTheMetaServerSays(Session& session,
                                                          const std::vector<TableState>& tables) {
  for (Endpoint meta_server : session.cluster().meta_servers()) {
    const auto durabilities = FetchDurabilities(meta_server);
    if (!durabilities.ok()) continue;
    std::vector<WeakTable> weak;
    for (const TableState& table : tables) {
      const auto told = durabilities->find(table.info.app_id);
      if (told == durabilities->end() || !told->second.modes.contains("os")) continue;
      const std::set<Endpoint>& older = told->second.older_servers;
      weak.push_back({table.info.app_name, older.empty()
                                               ? "durability = os on some of its servers"
                                               : absl::StrCat(kInPageCache, Named(older))});
    }
    return weak;
  }
  return std::nullopt;
}

// What one server's members do; nullopt: not known.
enum class Keeps { kFsync, kOs, kPageCacheOfOlder };
std::optional<Keeps> KeptBy(Endpoint server) {
  const absl::StatusOr<std::vector<Setting>> settings = SettingsOf(server);
  if (settings.ok())
    for (const Setting& setting : *settings)
      if (setting.key == "durability") return setting.value == "fsync" ? Keeps::kFsync : Keeps::kOs;
  if (IsOlder(server, FetchSamples(server).status())) return Keeps::kPageCacheOfOlder;
  return std::nullopt;
}

std::vector<WeakTable> AsTheMembersSay(const std::vector<TableState>& tables) {
  // Each server is asked once, however many partitions it has.
  std::map<Endpoint, std::optional<Keeps>> asked;
  const auto keeps = [&](Endpoint server) {
    const auto [it, is_new] = asked.try_emplace(server);
    if (is_new) it->second = KeptBy(server);
    return it->second;
  };
  std::vector<WeakTable> weak;
  for (const TableState& table : tables) {
    std::set<Endpoint> members, older;
    for (const PartitionConfiguration& partition : table.partitions) {
      if (partition.primary.IsValid()) members.insert(partition.primary);
      members.insert(partition.secondaries.begin(), partition.secondaries.end());
    }
    bool is_os = false;
    for (Endpoint member : members) {
      if (keeps(member) == Keeps::kPageCacheOfOlder) older.insert(member);
      is_os |= keeps(member) == Keeps::kOs;
    }
    if (!older.empty())
      weak.push_back({table.info.app_name, absl::StrCat(kInPageCache, Named(older))});
    else if (is_os)
      weak.push_back({table.info.app_name, "durability = os on some of its servers"});
  }
  return weak;
}

// A time among a server's settings: our key, or an older version's, which is in seconds.
std::optional<absl::Duration> TimeOf(Endpoint server, std::string_view key,
                                     std::string_view older_key) {
  const absl::StatusOr<std::vector<Setting>> settings = SettingsOf(server);
  if (!settings.ok()) return std::nullopt;
  for (const Setting& setting : *settings) {
    absl::Duration time;
    int64_t seconds = 0;
    if (setting.key == key && absl::ParseDuration(setting.value, &time)) return time;
    if (setting.key == older_key && absl::SimpleAtoi(setting.value, &seconds))
      return absl::Seconds(seconds);
  }
  return std::nullopt;
}

}  // namespace

bool IsOlder(Endpoint server, const absl::Status& samples) {
  // It answers a page of its own, and has none of ours.
  return IsNoSuchPage(samples) && FetchPage(server, "/version", PageForm::kJson).ok();
}

std::vector<Joining> WhoJoins(Session& session, const std::vector<NodeState>& nodes,
                              const std::set<Endpoint>& silent) {
  std::vector<Joining> joining;
  for (Endpoint meta_server : session.cluster().meta_servers()) {
    const auto warnings = FetchWarnings(meta_server);
    if (!warnings.ok()) continue;
    for (JsonRow warning : *warnings)
      if (warning["notice"] == "true")
        joining.push_back({absl::StrCat("meta server ", meta_server.ToString()), warning["problem"],
                           warning["way"]});
  }
  for (const NodeState& node : nodes) {
    if (!node.alive || silent.contains(node.address)) continue;
    const std::string who = absl::StrCat("server ", node.address.ToString());
    const absl::StatusOr<std::vector<MetricSample>> samples = FetchSamples(node.address);
    if (!samples.ok()) {
      if (IsOlder(node.address, samples.status()))
        joining.push_back({who, "is of an older version: it has no page of ours",
                           "replace it, and end_join when the last one is gone"});
    } else if (SumOf(*samples, "older_servers_let_in") > 0) {
      joining.push_back(
          {who,
           absl::StrCat("lets in servers that name no cluster; a moment ago ",
                        static_cast<int64_t>(SumOf(*samples, "older_servers")), " took part"),
           "end_join when the last one is gone"});
    }
  }
  return joining;
}

std::vector<Joining> WhoLeadsTooLong(Session& session, const std::vector<NodeState>& nodes,
                                     const std::set<Endpoint>& silent) {
  std::optional<absl::Duration> grace;
  for (Endpoint meta_server : session.cluster().meta_servers())
    if (!grace) grace = TimeOf(meta_server, "grace", "fd_grace_seconds");
  std::vector<Joining> long_leases;
  for (const NodeState& node : nodes) {
    if (!grace || !node.alive || silent.contains(node.address)) continue;
    const auto lease = TimeOf(node.address, "lease", "fd_lease_seconds");
    // A lease must end before the grace does: else the former primary still serves beside the next
    // one.
    if (!lease || *lease < *grace) continue;
    long_leases.push_back({absl::StrCat("server ", node.address.ToString()),
                           absl::StrCat("serves ", absl::FormatDuration(*lease),
                                        " after its last beacon, and the "
                                        "meta server has another lead after ",
                                        absl::FormatDuration(*grace), ": two could lead"),
                           "start it with the cluster's lease (lease, fd_lease_seconds)"});
  }
  return long_leases;
}

std::vector<WeakTable> WeakTables(Session& session, const std::vector<TableState>& tables) {
  auto told = AsTheMetaServerSays(session, tables);
  return told ? *std::move(told) : AsTheMembersSay(tables);
}

void AddWeakTables(Session& session, const std::vector<TableState>& tables, Answer* answer) {
  Answer::List list{"lost_by_a_power_cut", {"name", "why"}, {}};
  for (const WeakTable& table : WeakTables(session, tables))
    list.rows.push_back({Escape(table.name), table.why});
  if (!list.rows.empty()) answer->AddList(std::move(list));
}

}  // namespace arion::shell
