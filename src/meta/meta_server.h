// MetaServer owns the cluster's configuration: tables, partitions, who serves them, who is alive.
//
// Threads   Start, Stop, Overview, stats: any thread; everything else on one strand. Judgement is
//           pure (cluster_state.h, failure_detector.h, partition_guardian.h).
// Lifetime  Environment, Transport and MetaStore outlive it.
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

#include "base/counter.h"

namespace arion {

struct ClusterOverview;
class Environment;
struct InboundRequest;
struct MetaServerOptions;
class MetaStore;
class Transport;

// Since the process began. Any thread may read them; the exposition does.
struct MetaServerStats {
  Counter configuration_changes;
  // Looks at a partition of which nobody could be made primary.
  Counter primary_choice_failures;
  Counter server_deaths;
};

// One meta server. main makes it, starts it once and stops it before the transport and the store
// end. After Stop it serves nothing; what is being stored may still become durable.
//
//   MetaServer server(env, transport, store, options);
//   RETURN_IF_ERROR(server.Start());             // may wait for the disk
//   server.Overview([](ClusterOverview overview) { ... });
//   server.Stop([&] { stopped.Notify(); });
class MetaServer {
 public:
  MetaServer(Environment& env, Transport& transport, MetaStore& store, MetaServerOptions options);
  ~MetaServer();

  // Reads the store, then serves. May wait for the disk. DataLoss: the store can't be understood;
  // nothing was changed.
  absl::Status Start();
  void Stop(std::function<void()> done);

  // As one that came in by the transport. Any thread.
  void Handle(InboundRequest request);
  // Takes over what is changeable in operation (config/server_config.h). Any thread.
  void Reconfigure(const MetaServerOptions& options);
  // Any thread; `done` runs on the strand.
  void Overview(std::function<void(ClusterOverview)> done);
  const MetaServerStats& stats() const;

 private:
  class State;
  std::shared_ptr<State> state_;
};

}  // namespace arion
