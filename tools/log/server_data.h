// ServerData: what a server keeps below some directories: its replicas' directories and the shared log
// of an older version; and what each replica would take from that at a start of ours. Looks only.
//
// Threads   Waits for the disk. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/status/statusor.h>

#include <map>
#include <string>
#include <vector>

#include "base/ids.h"
#include "env/file_system.h"
#include "legacy/shared_log_reader.h"
#include "tools/log/json_line.h"
#include "tools/log/log_places.h"

namespace arion::logtool {

struct ServerReplica {
  PartitionId pid;
  std::string directory;
  Decree checkpoint;  // the newest one's, by its name
  int64_t valid_start_in_private_log = 0;
  int64_t valid_start_in_shared_log = 0;

  LogPlace Log() const;
  std::string InfoPath() const { return JoinPath(directory, ".init-info"); }
};

struct ServerData {
  std::vector<ServerReplica> replicas;  // by partition
  std::string shared_log;               // its folder; empty: none was found
  std::string empty_shared_log;         // without one: a folder of one that no file is left in
};

// A shared log is what lies in a folder `slog`, and the log's files in a directory that was named.
// Errors: FailedPrecondition, two shared logs, or a partition in two places, or encrypted data, or
// logs that lie elsewhere (log_placement = home); DataLoss, an .init-info that can't be understood.
absl::StatusOr<ServerData> FindServerData(FileSystem& files,
                                          const std::vector<std::string>& directories);

// That of a replica's directory, by its name; 0: there is none.
Decree NewestCheckpoint(FileSystem& files, const std::string& directory);

// What one replica would take from the shared log.
struct Coverage {
  int64_t known = 0;  // its private log has them, or what replaced them
  int64_t voided = 0;
  int64_t taken = 0;
  uint64_t taken_bytes = 0;
  Decree first_taken, last_taken;  // with taken > 0
  Decree private_max;              // the largest decree of its private log
  Ballot ballot;                   // the largest that either log has
};
// Of every replica that is here; of those that only the log knows, in *elsewhere, the largest decree.
// DataLoss: a private log or the shared log is damaged. FailedPrecondition: they contradict each other.
absl::StatusOr<std::map<PartitionId, Coverage>> CoverageOf(
    FileSystem& files, const ServerData& data, std::map<PartitionId, Decree>* elsewhere);

// Which replicas have which decrees in which file.
absl::Status PrintWho(FileSystem& files, const std::string& directory, bool json,
                      const Print& print);
void PrintCoverage(const ServerData& data, const std::map<PartitionId, Coverage>& coverage,
                   const std::map<PartitionId, Decree>& elsewhere, bool json, const Print& print);

}  // namespace arion::logtool
