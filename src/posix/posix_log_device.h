// The log devices of Linux: io_uring with one flush for the whole device, or a few threads when
// io_uring is refused.
//
// Shapes    A file opened for direct I/O writes whole 4096-byte pages. Where a flush of the device
//           is known to cover every completed direct overwrite (ext4 with barriers) one fdatasync
//           serves all files. It is that of a nameless file that is never written, so it has
//           nothing of its own to write. Elsewhere each such write carries RWF_DSYNC. Buffered and
//           growing writes are followed by their own file's fdatasync.
// Errors    ResourceExhausted: no space or memory, the file may be written again. DataLoss: a write
//           or sync failed; the file stays failed (log_device/V3).
// Threads   Thread-safe.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "env/zeros_ahead.h"

namespace arion {

class DescriptorReserve;
class EventLoops;
class LogDevice;

// Settings of one device. The Environment passes the same to each that it makes.
struct LogDeviceOptions {
  enum class Method {
    // io_uring, else threads.
    kBest,
    // pwrite + fdatasync.
    kThreads,
  };
  Method method = Method::kBest;
  // Of kThreads.
  int threads = 4;
  // Of io_uring's submission queue.
  unsigned ring_entries = 256;
  // Zero-filled space that all logs of the device may hold ready, spares included, beyond two steps
  // of 1 MiB each. 0: no spares, and files grow by such steps.
  uint64_t zeros_ahead_bytes_max = kZerosAheadBytesMax;
  // Keeps descriptors for a log's next file when the process has none left; null: there is no
  // reserve.
  std::shared_ptr<DescriptorReserve> descriptors;
};

// The log device of the file system that holds `path_on_device`, which exists. `loop`, of one
// thread, serves its ring beside what else it does, and outlives it; null: the device has a loop of
// its own.
std::unique_ptr<LogDevice> NewPosixLogDevice(const std::string& path_on_device,
                                             LogDeviceOptions options, EventLoops* loop = nullptr);

}  // namespace arion
