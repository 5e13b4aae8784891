// SPDX-License-Identifier: Apache-2.0
#include "main/pegasus_join.h"

#include <absl/strings/str_cat.h>

#include <vector>

#include "base/log.h"
#include "base/named_list.h"
#include "membership/join_notes.h"
#include "replica_server/replica_server.h"

namespace arion {
namespace {

constexpr size_t kNamedMax = 5;
// Often enough to be seen, seldom enough not to fill the log of a long migration.
constexpr int kMinutesBetweenLines = 10;

std::string Named(const std::vector<Endpoint>& servers) {
  return NamedList(servers, kNamedMax, [](Endpoint server) { return server.ToString(); });
}

}  // namespace

OlderServers::Policy OlderServersPolicy(const std::string& join_pegasus_cluster) {
  return join_pegasus_cluster.empty() ? OlderServers::Policy::kRefused
                                      : OlderServers::Policy::kLetIn;
}

MetricRegistrations RegisterOlderServers(MetricRegistry& registry, const OlderServers& older) {
  MetricRegistrations held;
  held.push_back(registry.Add({.name = "older_servers_let_in",
                               .help = "1: servers of an older version, which name no cluster, are "
                                       "let in (join_pegasus_cluster)."},
                              MetricKind::kGauge, {},
                              [&older] { return older.are_let_in() ? 1.0 : 0.0; }));
  held.push_back(registry.Add(
      {.name = "older_servers", .help = "Servers of an older version that took part a moment ago."},
      MetricKind::kGauge, {}, [&older] { return static_cast<double>(older.Heard().size()); }));
  return held;
}

MetricRegistrations RegisterJoin(MetricRegistry& registry, const ReplicaServer& server) {
  MetricRegistrations held;
  held.push_back(registry.Add(
      {.name = "join_obstacles",
       .help =
           "What keeps this server out of an older version's cluster, or tables there of which it "
           "takes no copy; the page /join names them."},
      MetricKind::kGauge, {},
      [&server] { return static_cast<double>(server.join().obstacles()); }));
  return held;
}

void JoinReminder::OnMinute() {
  // Minute 0 counts.
  if (minutes_++ % kMinutesBetweenLines != 0 || !older_.are_let_in()) return;
  const std::vector<Endpoint> heard = older_.Heard();
  LOG(WARNING) << "servers that name no cluster are let in, since join_pegasus_cluster = "
               << cluster_name_ << "; "
               << (heard.empty()
                       ? "none took part a moment ago"
                       : absl::StrCat(heard.size(), " took part a moment ago: ", Named(heard)))
               << ". When the last older server is gone: end_join in arion_shell";
}

std::optional<ClusterWarning> OlderServersNotice(const OlderServers& older,
                                                 const ClusterOverview& overview,
                                                 const std::string& cluster_name) {
  if (!older.are_let_in()) return std::nullopt;
  std::vector<Endpoint> alive;
  for (const ServerOverview& server : overview.servers)
    // Only those that serve now: a dead one has left, or comes back as another version.
    if (server.is_alive && server.is_older) alive.push_back(server.address);
  ClusterWarning notice{.kind = "older_servers_let_in",
                        .count = static_cast<int64_t>(alive.size()),
                        .what = "meta server",
                        // A notice changes no grade of the cluster's health: letting older servers
                        // in is intended.
                        .is_notice = true};
  notice.problem = absl::StrCat(
      "lets in servers that name no cluster (join_pegasus_cluster = ", cluster_name, "): ",
      alive.empty()
          ? "none is there"
          : absl::StrCat(alive.size(),
                         alive.size() == 1 ? " of an older version is there ("
                                           : " of an older version are there (",
                         Named(alive), "); what they acknowledge is in their page cache only"));
  notice.way = alive.empty() ? "end_join, and remove join_pegasus_cluster from configuration files"
                             : "replace them one after the other, then end_join";
  return notice;
}

}  // namespace arion
