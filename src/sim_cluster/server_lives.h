// ServerLives: how the servers and the meta server of a cluster begin, stop, crash and come back.
// It owns their nodes' objects.
//
//   lives.StartMeta();
//   for (SimServer& server : lives.All()) lives.StartServer(server);
//   lives.CrashServer(server, CrashMode::kPowerRandom);
//   lives.RestartLater(server, absl::Seconds(3));
//
// Threads   One: the world's. Lifetime: what it is given outlives it. EndAll comes before
//           destruction.
// Promises  server_lives/L1  A server that does not start is a violation, unless its disk was in
//               trouble: then it is tried again, as whoever watches over a process would.
//           server_lives/L2  A clean stop ends within 20 s where its machine is not slow.
//           server_lives/L3  On a full disk the meta server stores failovers all the same, from its
//               reserve.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "sim/sim_transport.h"
#include "sim/sim_world.h"
#include "sim_checkers/checked_engine.h"
#include "sim_cluster/cluster_settings.h"
#include "sim_cluster/groups.h"
#include "sim_cluster/run_checkers.h"
#include "sim_cluster/sim_server.h"
#include "sim_metas/meta_group.h"

namespace arion::sim {

// A member of SimCluster. What runs as an event later (restarts, the end of a stop) checks that the
// life is still the one it meant.
class ServerLives {
 public:
  using Servers = std::vector<std::unique_ptr<SimServer>>;

  // `meta`: the meta server's node. The servers' are added.
  ServerLives(const ClusterSettings& settings, SimNode& meta, SimWorld& world, SimNetwork& network,
              OpenEngines& engines, RunCheckers& checkers, Groups& groups);

  // The only one. Where there are several, its node is the first one's, and nothing lives there.
  SimMeta& meta() { return meta_; }
  const SimMeta& meta() const { return meta_; }
  // Null: there is one.
  MetaGroup* metas() { return metas_.get(); }
  const MetaGroup* metas() const { return metas_.get(); }
  // Throws dice only where there are several.
  SimNode& AnyMetaNode();
  Endpoint AnyMetaEndpoint();
  // Of the one that leads, or led last.
  const SimNode& LeadingNode() const;
  // What is durable; an error: nothing is known.
  absl::StatusOr<ClusterState> StoredState() const;
  const Servers& servers() const { return servers_; }
  std::vector<Endpoint> ServerEndpoints() const;
  SimServer& AnyServer() { return *servers_[world_.random().Below(servers_.size())]; }
  // nullptr: it is none, or was replaced.
  SimServer* ServerAt(Endpoint endpoint);
  // Whether all servers are up, and the meta server, too.
  bool AreAllUp() const;

  // Runs when a server is down and its restart is planned.
  std::function<void(SimServer&)> on_down;
  // Runs when some member applies a mutation; may be empty.
  CheckedEngineFactory::OnApplied on_applied;
  // Runs for each key of the meta server's store that became durable; may be empty.
  CheckedMetaStore::OnChange on_stored;
  // From the next lives on servers reach those of another cluster, as its clients.
  void ConnectTo(SimNetwork& other_cluster) { other_cluster_ = &other_cluster; }

  // Does nothing if it runs. Of several: starts those that are down.
  void StartMeta();
  // The only one.
  void CrashMeta(CrashMode mode);

  // Does nothing if it runs.
  void StartServer(SimServer& server);
  // Stops it cleanly; then it is started again.
  void StopServer(SimServer& server);
  void CrashServer(SimServer& server, CrashMode mode);
  // Crashes it between two steps of what it does next, and starts it again after `delay`.
  void CrashAfterChanges(SimServer& server, int64_t changes, CrashMode mode,
                         std::function<absl::Duration()> delay);
  void RestartLater(SimServer& server, absl::Duration delay);
  void EndAll();
  // Servers of a version without indexes begin lives of ours, and all later lives are.
  void EndRollbacks();

  // The balancer. From the beginning it is what the mix says.
  void LetBalance();
  // Does nothing if it was off.
  void StopBalancing();

  absl::Duration DrawLength() { return settings_.DrawLength(world_.random()); }
  CrashMode DrawCrashMode() { return settings_.DrawCrashMode(world_.random()); }

 private:
  void AddServers();
  void AddMetas();
  void PrepareNode(SimNode& node);
  std::unique_ptr<SimTransport> NewEndAbroad(SimNode& node, Endpoint here);
  void LeaveAbroad(std::unique_ptr<SimTransport>& end, SimNetwork::Farewell farewell);
  absl::Status StartMetaServer(Environment& env);
  void OnStored(const PartitionConfiguration& config);
  void OnRefused(const absl::Status& why);
  std::unique_ptr<CheckedEngineFactory> NewEngines(SimServer& server);
  void StartOldServer(SimServer& server, Environment& env);
  void BuryServer(SimServer& server, SimNetwork::Farewell farewell);
  void EndStopThatLasts(SimServer& server);
  // Asks the meta server of this life until it has answered.
  void SetLevel(SimNode& node, SimTransport& transport, FunctionLevel level);
  void AskForLevel(const StrandPtr& strand, SimTransport& transport, FunctionLevel level);
  // The one that leads, if any does.
  void SetLevelOfLeader(FunctionLevel level);

  const ClusterSettings& settings_;
  SimWorld& world_;
  SimNetwork& network_;
  OpenEngines& engines_;
  RunCheckers& checkers_;
  Groups& groups_;
  SimMeta meta_;
  std::unique_ptr<MetaGroup> metas_;
  Servers servers_;
  bool balances_;
  bool may_roll_back_ = true;
  SimNetwork* other_cluster_ = nullptr;
};

}  // namespace arion::sim
