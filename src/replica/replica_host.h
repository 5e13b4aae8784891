// ReplicaHost: what the replicas of one server share: the outside world, the server's options,
// its lease.
//
// Threads   Immutable after construction; each part is thread-safe by itself.
// Lifetime  Environment, Transport and EngineFactory outlive it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/ids.h"
#include "engine/engine.h"
#include "env/environment.h"
#include "pacifica/effects.h"
#include "replica/disk_watch.h"
#include "replica/replica_server.h"
#include "replica/served_files.h"
#include "replica/server_lease.h"
#include "rpc/transport.h"

namespace arion {

struct ReplicaHost {
  Environment& env;
  Transport& transport;
  EngineFactory& engines;
  ReplicaServerOptions options;
  Endpoint self;
  std::shared_ptr<ServerLease> lease;
  std::shared_ptr<ServedFiles> served;
  std::shared_ptr<DiskWatch> disks;  // by position in options.data_directories
  std::shared_ptr<LogReplayStats> replay = std::make_shared<LogReplayStats>();
};

}  // namespace arion
