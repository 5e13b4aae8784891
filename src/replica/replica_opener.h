// Opening and creating a replica's directory: engine, .init-info and private log become what a
// Replica starts from.
//
// Errors    DataLoss: the directory can't be understood or is incomplete; it shall be set aside.
//           Others: the disk.
// Threads   Waits for the disk: in its DiskPool. The log is bound to the strand given.
// Promises  O1  What was replayed and is known committed is applied and checkpointed when Open
//               returns; what is above it is in `recovered.logged`, durable in the log.
//           O2  A log with a hole never makes up for it: the replica stands before the hole and
//               can only learn.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/status/statusor.h>

#include <memory>
#include <string>

#include "pacifica/core_options.h"
#include "replica/init_info.h"
#include "replica/replica_directory.h"
#include "replica/replica_host.h"
#include "wal/private_log.h"

namespace arion {

struct OpenedReplica {
  PartitionId pid;
  std::string directory;
  size_t disk = 0;  // position in the server's data directories
  AppInfo app;
  InitInfo info;
  std::shared_ptr<Engine> engine;
  std::unique_ptr<PrivateLog> log;
  RecoveredState recovered;
  bool log_is_void = false;  // `info` says so already: StartAnew before anything is appended
};

std::string DataPathOf(const std::string& replica_directory);
std::string LearnPathOf(const std::string& replica_directory);

// A whole directory with an empty replica, durable, or nothing.
absl::Status CreateReplicaDirectory(const ReplicaHost& host, const std::string& replica_directory,
                                    const AppInfo& app);

enum class Origin { kFound, kJustCreated };
absl::StatusOr<OpenedReplica> OpenReplica(const ReplicaHost& host, StrandPtr strand,
                                          const FoundReplica& found, Origin origin);

}  // namespace arion
