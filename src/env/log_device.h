// LogDevice: writes log blocks to one device and says when they are durable. One per device
// (st_dev), shared by all replicas whose logs lie there.
//
//   device.Write({.file = file, .offset = end, .buffer = std::move(block), .reply_on = strand,
//                 .done = [](absl::Status status, AlignedBuffer buffer) { ... }});
//
// Shapes    A write is one block of one file, already aligned where the file asks for it. At most
//           one write per file is in flight: the log above submits the next after the previous
//           one's callback (decision 9).
// Promises  log_device/V1  done(OK) with Durability::kFsync: the bytes survive a power cut (a flush
//               submitted after the write's completion succeeded; for kGrowing files that file's
//               own fdatasync). With kOs: write() returned.
//           log_device/V2  Each callback runs exactly once, on the strand given, failures included,
//               for one file in submit order.
//           log_device/V3  A failed flush fails every write it was to cover, and the device's files
//               it covered stay failed.
// Threads   Write is thread-safe. Opening, growing, trimming wait for the disk: call them in the
//           device's DiskPool.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/functional/any_invocable.h>
#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/counter.h"
#include "base/histogram.h"
#include "base/ids.h"
#include "env/strand.h"
#include "env/stuck_work.h"
#include "env/zeros_ahead.h"

namespace arion {

// A buffer aligned for direct I/O that grows; bytes [0, size) are the block(s) to write. A write
// takes it over and its callback gives it back, so a log uses the memory again. Move-only.
class AlignedBuffer {
 public:
  static constexpr size_t kAlignment = 4096;
  AlignedBuffer() = default;
  explicit AlignedBuffer(size_t capacity) { Reserve(capacity); }
  AlignedBuffer(AlignedBuffer&& other) noexcept;
  AlignedBuffer& operator=(AlignedBuffer&& other) noexcept;
  ~AlignedBuffer();

  // Makes room for at least that many bytes; the content stays.
  void Reserve(size_t capacity);
  // New bytes are zero.
  void Resize(size_t size);
  // Makes it longer by `bytes`, which the caller writes; returns where they begin.
  char* Extend(size_t bytes);
  char* data() { return data_; }
  const char* data() const { return data_; }
  size_t size() const { return size_; }
  size_t capacity() const { return capacity_; }
  std::string_view view() const { return {data_, size_}; }

 private:
  char* data_ = nullptr;
  size_t size_ = 0;
  size_t capacity_ = 0;
};

// How a write's bytes become durable.
enum class Coverage {
  // Inside the written and synced part of the file: any flush of the device covers them.
  kPrewritten,
  // They change the file's size: they need the file's own fdatasync.
  kGrowing,
};

// An open log file; made by LogDevice::Open, held by the log and by writes in flight. The last one
// that lets it go closes it, which may wait for the disk.
class LogFile {
 public:
  virtual ~LogFile() = default;
  // 1: any offset and length. 4096: buffer, offset and length must be multiples of it (direct I/O).
  virtual size_t alignment() const = 0;
  virtual const std::string& path() const = 0;
};

// What a device has done since it was made, for logs and to probe it. Thread-safe.
struct LogDeviceStats {
  // From Write() to the moment its answer is posted.
  Histogram append_nanos;
  // A flush of the device, a file's own, or a write that carries one.
  Histogram sync_nanos;
  // Mutations in a block.
  Histogram records_per_write;
  // Blocks that one flush made durable.
  Histogram writes_per_sync;
  Counter writes;
  // Written for blocks, rewritten pages and padding included.
  Counter bytes;
  Counter syncs;
  // Writes and syncs that ended with an error.
  Counter failures;
  // Writes that were submitted and whose answers are not posted yet.
  Gauge queued;
};

// One per device; Environment::log_device has it.
class LogDevice {
 public:
  // One block to write.
  struct WriteRequest {
    std::shared_ptr<LogFile> file;
    uint64_t offset = 0;
    // It is given back to the callback for reuse.
    AlignedBuffer buffer;
    // Mutations in it, for the statistics.
    uint32_t records = 0;
    Coverage coverage = Coverage::kGrowing;
    Durability durability = Durability::kFsync;
    // The strand on which `done` runs.
    StrandPtr reply_on;
    absl::AnyInvocable<void(absl::Status, AlignedBuffer)> done;
  };

  LogDevice() : LogDevice(kZerosAheadBytesMax) {}
  explicit LogDevice(uint64_t zeros_ahead_bytes_max)
      : zeros_ahead_(std::make_shared<ZerosAhead>(zeros_ahead_bytes_max)) {}
  virtual ~LogDevice() = default;
  // Submits a write. Never waits, never calls back inline.
  virtual void Write(WriteRequest request) = 0;

  // Opens for writing; creates the file when it is missing. `direct` asks for direct I/O where the
  // file system has it. This and the next three wait for the disk.
  virtual absl::StatusOr<std::shared_ptr<LogFile>> Open(const std::string& path, bool direct) = 0;
  // Fills [from, to) with zeros, sets the size to at least `to`, and syncs. Not while a write is in
  // flight there.
  virtual absl::Status FillWithZeros(LogFile& file, uint64_t from, uint64_t to) = 0;
  // Cuts to `size` and syncs.
  virtual absl::Status TruncateAndSync(LogFile& file, uint64_t size) = 0;
  // Makes what was written to the file durable.
  virtual absl::Status Sync(LogFile& file) = 0;
  // How it writes, for the banner and metrics: "io_uring, O_DIRECT, one flush per disk", "pwrite +
  // fdatasync", "simulated".
  virtual std::string method() const = 0;
  virtual const LogDeviceStats& stats() const = 0;
  // The process has hardly a descriptor left, or soon will have: logs make no spares then.
  virtual bool LacksOpenFiles() const { return false; }
  // Writes that have not moved for longer than the duration given. Only a device with threads of
  // its own knows of any (posix_disk_pool.h).
  virtual std::vector<StuckWork> Stuck(absl::Duration, const std::string&) const { return {}; }
  // Shared by the device's logs.
  const std::shared_ptr<ZerosAhead>& zeros_ahead() const { return zeros_ahead_; }

 private:
  const std::shared_ptr<ZerosAhead> zeros_ahead_;
};

}  // namespace arion
