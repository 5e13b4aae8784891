// ClusterSettings: with what settings the servers and the meta server of one run begin: what the
// run is told, and what its seed draws beside it. Short timers, so that more of everything that
// matters happens in a simulated minute.
//
// Threads   Immutable once all is drawn.
// Promises  cluster_settings/D1  Equal options and equal dice give equal settings.
//           cluster_settings/D2  Two clocks that drift apart as far as the mix lets them still keep
//               the lease shorter than the grace.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "meta/meta_options.h"
#include "replica/replica_options.h"
#include "sim/sim_random.h"
#include "sim_cluster/sim_cluster_options.h"
#include "sim_older/old_server.h"
#include "sim_zookeeper/sim_zookeeper.h"

namespace arion::sim {

struct BoundSettings;
class Bounds;
struct OldMetaOptions;

// All settings of a run. SimCluster draws them once; everybody else reads them.
struct ClusterSettings {
  static constexpr char kMetaRoot[] = "/data/meta";
  // Of the meta server: more than a run's failovers need on a full disk.
  static constexpr uint64_t kMetaReserveBytes = 256 << 10;
  // The only meta server, or the first of several.
  static constexpr Endpoint kMetaEndpoint = {0x0a0000c8u, 34601};
  std::vector<Endpoint> MetaEndpoints() const;
  static Endpoint ServerEndpoint(int index) {
    return {0x0a000001u + static_cast<uint32_t>(index), 34801};
  }

  // Where the node of an address of this cluster is in the network of the other one.
  static Endpoint Abroad(Endpoint here) { return {here.ip + (1u << 16), here.port}; }

  // All but the layout. A run adds its meta server's node, which throws dice, too, before that is
  // drawn.
  static ClusterSettings Draw(SimClusterOptions options, SimRandom& random);
  void DrawLayout(SimRandom& random);

  // Of a node that is called so in a cluster of its own.
  std::string NodeName(const std::string& name) const {
    return run.name.empty() ? name : run.name + "." + name;
  }
  // Of a server: its data directories and, if there is one, the log home.
  std::vector<std::string> DiskPaths() const;
  bool HasLogHome() const { return !server.layout.log_home_directory.empty(); }
  BoundSettings Bounds() const;
  // Of the ZooKeeper of several meta servers.
  SimZooKeeperOptions ZooKeeper() const;
  // By how much two wall clocks may differ after `elapsed`.
  int64_t WallErrorSeconds(absl::Duration elapsed) const;
  // The same settings in the words of version 2.5.0.
  OldMetaOptions OldMeta() const;
  OldServerOptions OldServer() const;

  // How long what lasts does; and how a machine ends.
  absl::Duration DrawLength(SimRandom& random) const;
  CrashMode DrawCrashMode(SimRandom& random) const;

  SimClusterOptions run;
  // Replicas of each partition.
  int replica_count = 0;
  ReplicaServerOptions server;
  MetaServerOptions meta;

 private:
  void KnowOtherCluster();
  void DrawTimers(SimRandom& random);
  void DrawLogs(SimRandom& random);
  void DrawDisks(SimRandom& random);
};

}  // namespace arion::sim
