// SPDX-License-Identifier: Apache-2.0
#include "disks/replica_places.h"

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "base/status.h"
#include "disks/disk_layout.h"
#include "disks/disk_watch.h"
#include "disks/log_place.h"
#include "env/clock.h"

namespace arion {
namespace {

constexpr absl::Duration kSetAsideAgainDelay = absl::Seconds(5);

// OK: its name is durably gone.
absl::Status SetReplicaAside(const ServerDisks& disks, const std::string& path, SetAside why) {
  FileSystem& files = disks.env.files();
  const absl::Status there = files.Stat(path).status();
  // Renamed at an earlier try whose sync failed; or somebody else took the directory away.
  if (absl::IsNotFound(there)) return files.SyncDirectory(ParentDirectory(path));
  RETURN_IF_ERROR(there);
  ASSIGN_OR_RETURN(const std::string target,
                   SetDirectoryAside(files, disks.env.clock(), path, why));
  LOG(WARNING) << path << " set aside as " << target;
  // If the log could not be set aside, PrepareLogPlace does it for the next replica of that name.
  const absl::Status log = SetLogAside(files, disks.layout.log_home_directory, path, target);
  LOG_IF(ERROR, !log.ok()) << "set the log of " << path << " aside: " << log;
  return absl::OkStatus();
}

}  // namespace

ReplicaPlaces::ReplicaPlaces(std::shared_ptr<const ServerDisks> disks, StrandPtr strand,
                             std::vector<bool> usable)
    : disks_(std::move(disks)),
      strand_(std::move(strand)),
      usable_(std::move(usable)),
      rests_(usable_.size()) {}

std::string ReplicaPlaces::PathIn(size_t data_directory, const std::string& name) const {
  return JoinPath(disks_->layout.data_directories[data_directory].path, name);
}

// ---- where a new one goes ----

bool ReplicaPlaces::TakesNew(size_t data_directory, const std::string& name) const {
  // The log may lie on another disk, which must have room as well.
  return usable_[data_directory] && !leaving_.contains(PathIn(data_directory, name)) &&
         !rests_[data_directory].IsResting(disks_->env.clock().Now()) &&
         disks_->watch->HasSpace(data_directory) &&
         disks_->watch->HasSpace(disks_->layout.LogDiskOf(data_directory));
}

std::optional<ReplicaPlaces::Place> ReplicaPlaces::Choose(const std::string& name,
                                                          std::vector<DirectoryLoad> loads) const {
  CHECK_ON_STRAND(strand_);
  for (size_t i = 0; i < loads.size(); ++i) {
    loads[i].usable = TakesNew(i, name);
    loads[i].is_suspicious = disks_->watch->StateOf(i) == DiskStatus::kIoError;
  }
  const std::optional<size_t> chosen = ChooseDataDirectory(loads);
  if (!chosen) return std::nullopt;
  return PlaceIn(*chosen, name);
}

std::optional<ReplicaPlaces::Place> ReplicaPlaces::ChooseIn(size_t data_directory,
                                                            const std::string& name) const {
  CHECK_ON_STRAND(strand_);
  if (!TakesNew(data_directory, name)) return std::nullopt;
  return PlaceIn(data_directory, name);
}

ReplicaPlaces::Place ReplicaPlaces::PlaceIn(size_t data_directory, const std::string& name) const {
  Place place{.data_directory = data_directory, .path = PathIn(data_directory, name)};
  // In these places a copy of the same partition is, or may turn up when the disk is back. The new
  // replica records them, so that a later start knows which copy counts (TakeReplaced).
  for (size_t i = 0; i < usable_.size(); ++i) {
    if (i == data_directory) continue;
    std::string path = PathIn(i, name);
    if (!usable_[i] || leaving_.contains(path) || ignored_.contains(path))
      place.replaces.push_back(std::move(path));
  }
  return place;
}

void ReplicaPlaces::NoteFailure(size_t data_directory) {
  CHECK_ON_STRAND(strand_);
  DirectoryRest& rest = rests_[data_directory];
  const Instant now = disks_->env.clock().Now();
  rest.OnSetAside(now, disks_->layout.failed_directory_rest_max);
  LOG_IF(WARNING, rest.IsResting(now))
      << "many replicas failed in " << disks_->layout.data_directories[data_directory].path
      << ": it gets no new ones for a while; look at its disk";
}

void ReplicaPlaces::Ignore(const std::string& path) {
  CHECK_ON_STRAND(strand_);
  ignored_.insert(path);
}

// ---- what is to go ----

void ReplicaPlaces::Vacate(PartitionId pid, const std::string& path, SetAside why,
                           absl::AnyInvocable<void()> gone) {
  CHECK_ON_STRAND(strand_);
  // A second call for a path that is leaving keeps the first one's `gone`.
  leaving_.try_emplace(path, Leaving{.pid = pid, .why = why, .gone = std::move(gone)});
  SetAsideInPool(path, why);
}

bool ReplicaPlaces::IsLeaving(PartitionId pid) const {
  CHECK_ON_STRAND(strand_);
  return std::any_of(leaving_.begin(), leaving_.end(), [pid](const auto& entry) {
    return entry.second.pid == pid && !entry.second.has_failed;
  });
}

void ReplicaPlaces::Stop() {
  CHECK_ON_STRAND(strand_);
  is_stopped_ = true;
}

void ReplicaPlaces::SetAsideInPool(const std::string& path, SetAside why) {
  disks_->env.disk_pool(ParentDirectory(path))
      .Submit([self = weak_from_this(), disks = disks_, reply_on = strand_, path, why] {
        const absl::Status status = SetReplicaAside(*disks, path, why);
        reply_on->Post([self, path, status] {
          if (const auto places = self.lock()) places->OnSetAside(path, status);
        });
      });
}

void ReplicaPlaces::OnSetAside(const std::string& path, const absl::Status& status) {
  const auto it = leaving_.find(path);
  CHECK(it != leaving_.end()) << path;
  Leaving& leaving = it->second;
  if (status.ok()) {
    // Erase the entry before `gone` runs, because `gone` may make a new replica at this very place.
    absl::AnyInvocable<void()> gone = std::move(leaving.gone);
    leaving_.erase(it);
    ignored_.erase(path);
    return gone();
  }
  // Logged once: the retries go on for as long as the disk fails.
  LOG_IF(ERROR, !std::exchange(leaving.has_failed, true))
      << "set " << path << " aside, tried again: " << status << "; a new replica of " << leaving.pid
      << " can be made on another disk";
  strand_->PostAfter(kSetAsideAgainDelay, [self = weak_from_this(), path, why = leaving.why] {
    const auto places = self.lock();
    if (places != nullptr && !places->is_stopped_) places->SetAsideInPool(path, why);
  });
}

}  // namespace arion
