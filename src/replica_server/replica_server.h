// ReplicaServer hosts the replicas of one server: opens them from their data directories, routes
// requests to their strands, keeps the lease with the meta server, and closes them.
//
// Threads   Start, Stop, Snapshot, Disks: any thread. Everything else happens on strands and pools
//           of the Environment.
// Lifetime  Environment, Transport and EngineFactory outlive it. Destruction without Stop is a
//           crash (nothing flushed).
// Promises  replica_server/P1  No client read or write is answered OK while the lease is lost;
//               reads check it again after reading.
//           replica_server/P2  One damaged or slow replica or disk never stops another.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/status/status.h>
#include <absl/time/time.h>

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/ids.h"
#include "messages/meta_messages.h"

namespace arion {

struct DiskSnapshot;
class DuplicationBook;
class EngineFactory;
class Environment;
struct InboundRequest;
class JoinNotes;
struct LogReplayStats;
struct RecoveryReport;
struct ReplicaServerOptions;
struct ReplicaSnapshot;
class IndexBook;
class RequestBook;
class ServerLease;
struct SharedLogStats;
class SlowRequests;
class Transport;
class VerificationBook;

// The facade of this folder, for main/ and the simulator.
//
//   ReplicaServer server(env, transport, engines, options);
//   RETURN_IF_ERROR(server.Start());  // requests may come from now on
//   ...
//   server.Stop([](const absl::Status& status) { ... });
class ReplicaServer {
 public:
  ReplicaServer(Environment& env, Transport& transport, EngineFactory& engines,
                ReplicaServerOptions options);
  ~ReplicaServer();

  // Claims the data directories (lock files), begins to load replicas in the disks' pools and to
  // send beacons; returns once the directories are listed, before replicas are loaded. Errors name
  // directory and remedy. May wait for disks.
  absl::Status Start();
  // Clean stop: no new requests, flush and close all replicas in parallel, trim logs; `done` runs
  // on some strand.
  void Stop(std::function<void(absl::Status)> done);

  // As one that came in by the transport. Any thread.
  void Handle(InboundRequest request);
  // Takes over what is changeable in operation (config/server_config.h). Any thread.
  void Reconfigure(const ReplicaServerOptions& options);
  // Where the meta servers are from now on; not empty. After Start; any thread.
  void SetMetaServers(std::vector<Endpoint> meta_servers);
  // The tables that replicas here belong to; `done` runs on some strand.
  void Tables(std::function<void(std::vector<AppInfo>)> done);
  // What each open replica says of its compactions on request, by partition.
  void CompactionTexts(std::function<void(std::map<PartitionId, std::string>)> done);
  // Asks every replica on its strand; `done` gets them ordered by partition.
  void Snapshot(std::function<void(std::vector<ReplicaSnapshot>)> done);
  // The disks of the data directories, in configuration order, then that of the log home, if there
  // is one, under the tag log_home. Thread-safe.
  std::vector<DiskSnapshot> Disks() const;
  // Has one replica, or all, make a checkpoint now; Snapshot tells when there is one.
  void AskForCheckpoints(std::optional<PartitionId> only);
  // How far the opening of what Start found is. Thread-safe, waits for nothing.
  RecoveryReport RecoveryNow() const;
  // These live as long as the server does.
  const LogReplayStats& replay() const;
  const SharedLogStats& shared_log() const;
  const RequestBook& requests() const;
  const SlowRequests& slow_requests() const;
  std::shared_ptr<const IndexBook> indexes() const;
  std::shared_ptr<const DuplicationBook> duplications() const;
  const ServerLease& lease() const;
  const VerificationBook& verifications() const;
  const JoinNotes& join() const;
  // Of content that was counted here, since the start.
  int64_t verified_bytes() const;

  // Before Start. `refused` runs, on some strand, if after Start the shared log turns out to be one
  // that can't be taken over: nothing will be served, the process shall stop.
  void OnRefused(std::function<void(const absl::Status&)> refused);

 private:
  class State;
  std::shared_ptr<State> state_;
};

}  // namespace arion
