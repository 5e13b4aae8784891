// SPDX-License-Identifier: Apache-2.0
#include "sim_cluster/older_disks.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/log.h"
#include "base/status.h"
#include "disks/init_info.h"
#include "disks/replica_directory.h"
#include "env/file_system.h"

namespace arion::sim {

OlderDisks::OlderDisks(const ClusterSettings& settings, SimWorld& world, ServerLives& lives,
                       const Groups& groups, const Troubles& troubles)
    : settings_(settings), world_(world), lives_(lives), groups_(groups), troubles_(troubles) {}

bool OlderDisks::AreKept() const {
  const FaultMix& faults = settings_.run.faults;
  return faults.Has(Fault::kDiskPutBack) || faults.Has(Fault::kDisksPutBack) ||
         faults.Has(Fault::kDiskOfAnother) || faults.Has(Fault::kMetaPutBack);
}

void OlderDisks::KeepCopy(SimServer& server) {
  // Two images take turns, so that there is always one of an earlier moment.
  DiskImage& image = server.images[server.last_image = 1 - server.last_image];
  // Both halves at one moment; KeepCopies may copy the second again later, to tear it.
  image.Copy(server.node->disk(), settings_.DiskPaths(), DiskImage::Half::kFirst);
  image.Copy(server.node->disk(), settings_.DiskPaths(), DiskImage::Half::kSecond);
}

void OlderDisks::MayKeepCopy(SimServer& server) {
  if (AreKept() && world_.random().Percent(20)) KeepCopy(server);
}

void OlderDisks::KeepCopies() {
  SimRandom& random = world_.random();
  SimServer& server = lives_.AnyServer();
  KeepCopy(server);
  // Logs and data of different moments are for a person to judge, where they lie on different
  // disks.
  if (!settings_.HasLogHome() && random.Coin()) {
    world_.After(random.Between(absl::Milliseconds(1), absl::Seconds(1)), EventKind::kFault,
                 [this, &server, &image = server.images[server.last_image]] {
                   image.Copy(server.node->disk(), settings_.DiskPaths(), DiskImage::Half::kSecond);
                 });
  }
  world_.After(random.Between(absl::Seconds(2), absl::Seconds(15)), EventKind::kFault, [this] {
    if (troubles_.are_on()) KeepCopies();
  });
}

bool OlderDisks::MayGoBack(const SimServer& server, Fault fault) const {
  const auto& servers = lives_.servers();
  switch (fault) {
    case Fault::kDiskPutBack:
    case Fault::kDisksPutBack:
      return settings_.replica_count > 1 && !server.LastImage().IsEmpty();
    case Fault::kDiskOfAnother:
      return settings_.replica_count > 1 &&
             std::any_of(servers.begin(), servers.end(), [&](const auto& one) {
               return one.get() != &server && !one->LastImage().IsEmpty();
             });
    default:
      return true;
  }
}

void OlderDisks::CrashOthers(const SimServer& server) {
  for (const auto& one : lives_.servers()) {
    if (one.get() == &server || !one->node->alive()) continue;
    lives_.CrashServer(*one, lives_.DrawCrashMode());
    lives_.RestartLater(*one, world_.random().Between(absl::ZeroDuration(), absl::Seconds(2)));
  }
}

void OlderDisks::PutBack(SimServer& server) {
  SimRandom& random = world_.random();
  const bool all_go = random.Coin();
  const std::vector<std::string> paths = settings_.DiskPaths();
  const DiskImage& image = server.LastImage();
  if (!settings_.HasLogHome() && random.Percent(30)) {
    image.PutBack(paths[random.Below(paths.size())], &server.node->disk());
  } else {
    for (const std::string& path : paths) image.PutBack(path, &server.node->disk());
  }
  if (all_go) CrashOthers(server);
}

bool OlderDisks::HaveAllWithout(const std::set<Endpoint>& lost, Knows knows) const {
  const Groups::Stored& stored = groups_.stored();
  return std::all_of(stored.begin(), stored.end(), [&](const auto& entry) {
    const PartitionConfiguration& config = entry.second;
    const auto stays = [&](Endpoint member) {
      return !lost.contains(member) && knows(entry.first, member);
    };
    return config.MemberCount() == 0 || (config.primary.IsValid() && stays(config.primary)) ||
           std::any_of(config.secondaries.begin(), config.secondaries.end(), stays);
  });
}

void OlderDisks::PutBackDirectories(SimServer& server, Moments moments) {
  SimRandom& random = world_.random();
  // With a log home all come from one moment: of different ones a person judges (KeepCopies).
  const bool is_one = moments == Moments::kOne || settings_.HasLogHome() || random.Coin();
  const size_t chosen = random.Below(2);
  for (const std::string& path : settings_.DiskPaths()) {
    const DiskImage& image = server.images[is_one ? chosen : random.Below(2)];
    // An image that was never taken has nothing to put back.
    const DiskImage& there = image.IsEmpty() ? server.LastImage() : image;
    there.PutBack(path, &server.node->disk());
  }
}

void OlderDisks::PutBackSeveral(SimServer& first, Moments moments, Knows knows) {
  // All are down while their disks are exchanged.
  CrashOthers(first);
  std::set<Endpoint> back = {first.endpoint};
  PutBackDirectories(first, moments);
  for (const auto& one : lives_.servers()) {
    // Each further server is tried with those that are back already: the rest must still hold
    // everything of each group (older_disks/O1).
    std::set<Endpoint> more = back;
    more.insert(one->endpoint);
    const bool may_go = one.get() != &first && !one->LastImage().IsEmpty();
    if (!may_go || !HaveAllWithout(more, knows) || world_.random().Coin()) continue;
    back = std::move(more);
    PutBackDirectories(*one, moments);
  }
}

void OlderDisks::PutBackThatOf(const SimServer& owner, SimServer& server) {
  SimDisk& disk = server.node->disk();
  for (const std::string& path : settings_.DiskPaths()) owner.LastImage().PutBack(path, &disk);
  for (const std::string& path : disk.AllFiles())
    // The file that says whose the directory is would give it away.
    if (path.ends_with("/.arion-server")) CHECK(disk.Remove(path).ok()) << path;
  disk.MakeDurable();
}

void OlderDisks::PutBackThatOfAnother(SimServer& server) {
  const auto& servers = lives_.servers();
  // From a drawn one on, the first that has an image; MayGoBack saw that there is one.
  const size_t donor = world_.random().Below(servers.size());
  for (size_t i = 0; i < servers.size(); ++i) {
    const SimServer& owner = *servers[(donor + i) % servers.size()];
    if (&owner == &server || owner.LastImage().IsEmpty()) continue;
    return PutBackThatOf(owner, server);
  }
}

absl::Status RenameOlderTwins(FileSystem& files,
                              const std::vector<DataDirectory>& data_directories) {
  using Rank = std::pair<bool, Ballot>;  // a member's is above a learner's
  std::map<PartitionId, std::pair<Rank, std::string>> newest;
  bool has_renamed = false;
  for (size_t i = 0; i < data_directories.size(); ++i) {
    std::vector<IgnoredDirectory> ignored;
    ASSIGN_OR_RETURN(const std::vector<FoundReplica> found,
                     ScanDataDirectory(files, data_directories[i].path, i, &ignored));
    for (const FoundReplica& replica : found) {
      ASSIGN_OR_RETURN(const InitInfo info, LoadInitInfo(files, replica.path));
      std::pair<Rank, std::string> one{{!info.is_learner, info.ballot}, replica.path};
      const auto [seen, is_first] = newest.emplace(replica.pid, one);
      if (is_first) continue;
      if (seen->second.first < one.first) std::swap(seen->second, one);
      RETURN_IF_ERROR(files.Rename(one.second, one.second + ".bak"));
      RETURN_IF_ERROR(files.SyncDirectory(ParentDirectory(one.second)));
      has_renamed = true;
    }
  }
  return has_renamed ? absl::OkStatus() : absl::NotFoundError("no replica lies in two directories");
}

}  // namespace arion::sim
