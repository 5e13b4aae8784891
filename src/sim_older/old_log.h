// OldLog: a private log as a 2.5.0 server writes it (wal/FORMAT.md), in memory: a block a
// write, a new file whenever one is asked for. What was written survives the process, but not the
// power: nothing of it is ever flushed. A process that leaves files behind has each piece written
// there too, by OldLogFiles.
//
// Threads   One.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/mutation.h"
#include "wal/log_format.h"

namespace arion::sim {

// Where a log's files lie. A file begins with its first block, alone.
class OldLogFiles {
 public:
  virtual ~OldLogFiles() = default;
  // Adds at the end of the file; makes the file where there is none.
  virtual void Append(const LogFileName& name, std::string_view bytes) = 0;
  virtual void Remove(const LogFileName& name) = 0;
};

// One replica's log. OldStored owns it, so it outlives the replica and its process.
class OldLog {
 public:
  explicit OldLog(PartitionId pid, int64_t index = 1, int64_t start_offset = 0);

  // A file as it was found.
  struct Found {
    LogFileName name;
    std::string bytes;
    // The largest decree before it, by its header.
    Decree max_before;
    // Bytes of whole blocks.
    int64_t content_bytes = 0;
    std::vector<MutationPtr> mutations;
  };
  // What lies in `files`, in order: none, or what replay accepts. Reopen comes before anything
  // else.
  OldLog(PartitionId pid, int64_t valid_from, std::vector<Found> found,
         std::shared_ptr<OldLogFiles> files);

  // One block. Its mutations get their offsets.
  void Append(const std::vector<MutationPtr>& mutations) {
    BeginBlock(mutations);
    EndBlock();
  }
  // The same in two steps: in between a part of it is in the file, and none of it counts.
  void BeginBlock(const std::vector<MutationPtr>& mutations);
  void EndBlock();
  // What lies before it is void from now on, if so said.
  void SwitchFile(bool voids = false);
  // So it is, and an engine stands at `applied` without it.
  void Restart(Decree applied) {
    max_decree_ = applied;
    SwitchFile(/*voids=*/true);
  }
  // After the process ended: a block that was begun stays as it is, and a new file follows what
  // counts.
  void Reopen();
  // The newest file's last block has not come to its end.
  void Tear(size_t cut) { bytes().resize(bytes().size() - cut); }

  std::map<std::string, std::string>& files() { return files_; }
  const std::map<std::string, std::string>& files() const { return files_; }
  std::vector<std::string> names() const;
  int64_t valid_from() const { return valid_from_; }
  // Of the newest one.
  std::string& bytes() { return files_[name_.ToString()]; }

  // What counts, in log order.
  std::vector<MutationPtr> Mutations() const;
  // Whether everything from `start` on certainly is in it.
  bool Covers(Decree start) const;
  // The newest files back to the one that holds `start`.
  std::vector<std::string> NamesFrom(Decree start) const;
  // An engine stands at `durable` on its own: the files below that are removed, never the newest.
  void Collect(Decree durable);

 private:
  struct File {
    LogFileName name;
    // The largest decree of all files before it.
    Decree max_before;
    int64_t valid_from = 0;
    std::vector<MutationPtr> mutations;
  };
  void BeginFile(int64_t index, int64_t start_offset, int64_t valid_from);
  // Appends to the newest file.
  void Write(std::string_view bytes);

  PartitionId pid_;
  // Null: in memory only.
  std::shared_ptr<OldLogFiles> disk_;
  std::map<std::string, std::string> files_;
  // The files, in log order.
  std::deque<File> held_;
  LogFileName name_;
  Decree max_decree_;
  int64_t valid_from_ = 0;
  // Where what counts in the newest file ends.
  int64_t end_ = 0;
  uint32_t crc_ = 0;
  // The block that was begun.
  std::string block_;
  uint32_t block_crc_ = 0;
  std::vector<MutationPtr> in_block_;
};

}  // namespace arion::sim
