// PosixLogFile and what both POSIX log devices do alike: opening, growing, trimming, judging how a
// write ended.
//
// Threads   Thread-safe.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <istream>
#include <memory>
#include <string>
#include <string_view>

#include "env/log_device.h"
#include "posix/descriptor_reserve.h"
#include "posix/posix_log_device.h"

namespace arion {

// A write on its way through a device: made by Begin, handed from list to list by the device, ended
// by Finish, which posts the answer. It owns the file, the buffer and the callback meanwhile.
struct PendingWrite {
  enum class Stage { kWriting, kSyncing };

  LogDevice::WriteRequest request;
  absl::Status status;
  int64_t begun_nanos = 0;
  // The write's first part, later its own sync.
  int64_t step_begun_nanos = 0;
  // In a list of the device's.
  PendingWrite* next = nullptr;
  Stage stage = Stage::kWriting;
  // RWF_DSYNC.
  bool carries_flush = false;
  size_t done_bytes = 0;
  // Among those in flight.
  size_t place = 0;
};

// Owns the descriptor. The log holds it, and each write in flight does; so the descriptor stays
// open until the last write has ended.
class PosixLogFile : public LogFile {
 public:
  PosixLogFile(int fd, std::string path, size_t alignment,
               std::shared_ptr<DescriptorReserve> descriptors = nullptr)
      : fd_(fd),
        path_(std::move(path)),
        alignment_(alignment),
        descriptors_(std::move(descriptors)) {}
  ~PosixLogFile() override;

  size_t alignment() const override { return alignment_; }
  const std::string& path() const override { return path_; }
  int fd() const { return fd_; }
  bool is_direct() const { return alignment_ > 1; }
  // log_device/V3: once a write or sync failed, what the file holds is unknown for good.
  bool has_failed() const { return failed_.load(std::memory_order_acquire); }
  void Fail() { failed_.store(true, std::memory_order_release); }

  // The memory for a write. A file has one write at a time, so it keeps that memory between them.
  std::unique_ptr<PendingWrite> TakePending() {
    std::unique_ptr<PendingWrite> kept(pending_.exchange(nullptr, std::memory_order_acq_rel));
    return kept != nullptr ? std::move(kept) : std::make_unique<PendingWrite>();
  }
  void KeepPending(std::unique_ptr<PendingWrite> pending) {
    *pending = PendingWrite();
    delete pending_.exchange(pending.release(), std::memory_order_acq_rel);
  }

 private:
  const int fd_;
  const std::string path_;
  const size_t alignment_;
  // May be null.
  const std::shared_ptr<DescriptorReserve> descriptors_;
  std::atomic<bool> failed_{false};
  // Owned; taken out while a write is in flight.
  std::atomic<PendingWrite*> pending_{nullptr};
};

// What makes a completed write durable; StepAfter decides it by the file, the coverage and the
// promise asked for.
enum class NextStep {
  // Nothing more: page cache suffices, or the write carried RWF_DSYNC.
  kNone,
  // This file's fdatasync.
  kOwnSync,
  // Any fdatasync on the device that starts now or later.
  kDeviceFlush,
};

// Whether one flush of the disk makes every direct overwrite that was completed before it durable,
// whichever file of the file system it is asked through. `mounts`: /proc/self/mountinfo; `device`:
// "major:minor".
bool OneFlushCoversAll(std::istream& mounts, std::string_view device);

// What both devices share; Write is the subclasses'. The file calls run on the caller's thread, in
// its DiskPool; the protected part runs wherever the subclass writes.
class PosixLogDevice : public LogDevice {
 public:
  PosixLogDevice(const std::string& path_on_device, const LogDeviceOptions& options);
  ~PosixLogDevice() override;

  absl::StatusOr<std::shared_ptr<LogFile>> Open(const std::string& path, bool direct) override;
  absl::Status FillWithZeros(LogFile& file, uint64_t from, uint64_t to) override;
  absl::Status TruncateAndSync(LogFile& file, uint64_t size) override;
  absl::Status Sync(LogFile& file) override;
  const LogDeviceStats& stats() const override { return stats_; }
  bool LacksOpenFiles() const override {
    return descriptors_ != nullptr && descriptors_->is_scarce();
  }

 protected:
  static PosixLogFile& FileOf(const WriteRequest& request) {
    return static_cast<PosixLogFile&>(*request.file);
  }
  // Why the request can't be written at all; OK otherwise.
  static absl::Status Refusal(const WriteRequest& request);
  // The status of a write or sync that ended with `error` (an errno). Fails the file unless a write
  // lacks space. A write that carries a flush can't say which of the two found no space; since it
  // is written whole again, that does not matter.
  static absl::Status WriteFailed(const PendingWrite& write, int error);
  static absl::Status SyncFailed(PosixLogFile& file, int error);
  // Nanoseconds of no particular beginning, for the statistics.
  static int64_t NowNanos();
  // A request becomes a pending write; counts it.
  std::unique_ptr<PendingWrite> Begin(WriteRequest request);
  // Counts the end and posts the callback.
  void Finish(std::unique_ptr<PendingWrite> write, absl::Status status);
  // A sync that made `writes` durable (or failed to) has ended.
  void CountSync(int64_t begun_nanos, size_t writes, bool ok);

  static NextStep StepAfter(const PendingWrite& write);
  // Whether the write can be durable only by a flush of its own, which RWF_DSYNC gives it.
  bool NeedsDsync(const WriteRequest& request) const;
  bool shared_flush() const { return flush_fd_ >= 0; }
  // The file whose fdatasync is the shared flush: one that is never written. It is no log's, whose
  // changed time an ext4 without a journal would write first.
  int flush_fd() const { return flush_fd_; }

  LogDeviceStats stats_;

 private:
  // Through the reserve, where there is one.
  int OpenFile(const std::string& path, int flags) const;
  void CloseFile(int fd) const;

  // -1: a flush covers its own file only.
  const int flush_fd_;
  // May be null.
  const std::shared_ptr<DescriptorReserve> descriptors_;
};

// `why`: why threads and nothing better, for its method(); empty: that was asked for.
std::unique_ptr<LogDevice> NewThreadedLogDevice(const std::string& path_on_device,
                                                const LogDeviceOptions& options,
                                                std::string_view why = {});
// Unavailable: the kernel refuses io_uring or a part of it that the device needs; the message says
// which.
absl::StatusOr<std::unique_ptr<LogDevice>> NewUringLogDevice(const std::string& path_on_device,
                                                             const LogDeviceOptions& options,
                                                             EventLoops* loop);

}  // namespace arion
