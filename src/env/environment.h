// Environment: everything of the outside world that one server may touch. The POSIX one is made in
// main/; the simulator makes one for each simulated node, and another for the node's next life
// after a crash.
//
//   env.disk_pool(path).Submit([&files = env.files(), strand, path] {  // may wait for the disk
//     auto content = ReadFile(files, path);
//     strand->Post([content = std::move(content)] { ... });            // back, where nothing waits
//   });
//
// Threads   Thread-safe.
// Lifetime  Outlives every object of its server.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "env/strand.h"

namespace arion {

class Clock;
class FileSystem;
class LogDevice;

// A bounded pool of threads of one device, for work that waits for it. The Environment owns it.
// Thread-safe.
class DiskPool {
 public:
  virtual ~DiskPool() = default;
  // Runs `work` in the pool, in the order of arrival as threads come free. Never refuses.
  virtual void Submit(Task work) = 0;
};

// Random numbers; in the simulator a seed's, so that a run can be repeated.
class Random {
 public:
  virtual ~Random() = default;
  // Any 64 bits, equally likely.
  virtual uint64_t Next() = 0;
  // 0 <= result < bound; 0 for bound 0.
  uint64_t Below(uint64_t bound) { return bound == 0 ? 0 : Next() % bound; }
};

// Handed by reference to every part of a server.
class Environment {
 public:
  virtual ~Environment() = default;
  virtual const Clock& clock() const = 0;
  virtual FileSystem& files() = 0;
  virtual Random& random() = 0;
  // A strand on the event loop with the fewest strands. `name` shows in diagnostics.
  virtual StrandPtr NewStrand(std::string_view name) = 0;
  // The pool of the device that holds `path`, for reads, small writes and what a ballot waits for.
  // The path exists; finding its device may wait for the disk the first time.
  virtual DiskPool& disk_pool(const std::string& path) = 0;
  // The device's writer of log blocks.
  virtual LogDevice& log_device(const std::string& path) = 0;
  // A pool of the same device for copies and checksums of whole files. Where the processor is
  // short, its threads come last.
  virtual DiskPool& bulk_pool(const std::string& path) { return disk_pool(path); }
  // A pool of the same device for memtables' flushes and checkpoints. A flush takes up to seconds,
  // because it rests to leave the disk to the logs. In a pool of their own neither reads nor
  // ballots nor copies wait behind them.
  virtual DiskPool& flush_pool(const std::string& path) { return disk_pool(path); }
};

}  // namespace arion
