// SPDX-License-Identifier: Apache-2.0
#include "main/knocking_servers.h"

#include <absl/strings/str_cat.h>
#include <absl/strings/str_join.h>

#include <string>

#include "base/cluster_identity.h"
#include "base/log.h"
#include "meta_state/cluster_warning.h"

namespace arion {
namespace {

// A longer command is given a file instead.
constexpr size_t kListedMax = 20;  // in a command that can be copied

std::string Listed(const std::set<Endpoint>& servers) {
  return absl::StrJoin(servers, ",", [](std::string* out, Endpoint server) {
    absl::StrAppend(out, server.ToString());
  });
}

// The command that asks them.
std::string RecoverFrom(const std::set<Endpoint>& servers) {
  return servers.size() > kListedMax ? "recover -f FILE (their addresses in it)"
                                     : absl::StrCat("recover -s ", Listed(servers));
}

}  // namespace

void KnockingServers::Note(const ClusterIdentity& ours, Endpoint server, uint64_t tag,
                           Instant now) {
  const uint32_t id = ClusterIdentity::IdOf(tag);
  // Only servers of our cluster_name: others are plainly misconfigured, and say so themselves.
  if (id == 0 || id == ours.id() || !ours.HasNameOf(tag)) return;
  const MutexLock lock(mutex_);
  std::erase_if(knocks_, [&](const auto& knock) { return now - knock.second.at > kKnockedFor; });
  // Strangers can't fill the memory; those that knock again are still counted.
  if (knocks_.size() >= kKnockersMax) return;
  const bool is_new = knocks_.insert_or_assign(server, Knock{id, now}).second;
  LOG_IF(ERROR, is_new) << "meta: " << server << " is of a cluster \"" << ours.name()
                        << "\" with another id (" << FormatClusterId(id) << ", ours is "
                        << FormatClusterId(ours.id())
                        << ") and is refused. Its meta_servers may be wrong; or this meta server "
                           "lost its state (meta_data_dir new, or another's): put it back, or "
                           "have it learned from the replica servers, arion_shell's recover -s "
                           "SERVER,... (all of them)";
}

std::set<Endpoint> KnockingServers::Since(const ClusterIdentity& ours, Instant now) const {
  std::set<Endpoint> servers;
  const MutexLock lock(mutex_);
  for (const auto& [server, knock] : knocks_)
    // A server that has taken our id meanwhile knocks no more.
    if (now - knock.at <= kKnockedFor && knock.cluster_id != ours.id()) servers.insert(server);
  return servers;
}

absl::Status KnockingServers::LearnFrom(const std::set<Endpoint>& servers, size_t alive,
                                        Instant now, ClusterIdentity* ours) const {
  for (Endpoint server : Since(*ours, now)) {
    // Only what is asked to recover matters.
    if (!servers.contains(server)) continue;
    // Both kinds at once: to forget our id would shut out the servers that took it.
    if (alive > 0)
      return absl::FailedPreconditionError(absl::StrCat(
          server.ToString(), " is of another cluster id, and ", alive,
          " servers have taken the id that this meta server made: stop those, remove "
          ".arion-cluster from their data directories, and recover when they are silent (nodes)"));
    LOG(WARNING) << "meta: the cluster's id is learned from those it recovers from; "
                 << FormatClusterId(ours->id()) << " was made by a meta server without state";
    ours->Forget();
    break;
  }
  return absl::OkStatus();
}

std::optional<ClusterWarning> KnockingServers::Warning(const ClusterIdentity& ours, Tables tables,
                                                       Instant now) const {
  const std::set<Endpoint> servers = Since(ours, now);
  if (servers.empty()) return std::nullopt;
  const auto n = static_cast<int64_t>(servers.size());
  ClusterWarning warning{.kind = "other_cluster_knocks", .count = n, .what = "meta server"};
  warning.problem = absl::StrCat("refuses ", n, n == 1 ? " server" : " servers", " of a cluster \"",
                                 ours.name(), "\" with another id (", Listed({*servers.begin()}),
                                 n == 1 ? "" : absl::StrCat(" and ", n - 1, " more"), ")");
  if (tables == Tables::kNone) {
    warning.problem += " and has no table: its state may be lost (meta_data_dir new, or another's)";
    warning.way = absl::StrCat(
        "put its former meta_data_dir back, or have the state learned from all replica servers: ",
        RecoverFrom(servers));
  } else {
    warning.problem +=
        ": their meta_servers are wrong, or this state is not the one they belong to";
    warning.way =
        "look at their meta_servers; where this meta server lost the state they belong to, give it "
        "an empty meta_data_dir, and recover -s SERVER,... (all replica servers)";
  }
  return warning;
}

}  // namespace arion
