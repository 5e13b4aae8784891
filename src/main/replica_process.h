// A replica server's process, from its command line to its exit code. Composition only.
//
// Threads   On the main thread, once.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include "wal/log_opener.h"

namespace arion {

class EngineFactory;
class Environment;
class PosixEnvironment;
struct ServerConfig;

// What a measurement (bench/cluster) or a test (tests/load) replaces. The shipped server leaves all
// unset. What these functions return outlives the server.
struct ReplicaVariant {
  // The environment whose disks the server uses.
  std::function<Environment&(PosixEnvironment&, const ServerConfig&)> disks;
  LogOpener open_log;
  std::function<EngineFactory&(EngineFactory&)> engines;
};

// Runs until a signal or a failed start; returns the exit code (server_process.h).
int RunReplicaServer(int argc, char** argv, const ReplicaVariant& variant = {});

}  // namespace arion
