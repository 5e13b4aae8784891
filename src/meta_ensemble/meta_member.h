// MetaMember: one of several meta servers. It stands for election, leads while it has the lock,
// and else says who does.
//
// Shapes    A life: a session with ZooKeeper; the cluster's id (<root>/arion/cluster_id, 8
//           hexadecimal digits); the lock; the stored state; a MetaServer on it. Whatever ends one
//           of these ends the life, and the next begins with a new session and without any of what
//           the former one knew.
//           A leader hands over when it is told to (RPC_ARION_HAND_OVER_LEAD; meta/STATE.md 12.4).
// Errors    None: what goes wrong is logged, with what to do, and tried again.
// Threads   Strand-bound but for those of MetaService, Start and Stop.
// Lifetime  Environment, Transport and ZooKeeper outlive it.
// Promises  meta_member/E1  A request is answered as a leader answers it only while the lock can
//               be no other's by this server's clock (leader_lock/L1).
//           meta_member/E2  What is stored is stored under the lock (zookeeper_meta_store/Z1).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/status/status.h>

#include <functional>
#include <memory>
#include <string>

#include "meta/meta_service.h"
#include "meta_ensemble/state_mark.h"
#include "rpc/transport.h"

namespace arion {

class Environment;
class MetaStore;
struct EnsembleOverview;
class ZooKeeper;

// Where the ensemble keeps what the meta servers share.
struct MetaMemberOptions {
  // A path, or "/".
  std::string root = "/";
  // Of the lock's directory.
  std::string lock_root;
  // What this server knows as the cluster's id; 0: nothing. Any thread.
  std::function<uint32_t()> known_cluster_id;
  // It may make one where nobody has yet.
  bool may_make_cluster_id = true;
  // Of this server: what it says of where the state is.
  StateDirectory directory;
  // The cluster's id, as it is stored. An error: this server is another cluster's. On the strand.
  std::function<absl::Status(uint32_t id)> on_cluster_id;
  // What the leader stores through, made of the store in ZooKeeper: somebody looks at what passes.
  // Empty: nobody does. On the strand.
  std::function<std::shared_ptr<MetaStore>(std::shared_ptr<MetaStore>)> watched_store;
};

// main makes it in the place of a MetaServer where the state is in ZooKeeper.
//
//   MetaMember member(env, transport, zookeeper, {.root = "/pegasus/c", ...}, options);
//   transport.SetHandler(member.Handler());
//   member.Start();
//   member.Stop([&] { stopped.Notify(); });
class MetaMember : public MetaService {
 public:
  MetaMember(Environment& env, Transport& transport, ZooKeeper& zookeeper,
             MetaMemberOptions options, MetaServerOptions meta);
  ~MetaMember() override;

  // As MetaServer's.
  RequestHandler Handler() const;
  void Start();
  // Gives up the lead at once: the next leader need not wait for the session's end.
  void Stop(std::function<void()> done);

  // Over what is stored, if this server leads. Any thread.
  void StoreClusterId(uint32_t id);

  // What this one knows of all of them; `done` runs on a strand, within half a second. Candidates
  // are read where they were not in the last two seconds. Any thread.
  void Ensemble(std::function<void(EnsembleOverview)> done);

  void Handle(InboundRequest request) override;
  void Reconfigure(const MetaServerOptions& options) override;
  // Of a server that does not lead: who does, and nothing of the cluster.
  void Overview(std::function<void(ClusterOverview)> done) override;
  const MetaServerStats& stats() const override;

 private:
  class State;
  std::shared_ptr<State> state_;
};

}  // namespace arion
