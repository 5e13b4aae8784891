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
  // By position in options.data_directories; behind them the log home, if there is one.
  std::shared_ptr<DiskWatch> disks;
  std::shared_ptr<LogReplayStats> replay = std::make_shared<LogReplayStats>();

  // Where the logs of the replicas in that data directory lie, for `disks`.
  size_t LogDiskOf(size_t data_directory) const {
    return options.log_home_directory.empty() ? data_directory : options.data_directories.size();
  }
};

}  // namespace arion
