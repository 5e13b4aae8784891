// SimDisk: what lies on one node's disk, across its lives: the tree as running programs see it, and
// what a power cut would leave of it.
//
// Shapes   Each unsynced change is kept with what it replaced. A crash undoes all of them and does
//          some again, by the CrashMode. Writes tear at sectors of 512 bytes. Names (create,
//          rename, remove, link) are changes of their directories and independent of the content:
//          neither brings the other along.
// Promises sim_disk/K1  A file's bytes survive every crash once its own sync, or a flush of the
//              device that covers them, succeeded.
//          sim_disk/K2  A name survives once its directory was synced after the change.
//          sim_disk/K3  After a failed sync the bytes it was to cover look written and never become
//              durable (Linux's ways).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/functional/function_ref.h>
#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "sim/sim_random.h"

namespace arion::sim {

// What a crash leaves of the changes that nothing made durable.
enum class CrashMode : uint8_t {
  // The process died, the machine lives: everything stays.
  kProcess,
  // No change that was not durable stays.
  kPowerNone,
  // The oldest changes up to some point, the one at that point torn.
  kPowerPrefix,
  // Each change by a coin, its sectors too.
  kPowerRandom,
};

// What calls on a disk say while it is in trouble.
enum class DiskTrouble : uint8_t {
  // EIO: whatever they are.
  kErrors,
  // ENOSPC: those that make a name, or a file longer.
  kNoSpace,
  // EMFILE: those that open something.
  kNoDescriptors,
  // EROFS: those that change something.
  kReadOnly,
  // ENOMEM: those about names; a directory is opened for its sync.
  kNoMemory,
  // EIO: the same calls as kNoMemory.
  kNameErrors,
  // EACCES: those that make or change a name, or open a file to write: another user's.
  kNotPermitted,
};
constexpr int kDiskTroubleCount = static_cast<int>(DiskTrouble::kNotPermitted) + 1;
enum class DiskCall : uint8_t {
  kOpen,
  kOpenForWrite,
  kCreate,
  kMakeDirectory,
  kRename,
  kRemove,
  kLink,
  kList,
  kStat,
  kSyncDirectory,
  // A write within the file's size.
  kOverwrite,
  // A write beyond the end.
  kGrow,
  kTruncate,
};

// One file or directory. Names refer to it, as on a real disk: it lives while a name, or an open
// file, holds it.
struct SimInode {
  // What nothing has made durable yet, with what undoes it.
  struct Change {
    uint64_t sequence = 0;
    uint64_t offset = 0;
    // 0: a truncation.
    uint64_t length = 0;
    // What lay there, as far as the file reached.
    std::string old_bytes;
    uint64_t old_size = 0;
    uint64_t new_size = 0;
    // Within the durable size, by direct I/O: a device flush covers it.
    bool in_place = false;
    // A failed sync was to cover it (sim_disk/K3).
    bool lost = false;
  };
  uint64_t number = 0;
  bool is_directory = false;
  bool is_read_only = false;
  int64_t birth_nanos = 0;
  int64_t modified_unix_nanos = 0;
  std::string content;
  uint64_t durable_size = 0;
  // Reads that touch [from, to) fail.
  uint64_t bad_from = 0, bad_to = 0;
  std::vector<Change> changes;
  using Entries = std::map<std::string, std::shared_ptr<SimInode>, std::less<>>;
  // Names of a directory, as programs see them.
  Entries entries;
  Entries durable_entries;
};
using InodePtr = std::shared_ptr<SimInode>;

// A node's disk. SimNode owns it, and it outlives all lives of the node. Servers reach it through
// SimFileSystem and SimLogDevice; tests and faults call it directly.
//
//   node.disk().FailSyncs(1);                      // the next sync fails
//   node.disk().SetFreeBytes(4096);                // the disk is nearly full
//   node.disk().Rot("/data1/log.1.0", 100, 4);     // bytes change at rest
class SimDisk {
 public:
  SimDisk(uint64_t seed, std::function<int64_t()> wall_nanos);

  // The tree. Paths are absolute; "." and ".." are not understood.
  absl::StatusOr<InodePtr> Find(std::string_view path) const;
  absl::StatusOr<InodePtr> CreateFile(const std::string& path);
  absl::Status CreateDirectories(const std::string& path);
  absl::Status Rename(const std::string& from, const std::string& to);
  absl::Status Remove(const std::string& path);
  absl::Status RemoveAll(const std::string& path);
  absl::Status Link(const std::string& from, const std::string& to);

  // Content. `direct`: past the page cache, so that a flush of the device covers it where it is in
  // place. A write that fails may have written its first sectors.
  enum class Path : uint8_t { kCached, kDirect };
  absl::Status Write(SimInode& inode, uint64_t offset, std::string_view bytes, Path path);
  absl::Status Truncate(SimInode& inode, uint64_t size);

  absl::Status SyncFile(const InodePtr& inode);
  absl::Status SyncDirectory(const InodePtr& directory);
  // Makes changes with a sequence number below `before` durable where they are direct and in place.
  void FlushDevice(const std::vector<InodePtr>& files, uint64_t before);
  uint64_t next_sequence() const { return next_sequence_; }
  // What a failed flush does to them.
  void LoseUnsynced(SimInode& inode);

  // Ends what runs on it. A power cut leaves what `mode` says.
  void Crash(CrashMode mode);
  // Everything as it is now becomes durable: for setting a scene.
  void MakeDurable();

  // Faults. The next `n` syncs (of files, directories or the device) fail with EIO.
  void FailSyncs(int n) { syncs_to_fail_ = n; }
  bool TakeSyncFailure();
  // The next `n` writes of content fail with EIO.
  void FailWrites(int n) { writes_to_fail_ = n; }
  // Each read of a file fails with EIO by this chance.
  void FailReads(double percent) { reads_fail_percent_ = percent; }
  bool reads_fail() const { return reads_fail_percent_ > 0; }
  bool TakeReadFailure() { return reads_fail_percent_ > 0 && random_.Percent(reads_fail_percent_); }
  // From now on calls of programs on `path` and below it fail so, each by this chance; 0: none.
  void FailCalls(std::string path, DiskTrouble trouble, double percent);
  bool is_in_trouble() const { return calls_fail_percent_ > 0; }
  absl::Status TakeCallFailure(DiskCall call, std::string_view path);
  // How many calls failed so far, in all lives.
  int64_t calls_failed() const { return calls_failed_; }
  // The next `n` questions whether a name is there fail with EIO.
  void FailStats(int n) { stats_to_fail_ = n; }
  bool TakeStatFailure() { return stats_to_fail_ > 0 && stats_to_fail_-- > 0; }
  // Reads that touch [offset, offset + n) of a file fail with EIO until all of it is written again.
  absl::Status SpoilBlock(const std::string& path, uint64_t offset, uint64_t n);
  // From now on flushes of the device succeed and make nothing durable: a disk that lies.
  void ForgetFlushes() { forgets_flushes_ = true; }
  bool forgets_flushes() const { return forgets_flushes_; }
  // Bytes that may still be allocated; nullopt-like UINT64_MAX: no bound.
  void SetFreeBytes(uint64_t bytes) { free_bytes_ = bytes; }
  uint64_t free_bytes() const { return free_bytes_; }
  // What lies under `path` takes no change.
  enum class Access : uint8_t { kReadOnly, kFull };
  void SetAccess(const std::string& path, Access access);
  // Inverts one bit of every byte of [offset, offset + n) of a file, at rest.
  absl::Status Rot(const std::string& path, uint64_t offset, size_t n);
  // Factor on all delays of this disk.
  void SetSlowness(int factor) { slowness_ = factor; }
  int slowness() const { return slowness_; }
  // After `n` more changes the disk is dead for the running life: nothing more reaches it,
  // everything fails, `on_death` runs once (the node's crash). This is how a crash falls between
  // two steps of one task.
  void DieAfterChanges(int64_t n, std::function<void()> on_death);
  bool is_dead() const { return dead_; }
  void Revive();

  // Locked files: by path, the life that holds it.
  std::map<std::string, uint32_t>& locks() { return locks_; }
  // In the order of their paths' parts.
  using FileVisitor = absl::FunctionRef<void(const std::string& path, const SimInode& inode)>;
  void ForEachFile(FileVisitor visit) const;
  // Every file's path, sorted.
  std::vector<std::string> AllFiles() const;

 private:
  struct NameChange {
    InodePtr directory;
    std::string name;
    // Null: removed.
    InodePtr inode;
    // Rename: the other end, changed together with it.
    InodePtr from_directory;
    std::string from_name;
  };
  struct Place {
    InodePtr directory;
    std::string name;
  };
  absl::StatusOr<Place> FindPlace(std::string_view path) const;
  absl::Status CountChange();
  // How many of the `n` bytes of a write find space; they take it.
  size_t TakeSpace(const SimInode& inode, uint64_t offset, size_t n);
  void ApplyDurably(const NameChange& change);
  void AddNameChange(NameChange change);
  // What a change wrote: the content of its range without the changes after it.
  static std::string BytesOf(const SimInode& inode, size_t index);
  // Keeps older unsynced changes' undo bytes in step with a change that became durable.
  static void Settle(SimInode& inode, size_t index);
  void CrashContent(SimInode& inode, CrashMode mode);
  void CrashTree(const InodePtr& directory, CrashMode mode);
  void MakeTreeDurable(const InodePtr& directory);

  SimRandom random_;
  std::function<int64_t()> wall_nanos_;
  InodePtr root_;
  std::deque<NameChange> name_changes_;
  uint64_t next_inode_ = 2;
  uint64_t next_sequence_ = 1;
  int syncs_to_fail_ = 0;
  int writes_to_fail_ = 0;
  double reads_fail_percent_ = 0;
  int stats_to_fail_ = 0;
  std::string troubled_;
  DiskTrouble trouble_ = DiskTrouble::kErrors;
  double calls_fail_percent_ = 0;
  int64_t calls_failed_ = 0;
  bool forgets_flushes_ = false;
  int slowness_ = 1;
  uint64_t free_bytes_ = UINT64_MAX;
  int64_t changes_left_ = -1;
  std::function<void()> on_death_;
  bool dead_ = false;
  // kPowerPrefix: changes before this sequence number stay.
  uint64_t crash_point_ = 0;
  std::map<std::string, uint32_t> locks_;
};

}  // namespace arion::sim
