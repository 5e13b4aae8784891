// Raw loops: the least that each way of writing logs must do, in as little code as possible, to
// measure the private log against. They copy and checksum as a log does; they keep no
// promise but the order of writes.
//
// Shapes    A RawLog is one file: blocks as in wal/log_format.h, from the front again when the file
//           is full. One write per log is in flight and the next waits until it is durable
//           (decision 9).
// Threads   RawThreads: a thread per log. RawRing: one thread and one io_uring for all.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/histogram.h"
#include "base/mutation.h"
#include "bench/wal/log_load.h"
#include "env/log_device.h"

struct io_uring;

namespace arion {

enum class RawMethod {
  kPageCache,        // buffered overwrite, never synced; a thread per log
  kAppend,           // growing file, fdatasync; a thread per log
  kDirectDsync,      // pre-written, O_DIRECT + RWF_DSYNC, packed; a thread per log
  kRingDsync,        // the same through one io_uring
  kRingSharedFlush,  // pre-written, O_DIRECT, packed, one fdatasync in flight for all: ours
};
const char* RawMethodName(RawMethod method);

class RawLog {
 public:
  RawLog(const std::string& path, uint64_t file_bytes, RawMethod method);
  ~RawLog();
  RawLog(const RawLog&) = delete;

  // Makes the next write: one block of `count` copies of `record`.
  void Compose(const Mutation& record, size_t record_bytes, size_t count);
  int fd() const { return fd_; }
  const char* data() const { return buffer_.data(); }
  size_t size() const { return write_bytes_; }
  uint64_t offset() const { return write_offset_; }
  // Writes what was composed and makes it as durable as the method does.
  void WriteNow();

 private:
  const uint64_t file_bytes_;
  const RawMethod method_;
  const bool packed_;  // whole pages, the last one written again in front of the next block
  int fd_;
  uint64_t position_ = 0;
  uint32_t crc_ = 0;
  AlignedBuffer buffer_;
  size_t write_bytes_ = 0;
  uint64_t write_offset_ = 0;
  char last_page_[AlignedBuffer::kAlignment];
};

class RawThreads {
 public:
  RawThreads(const std::string& directory, int logs, size_t record_bytes, RawMethod method);
  int64_t RunClosed(int outstanding, int64_t run_nanos, Histogram& latency);

 private:
  const MutationPtr record_;
  std::vector<std::unique_ptr<RawLog>> logs_;
};

class RawRing {
 public:
  RawRing(const std::string& directory, int logs, size_t record_bytes, RawMethod method);
  ~RawRing();
  RawRing(const RawRing&) = delete;

  int64_t RunClosed(int outstanding, int64_t run_nanos, Histogram& latency);
  void RunOpen(const Arrivals& arrivals, Histogram& latency);
  double RecordsPerWrite() const {
    return static_cast<double>(records_) / static_cast<double>(std::max<int64_t>(1, writes_));
  }

 private:
  struct One {
    std::unique_ptr<RawLog> log;
    std::vector<int64_t> queued;    // when each began
    std::vector<int64_t> in_write;  // those of the write in flight; empty: idle
  };
  void Submit(One& one);
  void SubmitFlush();
  // Takes what has completed; `durable` is called for each log whose write is durable now.
  template <class F>
  void Reap(F durable);
  void Report(One& one, Histogram& latency);

  const RawMethod method_;
  const MutationPtr record_;
  const size_t record_bytes_;
  const std::unique_ptr<io_uring> ring_;
  std::vector<One> logs_;
  std::vector<One*> written_;
  std::vector<One*> flushing_;
  std::vector<std::pair<void*, int>> completions_;
  int64_t in_flight_ = 0;
  int64_t records_ = 0;
  int64_t writes_ = 0;
};

}  // namespace arion
