// SimServer, SimMeta: one replica server and the meta server of a SimCluster, over all their lives:
// the node with its disk, and while it lives the objects that run on it.
//
// Shapes    Of a server that is down the objects of its life are null; what concerns its disk
//           stays.
// Threads   One: the world's. Lifetime: the world outlives them.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "engine/memory_engine.h"
#include "env/disk_reserve.h"
#include "env/file_system.h"
#include "indexes/indexed_engine.h"
#include "meta/meta_server.h"
#include "replica_server/replica_server.h"
#include "sim/disk_image.h"
#include "sim/sim_transport.h"
#include "sim_checkers/checked_engine.h"
#include "sim_checkers/checked_meta_store.h"
#include "sim_cluster/cluster_settings.h"
#include "sim_older/old_meta_server.h"
#include "sim_older/old_server.h"

namespace arion::sim {

// One replica server. ServerLives makes it and owns it for the whole run, also when its disk is
// replaced and it comes back under another address.
struct SimServer {
  const DiskImage& LastImage() const { return images[last_image]; }
  // Alive, and not about to stop.
  bool IsUp() const { return node->alive() && !stopping; }
  // Directories of its disk that were set aside because they failed.
  std::set<std::string> SetAsideAsFailed() const {
    std::set<std::string> directories;
    node->disk().ForEachFile([&directories](const std::string& path, const SimInode&) {
      if (const size_t at = path.find(".err/"); at != std::string::npos)
        directories.insert(path.substr(0, at));
    });
    return directories;
  }

  SimNode* node = nullptr;
  Endpoint endpoint;
  std::string name;
  std::unique_ptr<SimTransport> transport;
  // Its end of the other cluster's network. Null: there is none.
  std::unique_ptr<SimTransport> abroad;
  std::unique_ptr<MemoryEngineFactory> memory;
  // Null: this life is of a version that knows no indexes (a rollback).
  std::unique_ptr<IndexedEngineFactory> indexed;
  std::unique_ptr<CheckedEngineFactory> engines;
  std::unique_ptr<ReplicaServer> server;
  // One of version 2.5.0 instead, and what it has on its disk beside its engines' files.
  bool is_older = false;
  std::unique_ptr<OldServer> old;
  OldDisk old_disk;
  bool stopping = false;
  // Its disk could not be read, or failed since.
  bool started_blind = false;
  // A copy of its was lost on purpose, so it may have fenced replicas.
  bool lost_copy = false;
  // The end of a pause in which its clock stood still. Nothing inside such a machine can tell the
  // time it missed: until it has an answer to a beacon that it sent later, what it says to readers
  // proves nothing and reaches nobody.
  std::optional<Instant> knows_nothing_since;
  // Tags of directories that it may take for new ones.
  std::vector<std::string> new_directories;
  // Names of directories that were set aside, when it was last looked.
  std::set<std::string> set_aside;
  // Copies of its disk, of two moments.
  std::array<DiskImage, 2> images;
  // The index of the one that was made last.
  size_t last_image = 0;
};

// The meta server. ServerLives owns it.
struct SimMeta {
  // Whether all of the reserve is there for the next time that the disk is full.
  bool HasWholeReserve() const {
    const auto reserve = node->disk().Find(JoinPath(ClusterSettings::kMetaRoot, kReserveName));
    return reserve.ok() && (*reserve)->content.size() >= ClusterSettings::kMetaReserveBytes;
  }

  SimNode* node = nullptr;
  Endpoint endpoint = ClusterSettings::kMetaEndpoint;
  std::unique_ptr<SimTransport> transport;
  // As a server's.
  std::unique_ptr<SimTransport> abroad;
  std::shared_ptr<CheckedMetaStore> store;
  std::unique_ptr<MetaServer> server;
  // A meta server of 2.5.0, in place of `server`.
  std::unique_ptr<OldMetaServer> old;
  // Its disk is full, and its reserve was whole when that began.
  bool is_disk_full = false;
  // How often its state was replaced by an older one.
  int states_put_back = 0;
};

}  // namespace arion::sim
