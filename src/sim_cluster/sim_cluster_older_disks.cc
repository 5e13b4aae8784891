// Disks of a SimCluster that come back as they were (disk_image.h), and the meta server's state.
// SPDX-License-Identifier: Apache-2.0
#include <absl/strings/str_cat.h>

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "base/log.h"
#include "sim_cluster/sim_cluster.h"

namespace arion::sim {

bool SimCluster::KeepsImages() const {
  return options_.faults.Has(Fault::kDiskPutBack) || options_.faults.Has(Fault::kDisksPutBack) ||
         options_.faults.Has(Fault::kDiskOfAnother) || options_.faults.Has(Fault::kMetaPutBack);
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
  if (server_options_.layout.log_home_directory.empty() && random.Coin()) {
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
  if (server_options_.layout.log_home_directory.empty() && random.Percent(30)) {
    image.PutBack(paths[random.Below(paths.size())], &server.node->disk());
  } else {
    for (const std::string& path : paths) image.PutBack(path, &server.node->disk());
  }
  if (all_go) CrashOthers(server);
}

bool SimCluster::HaveAllWithout(const std::set<Endpoint>& lost) const {
  return std::all_of(stored_.begin(), stored_.end(), [&](const auto& entry) {
    const PartitionConfiguration& config = entry.second;
    const auto stays = [&](Endpoint member) {
      return !lost.contains(member) &&
             (begins_with_ == nullptr || begins_with_->Knows(entry.first, member));
    };
    return config.MemberCount() == 0 || (config.primary.IsValid() && stays(config.primary)) ||
           std::any_of(config.secondaries.begin(), config.secondaries.end(), stays);
  });
}

void SimCluster::PutBackDirectories(Server& server, Moments moments) {
  SimRandom& random = world_.random();
  const bool is_one = moments == Moments::kOne ||
                      !server_options_.layout.log_home_directory.empty() || random.Coin();
  const size_t chosen = random.Below(2);
  for (const std::string& path : DiskPaths()) {
    const DiskImage& image = server.images[is_one ? chosen : random.Below(2)];
    const DiskImage& there = image.IsEmpty() ? server.images[server.last_image] : image;
    there.PutBack(path, &server.node->disk());
  }
}

void SimCluster::PutBackDisks(Server& first, Moments moments) {
  CrashOthers(first);
  std::set<Endpoint> back = {first.endpoint};
  PutBackDirectories(first, moments);
  for (auto& one : servers_) {
    std::set<Endpoint> more = back;
    more.insert(one->endpoint);
    const bool may_go = one.get() != &first && !one->images[one->last_image].IsEmpty();
    if (!may_go || !HaveAllWithout(more) || world_.random().Coin()) continue;
    back = std::move(more);
    PutBackDirectories(*one, moments);
  }
}

void SimCluster::PutBackDiskOf(const Server& owner, Server& server) {
  SimDisk& disk = server.node->disk();
  for (const std::string& path : DiskPaths()) owner.images[owner.last_image].PutBack(path, &disk);
  for (const std::string& path : disk.AllFiles())
    if (path.ends_with("/.arion-server")) CHECK(disk.Remove(path).ok()) << path;
  disk.MakeDurable();
}

// ---- the meta server's state ----

SimCluster::KeptState SimCluster::StateNow() const {
  const auto file = meta_.node->disk().Find(absl::StrCat(kMetaRoot, "/meta.journal"));
  CHECK(file.ok()) << file.status();
  const absl::StatusOr<ClusterState> state = meta_.store->State();
  CHECK(state.ok()) << state.status();
  return {.journal = (*file)->content, .stored = stored_, .listed = state->listed};
}

bool SimCluster::KeptState::Knows(PartitionId pid, Endpoint member) const {
  const auto found = stored.find(pid);
  return found == stored.end() || found->second.IsMember(member) || listed.contains(member);
}

void SimCluster::ReplaceState(const KeptState& state) {
  SimDisk& disk = meta_.node->disk();
  const auto file = *disk.Find(absl::StrCat(kMetaRoot, "/meta.journal"));
  CHECK(disk.Truncate(*file, 0).ok());
  CHECK(disk.Write(*file, 0, state.journal, SimDisk::Path::kCached).ok());
  disk.MakeDurable();
  ++states_put_back_;
}

bool SimCluster::NamesOneGoneForGood(const KeptState& state) const {
  const auto is_gone = [&](Endpoint member) {
    return member.IsValid() && std::none_of(servers_.begin(), servers_.end(), [&](auto& server) {
             return server->endpoint == member;
           });
  };
  return std::any_of(state.stored.begin(), state.stored.end(), [&](const auto& entry) {
    const PartitionConfiguration& config = entry.second;
    return is_gone(config.primary) ||
           std::any_of(config.secondaries.begin(), config.secondaries.end(), is_gone) ||
           std::any_of(config.last_drops.begin(), config.last_drops.end(), is_gone);
  });
}

bool SimCluster::IsOlder(const KeptState& state, int64_t ballots) const {
  return std::any_of(stored_.begin(), stored_.end(), [&](const auto& entry) {
    const auto kept = state.stored.find(entry.first);
    return kept != state.stored.end() && kept->second.ballot + ballots <= entry.second.ballot;
  });
}

void SimCluster::KeepCopyOfState() {
  kept_states_ = {StateNow()};
  PutBackCopyOfState();
}

void SimCluster::PutBackCopyOfState() {
  world_.After(absl::Milliseconds(100), EventKind::kFault, [this] {
    if (!faults_on_) return;
    if (!IsOlder(kept_states_[0], 2) || !IsCalm()) return PutBackCopyOfState();
    LOG(INFO) << "fault: an older copy of the meta server's state is put back";
    CrashMeta(CrashMode::kProcess);
    ReplaceState(kept_states_[0]);
    calm_until_ = world_.now() + absl::Seconds(20);
    StartMeta();
    world_.After(absl::Seconds(15), EventKind::kCheck, [this] { CheckItIsSaid(true); });
  });
}

void SimCluster::KeepStates() {
  constexpr size_t kStatesMax = 4;
  if (meta_.node->alive() && !meta_.node->disk().is_in_trouble()) {
    kept_states_.push_back(StateNow());
    if (kept_states_.size() > kStatesMax) kept_states_.erase(kept_states_.begin());
  }
  world_.After(world_.random().Between(absl::Seconds(2), absl::Seconds(15)), EventKind::kFault,
               [this] {
                 if (faults_on_) KeepStates();
               });
}

// A table that the copy does not know is lost with it; and what it does not know else shows by
// reports only, so that nothing else happens meanwhile. Whom it names and who is gone for good would be
// waited for until a person acts. Either all servers run and tell, or the
// power of all fails: then of each group one that holds everything is known to the copy, too, as a
// member or by the list of servers, and waited for.
void SimCluster::PutBackState(Server& server) {
  SimRandom& random = world_.random();
  if (kept_states_.empty() || options_.faults.Has(Fault::kTableChurn) || !IsCalm()) {
    --faults_[static_cast<size_t>(Fault::kMetaPutBack)];
    return;
  }
  const KeptState& state = kept_states_[random.Below(kept_states_.size())];
  // One of several directories that is empty waits for a person, too, and may hold any copy.
  const bool lacks_directory =
      faults_[static_cast<size_t>(Fault::kDiskLost)] > 0 && DiskPaths().size() > 1;
  if (lacks_directory || NamesOneGoneForGood(state)) {
    --faults_[static_cast<size_t>(Fault::kMetaPutBack)];
    return;
  }
  const bool is_older = IsOlder(state, 2);
  CrashMeta(CrashMode::kProcess);
  ReplaceState(state);
  calm_until_ = world_.now() + absl::Seconds(20);
  begins_with_ = &state;
  // A member that has not heard yet that it is one takes itself for a learner.
  const bool have_all_heard = world_.now() - stored_last_ > absl::Seconds(5);
  if (random.Coin() && have_all_heard && HaveAllWithout({})) {
    PutBackDisksWithPower(server);
    world_.After(random.Between(absl::ZeroDuration(), absl::Seconds(2)), EventKind::kFault,
                 [this] { StartMeta(); });
  } else {
    StartMeta();
    if (is_older)
      world_.After(absl::Seconds(15), EventKind::kCheck, [this] { CheckItIsSaid(true); });
  }
  begins_with_ = nullptr;
}

void SimCluster::PutBackDisksWithPower(Server& server) {
  CrashServer(server, DrawCrashMode());
  RestartLater(server, world_.random().Between(absl::ZeroDuration(), absl::Seconds(2)));
  if (lost_copy_ || !MayGoBack(server, Fault::kDisksPutBack) || !HaveAllWithout({server.endpoint}))
    return CrashOthers(server);
  lost_copy_ = server.endpoint;
  server.lost_copy = true;
  calm_until_ = world_.now() + absl::Seconds(45);
  // Of two moments a partition may lie in two of its directories: a person decides.
  PutBackDisks(server, Moments::kOne);
  server.node->disk().MakeDurable();
}

void SimCluster::CheckItIsSaid(bool went_back) {
  if (!meta_.node->alive() || meta_.server == nullptr) return;
  meta_.server->Overview([this, went_back](const ClusterOverview& overview) {
    const bool is_said =
        std::any_of(overview.warnings.begin(), overview.warnings.end(),
                    [](const ClusterWarning& one) { return one.kind == "state_went_back"; });
    if (is_said == went_back) return;
    Violate(went_back
                ? "sim_cluster/H1: the meta server's state went back, and it does not say so"
                : "sim_cluster/H1: the meta server says that its state went back, and it did not");
  });
}

}  // namespace arion::sim
