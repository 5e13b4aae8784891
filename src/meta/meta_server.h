// MetaServer owns the cluster's configuration: tables, partitions, who serves them, who is alive.
//
// Threads   Start, Stop and those of MetaService: any thread; everything else on one strand.
//           Judgement is pure (cluster_state.h, failure_detector.h, partition_guardian.h).
// Lifetime  Environment and Transport outlive it.
// Promises  meta_server/M1  A configuration is durable in the store before memory holds it and
//               before anyone is told.
//           meta_server/M2  A partition's ballot rises by exactly one with each stored change of
//               its members; where a server shows a larger one than is stored, to the one behind
//               that.
//           meta_server/M3  A server is declared dead no earlier than one grace after its last
//               beacon arrived; grace > lease.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/status/status.h>
#include <absl/time/time.h>

#include <functional>
#include <memory>

#include "meta/meta_service.h"
#include "rpc/transport.h"

namespace arion {

class Environment;
class MetaStore;

// One meta server. main makes it, starts it once and stops it before the transport and the store
// end. After Stop it serves nothing; what is being stored may still become durable.
//
//   MetaServer server(env, transport, store, options);
//   transport.SetHandler(server.Handler());
//   RETURN_IF_ERROR(server.Start());             // may wait for the disk
//   server.Overview([](ClusterOverview overview) { ... });
//   server.Stop([&] { stopped.Notify(); });
class MetaServer : public MetaService {
 public:
  // `stats`: of its process, where it is not the first that leads there.
  MetaServer(Environment& env, Transport& transport, std::shared_ptr<MetaStore> store,
             MetaServerOptions options,
             std::shared_ptr<MetaServerStats> stats = std::make_shared<MetaServerStats>());
  ~MetaServer() override;

  // What the transport is to call; best before Start, so that clients hear at once that they must
  // wait, instead of running into timeouts. It does nothing once this is gone.
  RequestHandler Handler() const;
  // Reads the store, then serves. May wait for the disk. DataLoss: the store can't be understood;
  // nothing was changed.
  absl::Status Start();
  void Stop(std::function<void()> done);

  void Handle(InboundRequest request) override;
  void Reconfigure(const MetaServerOptions& options) override;
  void Overview(std::function<void(ClusterOverview)> done) override;
  const MetaServerStats& stats() const override;

 private:
  class State;
  std::shared_ptr<State> state_;
};

}  // namespace arion
