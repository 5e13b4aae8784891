// SPDX-License-Identifier: Apache-2.0
#include "disks/garbage_collector.h"

#include <absl/strings/numbers.h>

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "base/status.h"
#include "disks/disk_snapshot.h"
#include "disks/disk_watch.h"
#include "disks/replica_directory.h"
#include "env/clock.h"

namespace arion {
namespace {

// An age is by wall clocks, which jump; this long by the process's own clock guards against that.
constexpr absl::Duration kSeenMin = absl::Hours(1);
constexpr absl::Duration kKeptWhereRoomIsShort = absl::Minutes(10);
// Removed in slices, so that a large directory takes neither the pool nor the disk for long.
constexpr int kFilesPerSlice = 32;
constexpr uint64_t kBytesPerSlice = 256 << 20;
constexpr absl::Duration kPause = absl::Milliseconds(200);

// What one slice may still remove. A file larger than the bytes left is removed all the same.
struct Budget {
  int files = kFilesPerSlice;
  uint64_t bytes = kBytesPerSlice;
};

// Depth first, because a directory can only be removed when it is empty. True when all of it is
// gone. What is gone already is no error: a removal may be a repeated one.
absl::StatusOr<bool> RemoveSome(FileSystem& files, const std::string& path, Budget* budget) {
  const absl::StatusOr<FileStatus> status = files.Stat(path);
  if (absl::IsNotFound(status.status())) return true;
  RETURN_IF_ERROR(status.status());
  if (status->is_directory) {
    ASSIGN_OR_RETURN(const std::vector<std::string> names, files.List(path));
    for (const std::string& name : names) {
      ASSIGN_OR_RETURN(const bool is_gone, RemoveSome(files, JoinPath(path, name), budget));
      if (!is_gone) return false;
    }
  }
  if (budget->files == 0 || budget->bytes == 0) return false;
  --budget->files;
  if (!status->is_directory) budget->bytes -= std::min(budget->bytes, status->size);
  RETURN_IF_ERROR(files.Remove(path));
  return true;
}

int64_t& CountOf(GarbageKind kind, GarbageCollector::Count* count) {
  switch (kind) {
    case GarbageKind::kFailed:
      return count->failed;
    case GarbageKind::kUnneeded:
      return count->unneeded;
    case GarbageKind::kMoveTarget:
      return count->move_targets;
    case GarbageKind::kDiscarded:
      return count->discarded;
    case GarbageKind::kMoveSource:
      break;
  }
  return count->move_sources;
}

// Less is left above the bound than a disk has that gives no copies to other servers
// (meta_judgement/copy_giving.h).
bool IsRoomShort(const DiskSnapshot& disk) {
  constexpr uint64_t kPercent = 15;
  const uint64_t left =
      disk.available_bytes - std::min(disk.available_bytes, disk.available_bytes_min);
  return left < disk.total_bytes / 100 * kPercent;
}

// Takes ".<decimal digits>" off the end.
std::optional<int64_t> TakeMicros(std::string_view* name) {
  const size_t dot = name->rfind('.');
  if (dot == std::string_view::npos) return std::nullopt;
  int64_t micros = 0;
  const std::string_view digits = name->substr(dot + 1);
  const bool is_number = !digits.empty() && std::all_of(digits.begin(), digits.end(), [](char c) {
    return c >= '0' && c <= '9';
  });
  if (!is_number || !absl::SimpleAtoi(Text(digits), &micros)) return std::nullopt;
  *name = name->substr(0, dot);
  return micros;
}

// Of a replica's directory.
std::optional<GarbageName> ParseInside(std::string_view name) {
  constexpr std::string_view kSuffix = ".discarded";
  if (!name.ends_with(kSuffix)) return std::nullopt;
  name.remove_suffix(kSuffix.size());
  const std::optional<int64_t> micros = TakeMicros(&name);
  if (!micros || name != "data") return std::nullopt;
  return GarbageName{GarbageKind::kDiscarded, micros};
}

// What lies there and in its replicas' directories, relative to it.
absl::StatusOr<std::vector<std::string>> ListTwoLevels(FileSystem& files, const std::string& path) {
  ASSIGN_OR_RETURN(std::vector<std::string> names, files.List(path));
  const size_t n = names.size();
  for (size_t i = 0; i < n; ++i) {
    if (!ParseReplicaDirectoryName(names[i])) continue;
    // A directory that went away meanwhile, or an entry that is none, has nothing inside.
    const auto inside = files.List(JoinPath(path, names[i]));
    if (!inside.ok()) continue;
    for (const std::string& name : *inside) names.push_back(JoinPath(names[i], name));
  }
  return names;
}

}  // namespace

std::optional<GarbageName> ParseGarbageName(std::string_view name) {
  if (const size_t slash = name.find('/'); slash != std::string_view::npos)
    return ParseReplicaDirectoryName(name.substr(0, slash)) ? ParseInside(name.substr(slash + 1))
                                                            : std::nullopt;
  if (name.ends_with(".disk.migrate.tmp") || name.ends_with(kScratchSuffix))
    return GarbageName{GarbageKind::kMoveTarget, {}};
  if (name.ends_with(".disk.migrate.ori")) return GarbageName{GarbageKind::kMoveSource, {}};
  GarbageName garbage;
  if (name.ends_with(".gar"))
    garbage.kind = GarbageKind::kUnneeded;
  else if (!name.ends_with(".err"))
    return std::nullopt;
  // Both suffixes have four characters.
  name.remove_suffix(4);
  garbage.set_aside_us = TakeMicros(&name);
  if (!garbage.set_aside_us || !ParseReplicaDirectoryName(name)) return std::nullopt;
  return garbage;
}

GarbageCollector::GarbageCollector(std::shared_ptr<const ServerDisks> disks, StrandPtr strand,
                                   const GarbageOptions& options)
    : disks_(std::move(disks)), strand_(std::move(strand)), options_(options) {
  for (const DataDirectory& directory : disks_->layout.data_directories)
    places_.push_back({.path = directory.path});
  if (!disks_->layout.log_home_directory.empty())
    places_.push_back({.path = disks_->layout.log_home_directory});
  counts_.resize(places_.size());
}

void GarbageCollector::Start(std::vector<bool> is_readable) {
  CHECK_ON_STRAND(strand_);
  for (size_t i = 0; i < places_.size(); ++i) places_[i].is_readable = is_readable[i];
  Look();
}

void GarbageCollector::Stop() {
  CHECK_ON_STRAND(strand_);
  is_stopped_ = true;
  if (timer_ != kNoTimer) strand_->Cancel(timer_);
}

absl::Duration GarbageCollector::KeepOf(GarbageKind kind, bool is_room_short) const {
  // Of all kinds only this one gives way when room is short: a failed or discarded copy may be the
  // last one of its data.
  if (kind == GarbageKind::kUnneeded && is_room_short)
    return std::min(options_.keep_unneeded, kKeptWhereRoomIsShort);
  switch (kind) {
    case GarbageKind::kFailed:
    case GarbageKind::kDiscarded:
      return options_.keep_failed;
    case GarbageKind::kUnneeded:
      return options_.keep_unneeded;
    case GarbageKind::kMoveTarget:
      return options_.keep_move_target;
    case GarbageKind::kMoveSource:
      return options_.keep_move_source;
  }
  return absl::InfiniteDuration();
}

// ---- looking ----

void GarbageCollector::Look() {
  for (size_t i = 0; i < places_.size(); ++i) LookAt(i);
  timer_ = strand_->PostAfter(options_.interval, [self = weak_from_this()] {
    const auto collector = self.lock();
    if (collector != nullptr && !collector->is_stopped_) collector->Look();
  });
}

void GarbageCollector::LookAt(size_t index) {
  const Place& place = places_[index];
  // On a failed disk each look would fail, and a removal could destroy what a person might still
  // save.
  if (!place.is_readable || disks_->watch->StateOf(index) == DiskStatus::kIoError) return;
  disks_->env.disk_pool(place.path).Submit([self = shared_from_this(), index, path = place.path] {
    const auto list = [&]() -> absl::StatusOr<std::vector<Entry>> {
      FileSystem& files = self->disks_->env.files();
      std::vector<Entry> entries;
      ASSIGN_OR_RETURN(const std::vector<std::string> names, ListTwoLevels(files, path));
      for (const std::string& name : names) {
        const std::optional<GarbageName> garbage = ParseGarbageName(name);
        if (!garbage) continue;
        const absl::StatusOr<FileStatus> status = files.Stat(JoinPath(path, name));
        // Only directories are set aside under such names. A file of that name is somebody else's.
        if (!status.ok() || !status->is_directory) continue;
        entries.push_back(
            {.name = name,
             .kind = garbage->kind,
             .since_us = garbage->set_aside_us.value_or(status->modified_unix_nanos / 1000)});
      }
      return entries;
    };
    self->strand_->Post([self, index, listed = list()] {
      if (!self->is_stopped_) self->OnListed(index, listed);
    });
  });
}

void GarbageCollector::OnListed(size_t index, const absl::StatusOr<std::vector<Entry>>& listed) {
  Place& place = places_[index];
  if (!listed.ok()) {
    LOG(WARNING) << "what was set aside in " << place.path << " is not known: " << listed.status();
    return;
  }
  const Instant now = disks_->env.clock().Now();
  // Where the time is not agreed upon, nothing has been kept long enough.
  const std::optional<int64_t> wall_micros = WallForGood(disks_->env.clock());
  const bool is_agreed = wall_micros.has_value();
  const bool is_room_short = IsRoomShort(disks_->watch->Snapshot()[index]);
  const absl::Time wall = absl::FromUnixMicros(wall_micros.value_or(0));
  Count count;
  // Built anew from the list, so that names which are gone are forgotten.
  std::map<std::string, Instant> seen;
  for (const Entry& entry : *listed) {
    CountOf(entry.kind, &count) += 1;
    const auto before = place.seen.find(entry.name);
    const Instant since = before == place.seen.end() ? now : before->second;
    seen[entry.name] = since;
    const absl::Duration keep = KeepOf(entry.kind, is_room_short);
    const absl::Duration age = wall - absl::FromUnixMicros(entry.since_us);
    const absl::Duration seen_for = now - since;
    const bool is_old = age >= keep && seen_for >= std::min(keep, kSeenMin);
    if (is_agreed && (is_old || seen_for >= keep)) place.due.insert(entry.name);
  }
  place.seen = std::move(seen);
  {
    const MutexLock lock(mutex_);
    counts_[index] = count;
  }
  if (!place.is_removing) RemoveNext(index);
}

std::vector<GarbageCollector::Count> GarbageCollector::Counts() const {
  const MutexLock lock(mutex_);
  return counts_;
}

// ---- removing ----

void GarbageCollector::RemoveNext(size_t index) {
  Place& place = places_[index];
  // A place removes one directory at a time. Its next look, or the end of a removal, goes on here.
  place.is_removing = !place.due.empty();
  if (place.due.empty()) return;
  const std::string path = JoinPath(place.path, *place.due.begin());
  place.due.erase(place.due.begin());
  LOG(INFO) << "removes " << path << ": it was kept long enough";
  RemoveSlice(index, path);
}

void GarbageCollector::RemoveSlice(size_t index, std::string path) {
  disks_->env.disk_pool(path).Submit([self = shared_from_this(), index, path] {
    FileSystem& files = self->disks_->env.files();
    Budget budget;
    absl::StatusOr<bool> is_gone = RemoveSome(files, path, &budget);
    // The name must be gone durably before the removal counts as done.
    if (is_gone.ok() && *is_gone)
      if (const absl::Status synced = files.SyncDirectory(ParentDirectory(path)); !synced.ok())
        is_gone = synced;
    // The pause before each next slice leaves the disk to clients; it is also the pause between two
    // directories.
    self->strand_->PostAfter(kPause, [self, index, path, is_gone] {
      if (self->is_stopped_) return;
      LOG_IF(WARNING, !is_gone.ok()) << "remove " << path << ": " << is_gone.status();
      if (is_gone.ok() && !*is_gone) return self->RemoveSlice(index, path);
      self->RemoveNext(index);  // what failed is tried again after the next look
    });
  });
}

}  // namespace arion
