// OldHost: what a server of version 2.5.0 gives its replicas: its surroundings, its lease, and the
// way to say that its process would have ended.
//
// Threads   One: the server's strand. Lifetime: outlives the replicas.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/functional/any_invocable.h>

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/instant.h"
#include "env/clock.h"
#include "env/environment.h"
#include "messages/configuration.h"
#include "rpc/transport.h"

namespace arion {
class EngineFactory;
}

namespace arion::sim {

class OldStore;
class SimRandom;

// Settings of a server of 2.5.0, under its names beside them.
struct OldServerOptions {
  Endpoint meta_server;
  std::string data_directory;
  absl::Duration beacon_interval, lease, config_sync_interval, group_check_interval;
  absl::Duration prepare_timeout, learner_prepare_timeout;
  absl::Duration checkpoint_interval, closed_replica_linger;
  uint64_t log_file_bytes = 0;
  // max_mutation_count_in_prepare_list.
  int64_t list_span_max = 110;
  // staleness_for_commit.
  int64_t in_flight_max = 20;
  // mutation_2pc_min_replica_count.
  int32_t replica_count_min = 2;
  // Its own meta server grants forced ballots: then reads wait there, too, and none is judged for
  // it.
  bool waits_when_forced = false;
};

// Made and owned by OldServer; every replica holds a reference.
struct OldHost {
  Environment& env;
  Transport& transport;
  StrandPtr strand;
  EngineFactory& engines;
  SimRandom& random;
  const OldServerOptions options;
  // "replica/README.md A6: ...": by that row a process of 2.5.0 has ended. So it says what breaks a
  // rule of replica/OLDER.md.
  std::function<void(std::string)> violate;
  // Null: what its replicas have stays in memory.
  OldStore* store = nullptr;
  bool is_connected = false;
  Instant lease_end{0};

  Endpoint self() const { return transport.local(); }
  // 2.5.0 demotes its replicas by a timer, and may answer a little longer; this one looks each
  // time.
  bool HoldsLease() const { return is_connected && env.clock().Now() < lease_end; }
  // Of a connection that broke nothing is heard before the time is over.
  void Call(Endpoint to, std::string name, std::string body, PartitionId of, absl::Duration timeout,
            absl::AnyInvocable<void(RpcResult)> done);
  void SendOneWay(Endpoint to, std::string name, std::string body, PartitionId of);
};

}  // namespace arion::sim
