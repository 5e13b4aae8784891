// SPDX-License-Identifier: Apache-2.0
#include "sim_cluster/lost_copies.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "base/log.h"
#include "env/file_system.h"
#include "sim/last_log_block.h"

namespace arion::sim {

LostCopies::LostCopies(const ClusterSettings& settings, SimWorld& world, ServerLives& lives,
                       const Groups& groups, Troubles& troubles, NodeFaults& nodes,
                       OlderDisks& disks)
    : settings_(settings),
      world_(world),
      lives_(lives),
      groups_(groups),
      troubles_(troubles),
      nodes_(nodes),
      disks_(disks) {}

bool LostCopies::MayBeLost(const SimServer& server, Fault fault) const {
  // Without syncs a hole in a log is what a power cut leaves: what lies behind it is lost, and no
  // other copy knows better.
  const bool loses_silently = fault == Fault::kBitRot && settings_.replica_count == 1 &&
                              settings_.server.durability == Durability::kOs;
  return !groups_.HasLostCopy() && !loses_silently && disks_.MayGoBack(server, fault) &&
         troubles_.IsCalm();
}

void LostCopies::Lose(SimServer& server, Fault fault) {
  if (!MayBeLost(server, fault)) return troubles_.Discount(fault);
  troubles_.LoseCopyOf(server);
  if (fault == Fault::kFailedSync) {
    // The next one, whichever file or directory it is of.
    server.node->disk().FailSyncs(1);
  } else if (fault == Fault::kCallsFail) {
    FailDisk(server);
  } else {
    DamageAtRest(server, fault);
  }
}

void LostCopies::FailDisk(SimServer& server) {
  // A disk that failed is used again once its server has started anew.
  server.started_blind = true;
  const absl::Duration length = lives_.DrawLength();
  nodes_.FailCalls(*server.node, DiskTrouble::kNameErrors, length);
  // A second later: what failed at the last moment has been noticed.
  world_.After(length + absl::Seconds(1), EventKind::kFault, [this, &server] {
    if (!troubles_.are_on() || !server.IsUp()) return;
    lives_.CrashServer(server, CrashMode::kProcess);
    lives_.RestartLater(server, lives_.DrawLength());
  });
}

void LostCopies::DamageAtRest(SimServer& server, Fault fault) {
  lives_.CrashServer(server, settings_.server.durability == Durability::kOs
                                 ? CrashMode::kProcess
                                 : CrashMode::kPowerRandom);
  switch (fault) {
    case Fault::kBitRot:
      Rot(server);
      break;
    case Fault::kReadErrors:
      FailReads(server);
      break;
    case Fault::kDiskPutBack:
      disks_.PutBack(server);
      break;
    case Fault::kDisksPutBack:
      disks_.PutBackSeveral(server, OlderDisks::Moments::kTwo);
      break;
    case Fault::kDiskOfAnother:
      disks_.PutBackThatOfAnother(server);
      break;
    case Fault::kReplaced:
      Replace(server);
      break;
    default:
      LoseDirectories(server);
  }
  // The damage is at rest: a power cut that follows must not undo it.
  server.node->disk().MakeDurable();
  lives_.RestartLater(server, world_.random().Between(absl::Milliseconds(100), absl::Seconds(5)));
}

void LostCopies::Rot(SimServer& server) {
  SimRandom& random = world_.random();
  SimDisk& disk = server.node->disk();
  // Logs, engines' data and the small files that describe a replica.
  std::vector<std::string> files;
  for (const std::string& path : disk.AllFiles()) {
    if (path.find("/plog/") != std::string::npos ||
        path.find("/data/memory") != std::string::npos || path.find("-info") != std::string::npos) {
      files.push_back(path);
    }
  }
  if (files.empty()) return;
  const std::string& path = files[random.Below(files.size())];
  uint64_t size = (*disk.Find(path))->content.size();
  uint64_t offset = random.Below(size + 1), n = 1 + random.Below(random.Coin() ? 4 : 4096);
  // Of the end of its log the only copy can't tell what a power cut has left there.
  const auto last = settings_.replica_count == 1 ? FindLastLogBlock(disk, ParentDirectory(path))
                                                 : std::optional<LastLogBlock>();
  if (last && last->path == path) {
    if (!last->is_behind_others) return;
    offset %= last->position;
    n = std::min(n, last->position - offset);
  }
  LOG(INFO) << "rot: " << path << " of " << server.name << ", " << n << " bytes at " << offset
            << " of " << size;
  CHECK(disk.Rot(path, offset, n).ok());
}

void LostCopies::FailReads(SimServer& server) {
  server.node->disk().FailReads(static_cast<double>(world_.random().Between(2, 60)));
  troubles_.LastFor(lives_.DrawLength(), [&server] { server.node->disk().FailReads(0); });
}

void LostCopies::MakeEmpty(SimDisk& disk, const std::string& path) {
  CHECK(disk.RemoveAll(path).ok() && disk.CreateDirectories(path).ok()) << path;
}

void LostCopies::LoseAllDirectories(SimServer& server) {
  // What was set aside is gone with the directory; it is no garbage that was removed.
  server.set_aside.clear();
  for (const std::string& path : settings_.DiskPaths()) MakeEmpty(server.node->disk(), path);
}

void LostCopies::Replace(SimServer& server) {
  LoseAllDirectories(server);
  const auto servers = static_cast<int>(lives_.servers().size());
  // An address that no server had: to the cluster it is another server.
  server.endpoint = ClusterSettings::ServerEndpoint(servers + replacements_++);
}

void LostCopies::LoseDirectories(SimServer& server) {
  SimRandom& random = world_.random();
  if (random.Percent(30)) return LoseAllDirectories(server);
  server.set_aside.clear();
  const auto& directories = settings_.server.layout.data_directories;
  const DataDirectory& lost = directories[random.Below(directories.size())];
  MakeEmpty(server.node->disk(), lost.path);
  // Else it is taken for one that is not mounted, and the others serve without it.
  if (random.Coin()) server.new_directories.push_back(lost.tag);
}

}  // namespace arion::sim
