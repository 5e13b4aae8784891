// What is shown and said while servers of an older version are let in (join_pegasus_cluster).
//
// Threads   Thread-safe.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "exposition/process_metrics.h"
#include "meta_overview/cluster_overview.h"
#include "metrics/metric_registry.h"
#include "rpc/older_servers.h"

namespace arion {

class ReplicaServer;

// As join_pegasus_cluster says.
OlderServers::Policy OlderServersPolicy(const std::string& join_pegasus_cluster);

// older_servers_let_in, older_servers. `older` outlives them.
MetricRegistrations RegisterOlderServers(MetricRegistry& registry, const OlderServers& older);

// join_obstacles. `server` outlives it.
MetricRegistrations RegisterJoin(MetricRegistry& registry, const ReplicaServer& server);

// Writes a line of the log, if older servers are let in: at the start and every ten minutes.
class JoinReminder {
 public:
  JoinReminder(const OlderServers& older, std::string cluster_name)
      : older_(older), cluster_name_(std::move(cluster_name)) {}
  // To be called at the start, then once a minute, on one thread.
  void OnMinute();

 private:
  const OlderServers& older_;
  const std::string cluster_name_;
  int minutes_ = 0;
};

// Of a meta server; nullopt: no older servers are let in.
std::optional<ClusterWarning> OlderServersNotice(const OlderServers& older,
                                                 const ClusterOverview& overview,
                                                 const std::string& cluster_name);

}  // namespace arion
