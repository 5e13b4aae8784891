// SharedLogBaseline: one log for all partitions of a server, as the old versions had it, for
// measuring only. Partitions append through the same call as to a PrivateLog, so one load drives
// both.
//
// What the old design does, and what is kept of it here
//   shared    A server has one log. Whatever partition appends puts its mutation into the pending
//             block under a lock all partitions share; one write is in flight; when it and its
//             fdatasync are through, all that is pending becomes the next block, whatever
//             partitions it comes from. Files of 32 MiB, whose header names every partition. Here
//             one thread composes (copies, checksums), writes and syncs.
//   private   Besides, each partition has a log of its own for learners. A mutation is copied and
//             checksummed into it once the shared log holds it, 512 KiB or 512 mutations at a time,
//             and is never synced. Its write-back is started at once: in a steady state the disk
//             gets those bytes at the same rate, and a short run would hide them.
//   disks     The shared log has the first disk for itself, the partitions' private logs lie on the
//             others: its best placement. With one disk all lie there.
// Two ways of writing it
//   kAppend      growing file, fdatasync: the old versions'. On an emulated disk the journal commit
//                that goes with it is left out: one flush, as for the others.
//   kPrewritten  written before, one file ahead, O_DIRECT, packed, RWF_DSYNC: the old design with the
//                new method, so that the comparison is of designs. Two files of zeros are made by a
//                pool; then what it held two files ago is written again.
// Left out    Retention, replay, recovery, failures: they end the process.
//
// Threads   Append is strand-bound, per partition; reports come there in append order.
// Lifetime  Environment and disks outlive it; stop the event loops first.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "bench/wal/emulated_disk.h"
#include "wal/private_log.h"

namespace arion {

enum class SharedLogMethod { kAppend, kPrewritten };

class SharedLogBaseline {
 public:
  class Partition;

  // `disks`, if not null, emulates the disks of all directories.
  SharedLogBaseline(Environment& env, EmulatedEnvironment* disks, SharedLogMethod method,
                    const std::string& log_directory);
  ~SharedLogBaseline();
  SharedLogBaseline(const SharedLogBaseline&) = delete;

  // A partition more, whose private log is that file; it lives as long as this. Thread-safe.
  Partition& Add(StrandPtr strand, const std::string& private_log_path);
  double RecordsPerWrite() const;

 private:
  class File;
  struct Pending {
    Partition* partition;
    MutationPtr mutation;
    PrivateLog::DurableCallback on_durable;
  };

  void Append(Pending pending);
  void RunWriter();
  void SwitchFile();
  void WriteBlock(const std::vector<Pending>& block);
  void MakeDurable(uint64_t bytes);
  EmulatedDisk* EmulatedDiskOf(const std::string& path) const;
  static void Report(std::vector<Pending> block);
  std::string SparePath(int64_t index) const;
  std::unique_ptr<File> MakeSpare(int64_t index);

  Environment& env_;
  EmulatedEnvironment* const disks_;
  LogDevice& device_;
  DiskPool& pool_;
  EmulatedDisk* const disk_;  // null: the real one
  const SharedLogMethod method_;
  const std::string directory_;

  std::mutex mutex_;
  std::condition_variable wake_;
  std::vector<std::unique_ptr<Partition>> partitions_;  // guarded by mutex_
  std::vector<Pending> pending_;                        // guarded by mutex_
  bool stopping_ = false;                               // guarded by mutex_
  std::thread thread_;

  // On thread_ only.
  std::unique_ptr<File> file_;
  std::future<std::unique_ptr<File>> next_file_;
  std::deque<std::string> dropped_;  // paths; the pool's while it makes a file
  int64_t index_ = 0;
  int64_t start_offset_ = 0;
  std::atomic<int64_t> blocks_{0};
  std::atomic<int64_t> mutations_{0};
};

class SharedLogBaseline::Partition {
 public:
  Partition(SharedLogBaseline& log, StrandPtr strand, DiskPool& pool, EmulatedDisk* disk,
            const std::string& private_log_path);
  ~Partition();

  void Append(MutationPtr mutation, PrivateLog::DurableCallback on_durable);
  const StrandPtr& strand() const { return strand_; }
  // As if the buffer had been filled that far: in a steady state buffers are unequally full.
  void CountAsBuffered(size_t records) { buffered_records_ = records; }
  static constexpr size_t kBufferedRecordsMax = 512;

 private:
  friend class SharedLogBaseline;
  struct PrivateFile;

  void AppendLazily(const Mutation& mutation);

  SharedLogBaseline& log_;
  const StrandPtr strand_;
  DiskPool& pool_;
  EmulatedDisk* const disk_;
  std::vector<Pending> in_block_;  // the writer's: its mutations of the block in flight

  // The private log: what is buffered, and how far its file goes.
  const std::shared_ptr<PrivateFile> private_file_;
  AlignedBuffer buffer_;
  size_t buffered_bytes_ = 0;
  size_t buffered_records_ = 0;
  uint64_t position_ = 0;
  uint32_t crc_ = 0;
};

}  // namespace arion
