// SPDX-License-Identifier: Apache-2.0
#include "sim/sim_disk.h"

#include <absl/strings/str_cat.h>

#include <algorithm>
#include <set>
#include <utility>

#include "base/status.h"

namespace arion::sim {
namespace {

constexpr uint64_t kSectorBytes = 512;

// The first part of a path, taken off its front; empty at its end.
std::string_view TakePart(std::string_view* path) {
  while (path->starts_with('/')) path->remove_prefix(1);
  const std::string_view part = path->substr(0, path->find('/'));
  path->remove_prefix(part.size());
  return part;
}

absl::Status Missing(std::string_view path) {
  return absl::NotFoundError(absl::StrCat(Text(path), ": No such file or directory"));
}

absl::Status ReadOnly() { return absl::PermissionDeniedError("Read-only file system"); }

bool Meets(DiskTrouble trouble, DiskCall call) {
  switch (trouble) {
    case DiskTrouble::kErrors:
      return true;
    case DiskTrouble::kNoSpace:
      return call == DiskCall::kCreate || call == DiskCall::kMakeDirectory ||
             call == DiskCall::kRename || call == DiskCall::kLink || call == DiskCall::kGrow;
    case DiskTrouble::kNoDescriptors:
      return call == DiskCall::kOpen || call == DiskCall::kOpenForWrite ||
             call == DiskCall::kCreate || call == DiskCall::kList ||
             call == DiskCall::kSyncDirectory;
    case DiskTrouble::kReadOnly:
      return call != DiskCall::kOpen && call != DiskCall::kList && call != DiskCall::kStat &&
             call != DiskCall::kSyncDirectory;
    case DiskTrouble::kNotPermitted:
      return call == DiskCall::kOpenForWrite || call == DiskCall::kCreate ||
             call == DiskCall::kMakeDirectory || call == DiskCall::kRename ||
             call == DiskCall::kRemove || call == DiskCall::kLink;
    case DiskTrouble::kNoMemory:
    case DiskTrouble::kNameErrors:
      return call != DiskCall::kOverwrite && call != DiskCall::kGrow && call != DiskCall::kTruncate;
  }
  return false;
}

// As posix/posix_file_system.cc has it.
absl::Status StatusOf(DiskTrouble trouble, DiskCall call, std::string_view path) {
  switch (trouble) {
    case DiskTrouble::kErrors: {
      const std::string what = absl::StrCat(Text(path), ": simulated: Input/output error");
      if (call == DiskCall::kSyncDirectory) return absl::DataLossError(what);
      return absl::InternalError(what);
    }
    case DiskTrouble::kNoSpace:
      return absl::ResourceExhaustedError(
          absl::StrCat(Text(path), ": simulated: No space left on device"));
    case DiskTrouble::kNoDescriptors:
      return absl::ResourceExhaustedError(
          absl::StrCat(Text(path), ": simulated: Too many open files"));
    case DiskTrouble::kReadOnly:
      return absl::PermissionDeniedError(
          absl::StrCat(Text(path), ": simulated: Read-only file system"));
    case DiskTrouble::kNoMemory:
      return absl::ResourceExhaustedError(
          absl::StrCat(Text(path), ": simulated: Cannot allocate memory"));
    case DiskTrouble::kNameErrors:
      return absl::InternalError(absl::StrCat(Text(path), ": simulated: Input/output error"));
    case DiskTrouble::kNotPermitted:
      return absl::PermissionDeniedError(
          absl::StrCat(Text(path), ": simulated: Permission denied"));
  }
  return absl::OkStatus();
}

void PutBytes(std::string* content, uint64_t offset, std::string_view bytes) {
  if (content->size() < offset) content->resize(offset, '\0');
  const size_t within = std::min<size_t>(bytes.size(), content->size() - offset);
  content->replace(offset, within, bytes.substr(0, within));
  content->append(bytes.substr(within));
}

// Files below the directory, depth first. `path` is the directory's, afterwards as well.
void VisitFiles(const SimInode& directory, std::string* path, SimDisk::FileVisitor visit) {
  const size_t length = path->size();
  for (const auto& [name, child] : directory.entries) {
    absl::StrAppend(path, "/", name);
    child->is_directory ? VisitFiles(*child, path, visit) : visit(*path, *child);
    path->resize(length);
  }
}

}  // namespace

SimDisk::SimDisk(uint64_t seed, std::function<int64_t()> wall_nanos)
    : random_(seed), wall_nanos_(std::move(wall_nanos)), root_(std::make_shared<SimInode>()) {
  root_->number = 1;
  root_->is_directory = true;
}

absl::StatusOr<InodePtr> SimDisk::Find(std::string_view path) const {
  const InodePtr* at = &root_;
  std::string_view rest = path;
  for (std::string_view part = TakePart(&rest); !part.empty(); part = TakePart(&rest)) {
    const auto it = (*at)->entries.find(part);
    if (it == (*at)->entries.end()) return Missing(path);
    at = &it->second;
  }
  return *at;
}

absl::StatusOr<SimDisk::Place> SimDisk::FindPlace(std::string_view path) const {
  const InodePtr* at = &root_;
  std::string_view rest = path;
  std::string_view part = TakePart(&rest);
  if (part.empty()) return absl::InvalidArgumentError(absl::StrCat(Text(path), ": is the root"));
  for (std::string_view next = TakePart(&rest); !next.empty(); next = TakePart(&rest)) {
    const auto it = (*at)->entries.find(part);
    if (it == (*at)->entries.end() || !it->second->is_directory) return Missing(path);
    at = &it->second;
    part = next;
  }
  return Place{*at, std::string(part)};
}

// Each change passes here before it happens, so that a crash can fall between any two of them.
absl::Status SimDisk::CountChange() {
  if (!dead_ && changes_left_ >= 0 && changes_left_-- == 0) {
    dead_ = true;
    auto on_death = std::move(on_death_);
    on_death_ = nullptr;
    if (on_death) on_death();
  }
  if (dead_) return absl::DataLossError("simulated: the disk is gone");
  return absl::OkStatus();
}

void SimDisk::DieAfterChanges(int64_t n, std::function<void()> on_death) {
  changes_left_ = n;
  on_death_ = std::move(on_death);
}

void SimDisk::Revive() {
  dead_ = false;
  changes_left_ = -1;
  on_death_ = nullptr;
}

void SimDisk::ApplyDurably(const NameChange& change) {
  if (change.from_directory) {
    auto it = change.from_directory->durable_entries.find(change.from_name);
    if (it != change.from_directory->durable_entries.end() && it->second == change.inode) {
      change.from_directory->durable_entries.erase(it);
    }
  }
  if (change.inode) {
    change.directory->durable_entries[change.name] = change.inode;
  } else {
    change.directory->durable_entries.erase(change.name);
  }
}

// Done at once for whoever looks; listed until a sync makes it durable, or a crash undoes it.
void SimDisk::AddNameChange(NameChange change) {
  if (change.from_directory) change.from_directory->entries.erase(change.from_name);
  if (change.inode) {
    change.directory->entries[change.name] = change.inode;
  } else {
    change.directory->entries.erase(change.name);
  }
  name_changes_.push_back(std::move(change));
}

absl::StatusOr<InodePtr> SimDisk::CreateFile(const std::string& path) {
  ASSIGN_OR_RETURN(Place place, FindPlace(path));
  if (place.directory->entries.contains(place.name)) {
    return absl::AlreadyExistsError(absl::StrCat(path, ": File exists"));
  }
  if (place.directory->is_read_only) return ReadOnly();
  if (free_bytes_ == 0)
    return absl::ResourceExhaustedError(absl::StrCat(path, ": No space left on device"));
  RETURN_IF_ERROR(CountChange());
  auto inode = std::make_shared<SimInode>();
  inode->number = next_inode_++;
  inode->birth_nanos = inode->modified_unix_nanos = wall_nanos_();
  AddNameChange({place.directory, place.name, inode, nullptr, ""});
  return inode;
}

absl::Status SimDisk::CreateDirectories(const std::string& path) {
  InodePtr at = root_;
  std::string_view rest = path;
  for (std::string_view part = TakePart(&rest); !part.empty(); part = TakePart(&rest)) {
    auto it = at->entries.find(part);
    if (it != at->entries.end()) {
      if (!it->second->is_directory)
        return absl::InternalError(absl::StrCat(path, ": Not a directory"));
      at = it->second;
      continue;
    }
    if (at->is_read_only) return ReadOnly();
    RETURN_IF_ERROR(CountChange());
    auto inode = std::make_shared<SimInode>();
    inode->number = next_inode_++;
    inode->is_directory = true;
    inode->birth_nanos = inode->modified_unix_nanos = wall_nanos_();
    AddNameChange({at, std::string(part), inode, nullptr, ""});
    at = inode;
  }
  return at->is_directory ? absl::OkStatus()
                          : absl::InternalError(absl::StrCat(path, ": Not a directory"));
}

absl::Status SimDisk::Rename(const std::string& from, const std::string& to) {
  ASSIGN_OR_RETURN(Place source, FindPlace(from));
  ASSIGN_OR_RETURN(Place target, FindPlace(to));
  auto it = source.directory->entries.find(source.name);
  if (it == source.directory->entries.end()) return Missing(from);
  auto existing = target.directory->entries.find(target.name);
  if (existing != target.directory->entries.end()) {
    if (existing->second == it->second) return absl::OkStatus();
    if (existing->second->is_directory && !existing->second->entries.empty()) {
      return absl::InternalError(absl::StrCat(to, ": Directory not empty"));
    }
  }
  if (source.directory->is_read_only || target.directory->is_read_only) return ReadOnly();
  RETURN_IF_ERROR(CountChange());
  if (free_bytes_ != UINT64_MAX && existing != target.directory->entries.end())
    free_bytes_ += existing->second->content.size();  // whoever holds it open closes it soon
  InodePtr inode = it->second;
  AddNameChange({target.directory, target.name, inode, source.directory, source.name});
  return absl::OkStatus();
}

absl::Status SimDisk::Remove(const std::string& path) {
  ASSIGN_OR_RETURN(Place place, FindPlace(path));
  auto it = place.directory->entries.find(place.name);
  if (it == place.directory->entries.end()) return Missing(path);
  if (it->second->is_directory && !it->second->entries.empty()) {
    return absl::InternalError(absl::StrCat(path, ": Directory not empty"));
  }
  if (place.directory->is_read_only) return ReadOnly();
  RETURN_IF_ERROR(CountChange());
  if (free_bytes_ != UINT64_MAX && it->second.use_count() == 2)
    free_bytes_ += it->second->content.size();
  AddNameChange({place.directory, place.name, nullptr, nullptr, ""});
  return absl::OkStatus();
}

absl::Status SimDisk::RemoveAll(const std::string& path) {
  absl::StatusOr<InodePtr> inode = Find(path);
  if (!inode.ok()) return absl::OkStatus();
  std::vector<std::string> names;
  for (const auto& [name, child] : (*inode)->entries) names.push_back(name);
  for (const std::string& name : names) RETURN_IF_ERROR(RemoveAll(absl::StrCat(path, "/", name)));
  return Remove(path);
}

absl::Status SimDisk::Link(const std::string& from, const std::string& to) {
  ASSIGN_OR_RETURN(InodePtr inode, Find(from));
  ASSIGN_OR_RETURN(Place place, FindPlace(to));
  if (place.directory->entries.contains(place.name)) {
    return absl::AlreadyExistsError(absl::StrCat(to, ": File exists"));
  }
  if (place.directory->is_read_only) return ReadOnly();
  RETURN_IF_ERROR(CountChange());
  AddNameChange({place.directory, place.name, inode, nullptr, ""});
  return absl::OkStatus();
}

size_t SimDisk::TakeSpace(const SimInode& inode, uint64_t offset, size_t n) {
  const uint64_t size = inode.content.size(), end = offset + n;
  if (free_bytes_ == UINT64_MAX || end <= size) return n;
  if (end - size <= free_bytes_) {
    free_bytes_ -= end - size;
    return n;
  }
  // A write that meets the end of a full disk writes the sectors that fit.
  const uint64_t room_end = (size + free_bytes_) / kSectorBytes * kSectorBytes;
  if (room_end <= offset) return 0;
  free_bytes_ -= std::max(room_end, size) - size;
  return room_end - offset;
}

absl::Status SimDisk::Write(SimInode& inode, uint64_t offset, std::string_view bytes, Path path) {
  if (inode.is_read_only) return ReadOnly();
  RETURN_IF_ERROR(CountChange());
  absl::Status status;
  if (writes_to_fail_ > 0) {
    --writes_to_fail_;
    status = absl::DataLossError("Input/output error");
    bytes = bytes.substr(0, random_.Below(bytes.size() / kSectorBytes + 1) * kSectorBytes);
  }
  if (const size_t n = TakeSpace(inode, offset, bytes.size()); n < bytes.size()) {
    status = absl::ResourceExhaustedError("No space left on device");
    bytes = bytes.substr(0, n);
  }
  if (bytes.empty()) return status;
  SimInode::Change change;
  change.sequence = next_sequence_++;
  change.offset = offset;
  change.old_size = inode.content.size();
  change.new_size = std::max<uint64_t>(change.old_size, offset + bytes.size());
  if (offset < change.old_size) change.old_bytes = inode.content.substr(offset, bytes.size());
  change.length = bytes.size();
  // A flush of the device covers data, not a file's new size: only what lies within the durable
  // size.
  change.in_place = path == Path::kDirect && offset + bytes.size() <= inode.durable_size;
  PutBytes(&inode.content, offset, bytes);
  if (offset <= inode.bad_from && inode.bad_to <= offset + bytes.size()) inode.bad_to = 0;
  inode.changes.push_back(std::move(change));
  inode.modified_unix_nanos = wall_nanos_();
  return status;
}

absl::Status SimDisk::Truncate(SimInode& inode, uint64_t size) {
  if (inode.is_read_only) return ReadOnly();
  RETURN_IF_ERROR(CountChange());
  SimInode::Change change;
  change.sequence = next_sequence_++;
  change.old_size = inode.content.size();
  change.new_size = size;
  change.offset = std::min(size, change.old_size);
  if (size < change.old_size) change.old_bytes = inode.content.substr(size);
  if (free_bytes_ != UINT64_MAX && size < change.old_size) free_bytes_ += change.old_size - size;
  inode.content.resize(size, '\0');
  inode.changes.push_back(std::move(change));
  return absl::OkStatus();
}

void SimDisk::SetAccess(const std::string& path, Access access) {
  const absl::StatusOr<InodePtr> inode = Find(path);
  if (!inode.ok()) return;
  (*inode)->is_read_only = access == Access::kReadOnly;
  for (const auto& [name, child] : (*inode)->entries)
    SetAccess(absl::StrCat(path, "/", name), access);
}

absl::Status SimDisk::SpoilBlock(const std::string& path, uint64_t offset, uint64_t n) {
  ASSIGN_OR_RETURN(InodePtr inode, Find(path));
  inode->bad_from = offset;
  inode->bad_to = offset + n;
  return absl::OkStatus();
}

std::string SimDisk::BytesOf(const SimInode& inode, size_t index) {
  const SimInode::Change& change = inode.changes[index];
  const uint64_t end = change.offset + change.length;
  std::string bytes =
      inode.content.substr(std::min<uint64_t>(change.offset, inode.content.size()), change.length);
  bytes.resize(change.length, '\0');
  for (size_t i = inode.changes.size() - 1; i > index; --i) {
    const SimInode::Change& newer = inode.changes[i];
    const uint64_t from = std::max(newer.offset, change.offset);
    const uint64_t to = std::min(newer.offset + newer.old_bytes.size(), end);
    if (from < to)
      bytes.replace(from - change.offset, to - from, newer.old_bytes, from - newer.offset,
                    to - from);
  }
  return bytes;
}

// A crash undoes the older changes in turn. What they restore must then have the durable one in it.
void SimDisk::Settle(SimInode& inode, size_t index) {
  if (index == 0) return;
  const SimInode::Change& durable = inode.changes[index];
  const std::string written = BytesOf(inode, index);
  const uint64_t durable_end = durable.offset + durable.length;
  for (size_t i = 0; i < index; ++i) {
    SimInode::Change& older = inode.changes[i];
    if (durable.length == 0) {
      older.old_size = durable.new_size;
      if (older.offset + older.old_bytes.size() > durable.new_size) {
        older.old_bytes.resize(durable.new_size > older.offset ? durable.new_size - older.offset
                                                               : 0);
      }
      continue;
    }
    older.old_size = std::max(older.old_size, durable_end);
    const uint64_t begin = std::max(older.offset, durable.offset);
    const uint64_t end = std::min(older.offset + older.length, durable_end);
    if (begin >= end) continue;
    PutBytes(&older.old_bytes, begin - older.offset,
             std::string_view(written).substr(begin - durable.offset, end - begin));
  }
}

void SimDisk::FailCalls(std::string path, DiskTrouble trouble, double percent) {
  troubled_ = std::move(path);
  trouble_ = trouble;
  calls_fail_percent_ = percent;
}

absl::Status SimDisk::TakeCallFailure(DiskCall call, std::string_view path) {
  if (!is_in_trouble() || !path.starts_with(troubled_)) return absl::OkStatus();
  const std::string_view below = path.substr(troubled_.size());
  const bool is_there = below.empty() || below.front() == '/';
  if (!is_there || !Meets(trouble_, call) || !random_.Percent(calls_fail_percent_))
    return absl::OkStatus();
  ++calls_failed_;
  return StatusOf(trouble_, call, path);
}

bool SimDisk::TakeSyncFailure() {
  if (syncs_to_fail_ == 0) return false;
  --syncs_to_fail_;
  return true;
}

void SimDisk::LoseUnsynced(SimInode& inode) {
  for (auto& change : inode.changes) change.lost = true;
}

absl::Status SimDisk::SyncFile(const InodePtr& inode) {
  RETURN_IF_ERROR(CountChange());
  if (inode->is_read_only || TakeSyncFailure()) {
    LoseUnsynced(*inode);
    return absl::DataLossError("fdatasync: Input/output error");
  }
  bool any_lost = false;
  for (const auto& change : inode->changes) any_lost |= change.lost;
  if (!any_lost) {
    inode->changes.clear();
  } else {
    for (size_t i = 0; i < inode->changes.size();) {
      if (inode->changes[i].lost) {
        ++i;
        continue;
      }
      Settle(*inode, i);
      inode->changes.erase(inode->changes.begin() + static_cast<ptrdiff_t>(i));
    }
  }
  inode->durable_size = inode->content.size();
  return absl::OkStatus();
}

void SimDisk::FlushDevice(const std::vector<InodePtr>& files, uint64_t before) {
  if (dead_ || forgets_flushes_) return;
  for (const InodePtr& inode : files) {
    for (size_t i = 0; i < inode->changes.size();) {
      const SimInode::Change& change = inode->changes[i];
      if (change.sequence >= before || !change.in_place || change.lost) {
        ++i;
        continue;
      }
      Settle(*inode, i);
      inode->changes.erase(inode->changes.begin() + static_cast<ptrdiff_t>(i));
    }
  }
}

absl::Status SimDisk::SyncDirectory(const InodePtr& directory) {
  RETURN_IF_ERROR(CountChange());
  if (directory->is_read_only || TakeSyncFailure())
    return absl::DataLossError("fsync of a directory: Input/output error");
  std::deque<NameChange> rest;
  for (NameChange& change : name_changes_) {
    if (change.directory == directory || change.from_directory == directory) {
      ApplyDurably(change);
    } else {
      rest.push_back(std::move(change));
    }
  }
  name_changes_ = std::move(rest);
  return absl::OkStatus();
}

// First all changes are undone, the newest first. Then those that the mode keeps are done again,
// the oldest first, whole or by sectors.
void SimDisk::CrashContent(SimInode& inode, CrashMode mode) {
  std::vector<std::string> written;
  for (size_t i = 0; i < inode.changes.size(); ++i) written.push_back(BytesOf(inode, i));
  const std::vector<SimInode::Change> changes = std::exchange(inode.changes, {});
  for (auto it = changes.rbegin(); it != changes.rend(); ++it) {
    inode.content.resize(it->old_size, '\0');
    if (!it->old_bytes.empty()) PutBytes(&inode.content, it->offset, it->old_bytes);
  }
  for (size_t i = 0; i < changes.size(); ++i) {
    const SimInode::Change& change = changes[i];
    bool torn = false;
    if (change.lost || mode == CrashMode::kPowerNone) {
      continue;
    } else if (mode == CrashMode::kPowerPrefix) {
      if (change.sequence > crash_point_) continue;
      torn = change.sequence == crash_point_;
    } else {
      if (random_.Coin()) continue;
      torn = random_.Coin();
    }
    if (change.length == 0) {
      inode.content.resize(change.new_size, '\0');
      continue;
    }
    // What is shorter now than when it was written grows by what arrives, and reads zero where
    // nothing did.
    uint64_t end = change.offset + change.length;
    uint64_t sector = change.offset / kSectorBytes;
    uint64_t sectors = (end - 1) / kSectorBytes - sector + 1;
    uint64_t kept = torn ? random_.Below(sectors + 1) : sectors;
    for (uint64_t n = 0; n < sectors; ++n) {
      bool keep = mode == CrashMode::kPowerPrefix ? n < kept : !torn || random_.Coin();
      if (!keep) continue;
      uint64_t begin = std::max(change.offset, (sector + n) * kSectorBytes);
      uint64_t stop = std::min(end, (sector + n + 1) * kSectorBytes);
      PutBytes(&inode.content, begin,
               std::string_view(written[i]).substr(begin - change.offset, stop - begin));
    }
    // The size may have reached the disk without the bytes.
    if (torn && inode.content.size() < end && random_.Coin()) inode.content.resize(end, '\0');
  }
  inode.durable_size = inode.content.size();
}

void SimDisk::CrashTree(const InodePtr& directory, CrashMode mode) {
  directory->entries = directory->durable_entries;
  for (const auto& [name, inode] : directory->entries) {
    if (inode->is_directory) {
      CrashTree(inode, mode);
    } else {
      CrashContent(*inode, mode);
    }
  }
}

void SimDisk::Crash(CrashMode mode) {
  locks_.clear();
  if (mode == CrashMode::kProcess) return;
  if (mode == CrashMode::kPowerPrefix) {
    // A point among the changes still unsynced, of content and of names alike.
    std::vector<uint64_t> points = {0};
    std::vector<InodePtr> stack = {root_};
    std::set<uint64_t> seen;
    while (!stack.empty()) {
      InodePtr at = stack.back();
      stack.pop_back();
      for (const auto& [name, inode] : at->entries) {
        if (inode->is_directory) stack.push_back(inode);
        if (!seen.insert(inode->number).second) continue;
        for (const auto& change : inode->changes) points.push_back(change.sequence);
      }
    }
    std::sort(points.begin(), points.end());
    crash_point_ = points[random_.Below(points.size())];
  }
  // Names have their own point: a file system may have written them before or after the content.
  size_t names_kept = random_.Below(name_changes_.size() + 1);
  for (size_t i = 0; i < name_changes_.size(); ++i) {
    bool keep = mode == CrashMode::kPowerPrefix ? i < names_kept
                                                : mode == CrashMode::kPowerRandom && random_.Coin();
    if (keep) ApplyDurably(name_changes_[i]);
  }
  name_changes_.clear();
  CrashTree(root_, mode);
}

void SimDisk::MakeTreeDurable(const InodePtr& directory) {
  directory->durable_entries = directory->entries;
  for (const auto& [name, inode] : directory->entries) {
    if (inode->is_directory) MakeTreeDurable(inode);
    inode->changes.clear();
    inode->durable_size = inode->content.size();
  }
}

void SimDisk::MakeDurable() {
  name_changes_.clear();
  MakeTreeDurable(root_);
}

absl::Status SimDisk::Rot(const std::string& path, uint64_t offset, size_t n) {
  ASSIGN_OR_RETURN(InodePtr inode, Find(path));
  for (size_t i = 0; i < n && offset + i < inode->content.size(); ++i) {
    inode->content[offset + i] = static_cast<char>(inode->content[offset + i] ^ (1 << (i % 8)));
  }
  return absl::OkStatus();
}

void SimDisk::ForEachFile(FileVisitor visit) const {
  std::string path;
  VisitFiles(*root_, &path, visit);
}

std::vector<std::string> SimDisk::AllFiles() const {
  std::vector<std::string> paths;
  ForEachFile([&paths](const std::string& path, const SimInode&) { paths.push_back(path); });
  std::sort(paths.begin(), paths.end());
  return paths;
}

}  // namespace arion::sim
