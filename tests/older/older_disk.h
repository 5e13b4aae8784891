// OlderDisk: the data directory of a replica server of version 2.5.0 (engine/FORMAT.md, wal/FORMAT.md)
// beside its engines: read as it reads it, written as it writes it. Nothing of a log is flushed.
//
// Shapes    <data directory>/<app id>.<index>.<app type>/{.app-info,.init-info,plog/log.*}. What is ours
//           in it (.arion-*, spares of logs) is not looked at.
// Errors    A replica that 2.5.0 would not load is renamed <its name>.<µs>.err, and the log says why.
//           What can't be written ends the process.
// Threads   One at a time; waits for the disk.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/status/status.h>

#include <map>
#include <string>

#include "env/clock.h"
#include "env/file_system.h"
#include "sim_older/old_store.h"

namespace arion {

class OlderDisk : public sim::OldStore {
 public:
  // Both outlive it.
  OlderDisk(FileSystem& files, const Clock& clock, std::string data_directory);

  // What lies there; the directory is made where it is missing.
  absl::Status Load(sim::OldDisk* disk);

  void Create(sim::OldStored& stored) override;
  void StoreInfo(const sim::OldStored& stored, Decree durable) override;
  void StoreApp(const sim::OldStored& stored) override;

 private:
  absl::Status LoadReplica(sim::OldStored& stored);
  absl::Status LoadLog(sim::OldStored& stored, int64_t valid_from);

  FileSystem& files_;
  const Clock& clock_;
  const std::string data_directory_;
  std::map<PartitionId, std::string> app_infos_;  // as they are stored
};

}  // namespace arion
