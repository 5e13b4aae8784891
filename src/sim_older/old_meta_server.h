// OldMetaServer: a stand-in for the meta server of version 2.5.0, the only one of its cluster, one
// life of it: failure detector, config syncs, updates, proposals, tables, and what a server asks
// that joins. It speaks as 2.5.0 only (replica/OLDER.md); its judgement is old_guardian.h.
//
// Shapes    Its state is where ours is, in ours' form (meta_store.h stands in for ZooKeeper). Of
//           Arion's fields, ids from 1000 on, it reads none and sends none. What its process would
//           not survive (replica/README.md A1 to A21) is told by `violate`, led by the row.
// Threads   One strand. Lifetime: environment, transport and store outlive it.
// Promises  meta_server/M1.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/status/status.h>

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "env/clock.h"
#include "env/environment.h"
#include "meta_state/meta_store.h"
#include "sim_older/old_guardian.h"

namespace arion {
struct InboundRequest;
struct RecallAppRequest;
class Transport;
}  // namespace arion

namespace arion::sim {

// Settings, under the names of 2.5.0 beside them.
struct OldMetaOptions {
  std::string cluster_name;
  // fd_grace_seconds, fd_check_interval_seconds.
  absl::Duration grace, check_interval;
  // lb_interval_ms.
  absl::Duration guardian_interval;
  OldGuardianOptions guardian;
  // max_allowed_replica_count.
  size_t replica_count_max = 5;
  int64_t hold_seconds = 604800;
};

// One life. ServerLives (sim_cluster/server_lives.h) makes it in place of a MetaServer.
class OldMetaServer {
 public:
  OldMetaServer(Environment& env, Transport& transport, MetaStore& store, OldMetaOptions options,
                std::function<void(std::string)> violate);

  absl::Status Start();
  // Nobody is left of it, and those who were last contradict each other, or one of them is gone.
  bool IsLeftToPerson(PartitionId pid) const;

 private:
  Instant Now() const { return env_.clock().Now(); }
  int64_t NowSeconds() const { return env_.clock().WallMicros() / 1000000; }
  FunctionLevel Level() const { return OldLevel(state_, options_.guardian, level_); }

  void Handle(InboundRequest request);
  bool HandleServer(InboundRequest& request);
  // In old_meta_tables.cc, as the next one.
  bool HandleTable(InboundRequest& request);
  // The same.
  bool HandleQuery(InboundRequest& request);
  template <class T>
  std::optional<T> Take(const InboundRequest& request) const;
  template <class T>
  static void Answer(InboundRequest& request, const T& answer);

  // ---- nodes ----
  void OnBeacon(InboundRequest& request, const BeaconMessage& beacon);
  void CheckNodes();
  void OnDeath(Endpoint node);
  void OnSync(InboundRequest& request, const ConfigSyncRequest& sync);
  bool IsBeingUpdated(Endpoint node) const;
  // Those of them that nobody needs.
  std::vector<ReplicaInfo> Collect(Endpoint node, const std::vector<ReplicaInfo>& stored);
  void WatchLearners(Endpoint node);

  // ---- partitions ----
  void OnUpdate(InboundRequest request, const ConfigurationUpdateRequest& update);
  bool NamesUnknown(const ConfigurationUpdateRequest& update) const;
  void LookAtAll();
  void Look(PartitionId pid);
  void Propose(const OldTable& table, const OldPartition& partition, const OldProposal& proposal);
  void Write(PartitionConfiguration config, std::function<void()> done);
  void OnWritten(PartitionId pid);
  void WriteWithoutPrimary(const OldPartition& partition);
  // Again until it is stored; configurations also wait until the level lets them be written.
  void Commit(std::vector<MetaStore::Change> batch, std::function<void()> done);

  // ---- tables ----
  void Create(InboundRequest request, const CreateAppRequest& create);
  std::optional<ErrorCode> WhyNotCreated(const CreateAppRequest& create, int32_t* existing);
  void Drop(InboundRequest request, const DropAppRequest& drop);
  void Recall(InboundRequest request, const RecallAppRequest& recall);
  // Its partitions become what its status asks for; then that ends, and who waits is answered.
  void GoOn(OldTable& table);
  void FinishPartition(OldTable& table, OldPartition& partition);
  ErrorCode Busy(const OldTable& table) const;
  ListNodesResponse Nodes(NodeStatus status) const;
  ClusterInfoResponse Info() const;

  Environment& env_;
  Transport& transport_;
  MetaStore& store_;
  const OldMetaOptions options_;
  std::function<void(std::string)> violate_;
  StrandPtr strand_;
  OldClusterState state_;
  FunctionLevel level_ = FunctionLevel::kSteady;
  bool is_first_life_ = true;
  std::map<Endpoint, Instant> last_beacons_;
  // By table: who waits for the end of its change.
  std::map<int32_t, std::vector<std::function<void()>>> waiting_;
};

}  // namespace arion::sim
