// ServerData: what a server keeps below some directories: its replicas' directories and the shared
// log of an older version; and what each replica would take from that at a start of ours. Looks
// only.
//
// Threads   Waits for the disk.
// SPDX-License-Identifier: Apache-2.0
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

// One replica's directory.
struct ServerReplica {
  PartitionId pid;
  std::string directory;
  // The newest one's, by its name.
  Decree checkpoint;
  int64_t valid_start_in_private_log = 0;
  int64_t valid_start_in_shared_log = 0;

  LogPlace Log() const;
  std::string InfoPath() const { return JoinPath(directory, ".init-info"); }
};

// What was found.
struct ServerData {
  // By partition.
  std::vector<ServerReplica> replicas;
  // Its folder; empty: none was found.
  std::string shared_log;
  // Without a shared log: a folder of one in which no file is left.
  std::string empty_shared_log;
};

// Looks below the directories. A shared log is what lies in a folder `slog`, or the log's files in
// a directory that was named. FailedPrecondition: two shared logs, or a partition in two places, or
// encrypted data, or logs that lie elsewhere (log_placement = home). DataLoss: an .init-info that
// can't be understood.
absl::StatusOr<ServerData> FindServerData(FileSystem& files,
                                          const std::vector<std::string>& directories);

// The newest checkpoint in a replica's directory, by its name; 0: there is none.
Decree NewestCheckpoint(FileSystem& files, const std::string& directory);

// What one replica would take from the shared log, in records.
struct Coverage {
  // Its private log has them, or what replaced them.
  int64_t known = 0;
  int64_t voided = 0;
  int64_t taken = 0;
  uint64_t taken_bytes = 0;
  // Meaningful with taken > 0.
  Decree first_taken, last_taken;
  // The largest decree of its private log.
  Decree private_max;
  // The largest that either log has.
  Ballot ballot;
};
// Of every replica that is here. *elsewhere: of those that only the log knows, the largest decree.
// DataLoss: a private log or the shared log is damaged. FailedPrecondition: they contradict each
// other.
absl::StatusOr<std::map<PartitionId, Coverage>> CoverageOf(
    FileSystem& files, const ServerData& data, std::map<PartitionId, Decree>* elsewhere);

// Prints which replicas have which decrees in which file.
absl::Status PrintWho(FileSystem& files, const std::string& directory, bool json,
                      const Print& print);
void PrintCoverage(const ServerData& data, const std::map<PartitionId, Coverage>& coverage,
                   const std::map<PartitionId, Decree>& elsewhere, bool json, const Print& print);

}  // namespace arion::logtool
