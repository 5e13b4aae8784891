// EmulatedDisk: a log device whose flushes are as slow as one wishes, on top of the real one;
// EmulatedEnvironment: several of them with flushes that know nothing of each other.
//
// What is emulated
//   flush     At most one is in flight per disk. It covers what was written before it began, ends
//             for all that at once, and takes `flush_time`; what is written meanwhile waits for the
//             next. That is a drive with a volatile cache. When the next begins is the log device's
//             choice and as there (env/flush_pacing.h).
//   bandwidth Optional. Written bytes (padding and rewritten pages included) go into the drive's
//             cache at once and leave it at `bytes_per_second`, always; a flush first waits until
//             what came before it has left. Zero-filling is held to the same rate.
// What is not
//   The real flush is left out for pre-written files (42 us here). A growing file's own fdatasync is
//   sent as well, because it writes the journal, but counts as one emulated flush, not the two that
//   a journal commit may cost: rare, as private logs do without. Metadata syncs of the file system
//   (a file's switch) take their real time. Limits of requests per second, reads, and a full cache are not emulated. All emulated
//   disks share the real one's request limit and this machine's cores, which is to the disadvantage
//   of whoever sends more, smaller writes: the private logs.
//
// Cost      One thread per disk sleeps through each flush: cpu_micros() says what it used. A flush
//           ends some 60 us late, as a sleeping thread wakes: stats().sync_nanos has the real time.
// Threads   Thread-safe. Lifetime: the real device outlives it; no write is in flight at its end.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "env/environment.h"
#include "env/log_device.h"
#include "posix/posix_disk_pool.h"

namespace arion {

struct EmulatedDiskOptions {
  int64_t flush_nanos = 1'000'000;
  int64_t bytes_per_second = 0;  // 0: the cache empties at once
};

class EmulatedDisk : public LogDevice {
 public:
  EmulatedDisk(LogDevice& real, EmulatedDiskOptions options);
  ~EmulatedDisk() override;

  void Write(WriteRequest request) override;
  absl::StatusOr<std::shared_ptr<LogFile>> Open(const std::string& path, bool direct) override;
  absl::Status FillWithZeros(LogFile& file, uint64_t from, uint64_t to) override;
  absl::Status TruncateAndSync(LogFile& file, uint64_t size) override;
  absl::Status Sync(LogFile& file) override;
  std::string method() const override;
  const LogDeviceStats& stats() const override { return stats_; }

  // For writers that write the real files themselves: `bytes` lie in the cache now.
  void AddWritten(uint64_t bytes);
  // Waits for a flush that begins from now on.
  void Flush();
  double cpu_micros() const;
  // Without limits while logs are prepared.
  void Unlimit() { bytes_per_second_ = 0; }
  void LimitAgain() { bytes_per_second_ = options_.bytes_per_second; }

 private:
  class DeviceThread;  // the real device's thread as a strand: what is posted runs there
  struct Written {
    WriteRequest request;  // its buffer is with `buffer`
    AlignedBuffer buffer;
    absl::Status status;
    int64_t begun_nanos = 0;
  };

  void OnWritten(std::unique_ptr<Written> written);
  void RunFlushes();
  void SleepUntil(int64_t nanos) const;

  LogDevice& real_;
  const EmulatedDiskOptions options_;
  std::atomic<int64_t> bytes_per_second_;
  const StrandPtr device_thread_;
  LogDeviceStats stats_;

  std::mutex mutex_;
  std::condition_variable work_;
  std::condition_variable flushed_;
  std::vector<std::unique_ptr<Written>> written_;  // guarded by mutex_: no flush has begun since
  int64_t cache_empty_nanos_ = 0;                  // guarded by mutex_: when it will be
  int64_t flushes_wanted_ = 0;                     // guarded by mutex_: Flush was called
  int64_t flushes_taken_ = 0;                      // guarded by mutex_: of those, covered
  bool stopping_ = false;                          // guarded by mutex_
  std::thread thread_;
};

// Each of the directories, made when missing, is a disk; all else is the environment's below.
class EmulatedEnvironment : public Environment {
 public:
  EmulatedEnvironment(Environment& real, std::vector<std::string> directories,
                      EmulatedDiskOptions options);
  // <base>/disk0 and so on.
  EmulatedEnvironment(Environment& real, const std::string& base, int count,
                      EmulatedDiskOptions options);

  const Clock& clock() const override { return real_.clock(); }
  FileSystem& files() override { return real_.files(); }
  Random& random() override { return real_.random(); }
  StrandPtr NewStrand(std::string_view name) override { return real_.NewStrand(name); }
  DiskPool& disk_pool(const std::string& path) override { return *pools_[DiskOf(path)]; }
  LogDevice& log_device(const std::string& path) override { return *disks_[DiskOf(path)]; }

  const std::vector<std::string>& directories() const { return directories_; }
  EmulatedDisk& disk(size_t i) { return *disks_[i]; }
  double cpu_micros() const;  // of the emulation itself
  void Unlimit() {
    for (auto& disk : disks_) disk->Unlimit();
  }
  void LimitAgain() {
    for (auto& disk : disks_) disk->LimitAgain();
  }

 private:
  size_t DiskOf(const std::string& path) const;

  Environment& real_;
  std::vector<std::string> directories_;
  std::vector<std::unique_ptr<EmulatedDisk>> disks_;
  std::vector<std::unique_ptr<PosixDiskPool>> pools_;
};

}  // namespace arion
