// A replica server's process, from its command line to its exit code. Composition only.
//
// Threads   On the main thread, once.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include "config/server_config.h"
#include "engine/engine.h"
#include "posix/posix_environment.h"
#include "wal/private_log.h"

namespace arion {

// What a measurement (bench/cluster) or a test (tests/load) has replaced: each unset in the shipped
// server. What these return outlives the server.
struct ReplicaVariant {
  std::function<Environment&(PosixEnvironment&, const ServerConfig&)> disks;
  LogOpener open_log;
  std::function<EngineFactory&(EngineFactory&)> engines;
};

int RunReplicaServer(int argc, char** argv, const ReplicaVariant& variant = {});

}  // namespace arion
