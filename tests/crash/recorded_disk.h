// RecordedDisk: a disk as running programs see it, which writes down every operation that reaches
// it, in order, for the crash model (crash_model.h) to judge.
//
// Shapes    An Op is one operation or one mark. A direct write has two: given to the disk, and
//           completed; what lies between may or may not have happened. The same with flushes of
//           the device.
// Errors    Those of FileSystem. A planned fault (FaultPlan) takes the place of one operation.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/functional/any_invocable.h>
#include <absl/status/statusor.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tests/crash/disk_tree.h"

namespace arion::crash {

enum class OpKind : uint8_t {
  // what changes the disk, and what makes changes durable
  kName,  // create, make a directory, link, rename, remove
  kWrite,
  kWritten,
  kWriteFailed,  // what of it arrived is seen by whoever reads next; no more comes later
  kTruncate,
  kSyncFile,
  kSyncDirectory,
  kFlushBegin,
  kFlushEnd,
  kSyncFailed,   // the file's unsynced changes look written and never become durable
  kFlushFailed,  // those that the flush was to cover
  kPowerCut,     // the disk is `tree` now, all of it durable
  // marks: what the log was asked for, and what it said
  kAppended,    // mutation
  kReported,    // mutation: durable
  kOpened,      // mutations: what recovery gave
  kCheckpoint,  // decree: durable in the engine; files below may be dropped
  kValidStart,  // offset, decree: a new beginning, stored
  kClosed,      // OK
  kProcessEnd,  // without a power cut
  kFault,       // a planned one happened; inode: the directory whose sync it was
};

struct Op {
  OpKind kind;
  uint64_t inode = 0;  // file or directory; kName: what the name leads to, 0 = removed
  uint64_t id = 0;     // pairs kWrite with kWritten, kFlushBegin with kFlushEnd
  uint64_t offset = 0;
  uint64_t size = 0;  // kTruncate
  std::shared_ptr<const std::string> bytes;
  bool direct = false;
  // kName
  uint64_t directory = 0;
  std::string name;
  uint64_t from_directory = 0;  // a rename's other end; 0: no rename
  std::string from;
  bool is_directory = false;
  int64_t birth_nanos = 0;
  // marks
  int64_t number = 0;  // a mutation, a decree
  int64_t valid_start = 0;
  std::vector<int> mutations;
  std::shared_ptr<const Tree> tree;

  std::string ToString() const;
};
using Ops = std::vector<Op>;

// From the nth on (counted from 1) `count` writes (creations and truncations are ones, too) or syncs
// fail.
struct FaultPlan {
  enum class Site : uint8_t { kNone, kWrite, kSync } site = Site::kNone;
  int64_t nth = 0;
  int64_t count = 1;
  absl::Status status;
};

class RecordedDisk {
 public:
  // `ops` null: nothing is written down. It outlives the disk.
  explicit RecordedDisk(Tree tree, Ops* ops = nullptr) : tree_(std::move(tree)), ops_(ops) {}

  const Tree& tree() const { return tree_; }
  void Mark(Op op);

  absl::StatusOr<uint64_t> Create(const std::string& path);
  absl::Status CreateDirectories(const std::string& path);
  absl::Status Rename(const std::string& from, const std::string& to);
  absl::Status Remove(const std::string& path);
  absl::Status Link(const std::string& from, const std::string& to);
  const Node& node(uint64_t inode) const { return tree_.nodes.at(inode); }

  // Through the page cache.
  absl::Status Write(uint64_t inode, uint64_t offset, std::string_view bytes);
  absl::Status Truncate(uint64_t inode, uint64_t size);
  absl::Status SyncFile(uint64_t inode);
  absl::Status SyncDirectory(uint64_t directory);
  // Past it. Programs see the bytes when the write completes.
  uint64_t BeginWrite(uint64_t inode, uint64_t offset, std::string_view bytes);
  absl::Status EndWrite(uint64_t id);
  uint64_t BeginFlush();
  absl::Status EndFlush(uint64_t id);
  // The process is gone; what it gave to the disk arrives.
  void EndProcess();
  // This is what a power cut left.
  void CutPower(const Tree& tree);

  // Faults.
  void Plan(FaultPlan plan) { plan_ = std::move(plan); }
  // What a failed sync was to cover is still to be seen, and never becomes durable.
  bool has_lost() const { return has_lost_; }

 private:
  struct InFlight {
    uint64_t id = 0;
    uint64_t inode = 0;
    uint64_t offset = 0;
    std::shared_ptr<const std::string> bytes;
  };
  void Record(Op op);
  void ApplyName(const Op& op);
  absl::Status TakeFault(FaultPlan::Site site, uint64_t directory = 0);
  // A write that failed got as far as its middle.
  void WriteHalf(uint64_t inode, uint64_t offset, std::string_view bytes);

  Tree tree_;
  Ops* const ops_;
  uint64_t next_id_ = 1;
  std::vector<InFlight> in_flight_;
  FaultPlan plan_;
  bool has_lost_ = false;
  int64_t writes_seen_ = 0;
  int64_t syncs_seen_ = 0;
};

// What an operation on names does to a tree, whatever of its past arrived.
void ApplyName(const Op& op, Tree* tree);

}  // namespace arion::crash
