// PosixLogFile and what both POSIX log devices do alike: opening, growing, trimming, judging how a
// write ended.
//
// Threads   Thread-safe.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "env/log_device.h"

namespace arion {

class PosixLogFile : public LogFile {
 public:
  PosixLogFile(int fd, std::string path, size_t alignment)
      : fd_(fd), path_(std::move(path)), alignment_(alignment) {}
  ~PosixLogFile() override;

  size_t alignment() const override { return alignment_; }
  const std::string& path() const override { return path_; }
  int fd() const { return fd_; }
  bool is_direct() const { return alignment_ > 1; }
  // V3: once a write or sync failed, what the file holds is unknown for good.
  bool has_failed() const { return failed_.load(std::memory_order_acquire); }
  void Fail() { failed_.store(true, std::memory_order_release); }

 private:
  const int fd_;
  const std::string path_;
  const size_t alignment_;
  std::atomic<bool> failed_{false};
};

// What makes a completed write durable.
enum class NextStep {
  kNone,         // nothing more: page cache suffices, or the write carried RWF_DSYNC
  kOwnSync,      // this file's fdatasync
  kDeviceFlush,  // any fdatasync on the device that starts now or later
};

class PosixLogDevice : public LogDevice {
 public:
  explicit PosixLogDevice(const std::string& path_on_device);

  absl::StatusOr<std::shared_ptr<LogFile>> Open(const std::string& path, bool direct) override;
  absl::Status FillWithZeros(LogFile& file, uint64_t from, uint64_t to) override;
  absl::Status TruncateAndSync(LogFile& file, uint64_t size) override;
  absl::Status Sync(LogFile& file) override;
  const LogDeviceStats& stats() const override { return stats_; }

 protected:
  static PosixLogFile& FileOf(const WriteRequest& request) {
    return static_cast<PosixLogFile&>(*request.file);
  }
  // Why the request can't be written at all; OK otherwise.
  static absl::Status Refusal(const WriteRequest& request);
  // The status of a write or sync that ended with `error` (an errno); fails the file unless it only
  // lacks space.
  static absl::Status WriteFailed(PosixLogFile& file, int error);
  static absl::Status SyncFailed(PosixLogFile& file, int error);
  // Nanoseconds of no particular beginning, for the statistics.
  static int64_t NowNanos();
  // Posts the callback of a write that came at `begun_nanos`.
  void Finish(WriteRequest request, absl::Status status, int64_t begun_nanos);
  // A sync that made `writes` durable (or failed to) has ended.
  void CountSync(int64_t begun_nanos, size_t writes, bool ok);

  NextStep StepAfter(const WriteRequest& request) const;
  bool WantsDsync(const WriteRequest& request) const;
  bool shared_flush() const { return shared_flush_; }

  LogDeviceStats stats_;

 private:
  bool shared_flush_ = false;
};

std::unique_ptr<LogDevice> NewThreadedLogDevice(const std::string& path_on_device, int threads);
// Null when the kernel refuses io_uring.
std::unique_ptr<LogDevice> NewUringLogDevice(const std::string& path_on_device,
                                             unsigned ring_entries);

}  // namespace arion
