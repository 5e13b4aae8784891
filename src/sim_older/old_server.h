// OldServer: a stand-in for a replica server of version 2.5.0, one life of it, on a SimNode or as a
// process (tests/older): beacons, config syncs, its replicas, and the files they hand out. It
// speaks as 2.5.0 only, so that clusters of both versions can be tried (replica/OLDER.md).
//
// Shapes    What its process would not survive (replica/README.md A1 to A21) is told by `violate`,
//           led by the row; so is a header that breaks the rules for messages between servers
//           (replica/OLDER.md 2).
// Threads   One strand. Lifetime: environment, transport, engines and disk outlive it; when a life
//           ends without more ado, its process was killed, and the disk has what was written.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "messages/meta_messages.h"
#include "messages/replication_messages.h"
#include "sim_older/old_host.h"
#include "sim_older/old_store.h"

namespace arion {
class EngineFactory;
}

namespace arion::sim {

class OldReplica;
class SimRandom;

// One life of a server. ServerLives makes it on a SimNode, tests/older as a process.
class OldServer {
 public:
  OldServer(Environment& env, Transport& transport, EngineFactory& engines, SimRandom& random,
            OldDisk& disk, OldServerOptions options, std::function<void(std::string)> violate,
            OldStore* store = nullptr);
  ~OldServer();

  // Opens what the disk has, and begins to send beacons.
  void Start();
  // Closes its replicas, as a process does that is told to stop. On the strand; nothing may follow.
  void Stop();

  // Of replicas that are open.
  std::vector<ReplicaInfo> Replicas() const;

 private:
  using Lookup = std::map<PartitionId, std::shared_ptr<OldReplica>>;

  void SendBeacon();
  void OnBeaconAnswer(Instant sent, const RpcResult& result);
  void CheckLease();
  void Sync();
  void OnSynced(const RpcResult& result);
  void ScheduleSync(absl::Duration delay);

  void Handle(InboundRequest request);
  bool HandleData(InboundRequest& request);
  bool HandlePeer(InboundRequest& request);
  bool HandleFiles(InboundRequest& request);
  bool HandleTools(InboundRequest& request);
  bool IsHeaderSound(const InboundRequest& request, PartitionId pid) const;
  template <class T>
  std::optional<T> Take(const InboundRequest& request) const;
  void Propose(const ConfigurationUpdateRequest& proposal);
  GetFileSizeResponse Sizes(const GetFileSizeRequest& request);
  CopyResponse Copy(const CopyRequest& request);
  // What lies there; nullopt: nothing.
  std::optional<std::string> Content(const std::string& directory, const std::string& name);

  OldReplica* Find(PartitionId pid);
  // Opened from the disk, or made anew where that is allowed; nullptr: neither.
  OldReplica* FindOrOpen(PartitionId pid, const AppInfo& app, bool may_create);
  // What the disk has of it; nullptr: nothing that is complete, and no more of that.
  OldReplica* Load(PartitionId pid);
  void Remove(PartitionId pid);
  void Close(PartitionId pid);

  OldDisk& disk_;
  OldHost host_;
  Lookup replicas_;
  // What replicas were when they were closed.
  std::map<PartitionId, ReplicaInfo> closed_;
  const int64_t start_time_ms_;
  // When the last beacon was sent that was answered.
  Instant acknowledged_{0};
  bool is_connecting_ = false;
  bool is_syncing_ = false;
  TimerId sync_timer_ = kNoTimer;
};

}  // namespace arion::sim
