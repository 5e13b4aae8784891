// OldStored, OldStore: what a 2.5.0 server has of its replicas beside their engines: in memory, as
// a simulated process leaves it behind, and on the disk of a real one (engine/FORMAT.md,
// wal/FORMAT.md).
//
// Threads   One: the server's strand. Lifetime: outlives the server.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>

#include "base/ids.h"
#include "messages/configuration.h"
#include "sim_older/old_log.h"

namespace arion::sim {

// What one replica has on the disk. A killed process leaves all of it.
struct OldStored {
  explicit OldStored(PartitionId of) : pid(of), log(of) {}
  PartitionId pid;
  AppInfo app;
  std::string directory;
  // .init-info: an engine that stands below `durable` is incomplete.
  Ballot ballot;
  Decree durable;
  OldLog log;
};
using OldDisk = std::map<PartitionId, OldStored>;

// Has it on a real disk as well.
class OldStore {
 public:
  virtual ~OldStore() = default;
  // A new replica's directory is there and empty. Its log will lie in it.
  virtual void Create(OldStored& stored) = 0;
  // .init-info and .app-info anew. `durable`: the engine's.
  virtual void StoreInfo(const OldStored& stored, Decree durable) = 0;
  virtual void StoreApp(const OldStored& stored) = 0;
};

}  // namespace arion::sim
