// Disks of a SimCluster that come back as they were (disk_image.h).
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "base/log.h"
#include "sim/sim_cluster.h"

namespace arion::sim {

bool SimCluster::KeepsImages() const {
  return options_.faults.Has(Fault::kDiskPutBack) || options_.faults.Has(Fault::kDisksPutBack) ||
         options_.faults.Has(Fault::kDiskOfAnother);
}

void SimCluster::KeepImage(Server& server) {
  DiskImage& image = server.images[server.last_image = 1 - server.last_image];
  image.Copy(server.node->disk(), DiskPaths(), DiskImage::Half::kFirst);
  image.Copy(server.node->disk(), DiskPaths(), DiskImage::Half::kSecond);
}

void SimCluster::KeepImages() {
  SimRandom& random = world_.random();
  Server& server = AnyServer();
  KeepImage(server);
  // Logs and data of different moments are for a person to judge, where they lie on different disks.
  if (server_options_.log_home_directory.empty() && random.Coin()) {
    world_.After(random.Between(absl::Milliseconds(1), absl::Seconds(1)), EventKind::kFault,
                 [this, &server, &image = server.images[server.last_image]] {
                   image.Copy(server.node->disk(), DiskPaths(), DiskImage::Half::kSecond);
                 });
  }
  world_.After(random.Between(absl::Seconds(2), absl::Seconds(15)), EventKind::kFault, [this] {
    if (faults_on_) KeepImages();
  });
}

// An only copy that went back knows nothing of it, and nobody else does.
bool SimCluster::MayGoBack(const Server& server, Fault fault) const {
  const auto has_image = [](const auto& one) { return !one->images[one->last_image].IsEmpty(); };
  switch (fault) {
    case Fault::kDiskPutBack:
    case Fault::kDisksPutBack:
      return replica_count_ > 1 && !server.images[server.last_image].IsEmpty();
    case Fault::kDiskOfAnother:
      return replica_count_ > 1 && std::any_of(servers_.begin(), servers_.end(), [&](auto& one) {
               return one.get() != &server && has_image(one);
             });
    default:
      return true;
  }
}

void SimCluster::CrashOthers(const Server& server) {
  for (auto& one : servers_) {
    if (one.get() == &server || !one->node->alive()) continue;
    CrashServer(*one, DrawCrashMode());
    RestartLater(*one, world_.random().Between(absl::ZeroDuration(), absl::Seconds(2)));
  }
}

void SimCluster::PutBackDisk(Server& server) {
  SimRandom& random = world_.random();
  const bool all_go = random.Coin();
  const std::vector<std::string> paths = DiskPaths();
  const DiskImage& image = server.images[server.last_image];
  if (server_options_.log_home_directory.empty() && random.Percent(30)) {
    image.PutBack(paths[random.Below(paths.size())], &server.node->disk());
  } else {
    for (const std::string& path : paths) image.PutBack(path, &server.node->disk());
  }
  if (all_go) CrashOthers(server);
}

bool SimCluster::HaveAllWithout(const std::set<Endpoint>& lost) const {
  return std::all_of(stored_.begin(), stored_.end(), [&](const auto& entry) {
    const PartitionConfiguration& config = entry.second;
    const auto stays = [&](Endpoint member) { return !lost.contains(member); };
    return config.MemberCount() == 0 || (config.primary.IsValid() && stays(config.primary)) ||
           std::any_of(config.secondaries.begin(), config.secondaries.end(), stays);
  });
}

void SimCluster::PutBackFromTwoMoments(Server& server) {
  SimRandom& random = world_.random();
  const bool is_one = !server_options_.log_home_directory.empty() || random.Coin();
  const size_t chosen = random.Below(2);
  for (const std::string& path : DiskPaths()) {
    const DiskImage& image = server.images[is_one ? chosen : random.Below(2)];
    const DiskImage& there = image.IsEmpty() ? server.images[server.last_image] : image;
    there.PutBack(path, &server.node->disk());
  }
}

void SimCluster::PutBackDisks(Server& first) {
  CrashOthers(first);
  std::set<Endpoint> back = {first.endpoint};
  PutBackFromTwoMoments(first);
  for (auto& one : servers_) {
    std::set<Endpoint> more = back;
    more.insert(one->endpoint);
    const bool may_go = one.get() != &first && !one->images[one->last_image].IsEmpty();
    if (!may_go || !HaveAllWithout(more) || world_.random().Coin()) continue;
    back = std::move(more);
    PutBackFromTwoMoments(*one);
  }
}

void SimCluster::PutBackDiskOf(const Server& owner, Server& server) {
  SimDisk& disk = server.node->disk();
  for (const std::string& path : DiskPaths()) owner.images[owner.last_image].PutBack(path, &disk);
  for (const std::string& path : disk.AllFiles())
    if (path.ends_with("/.arion-server")) CHECK(disk.Remove(path).ok()) << path;
  disk.MakeDurable();
}

}  // namespace arion::sim
