// Environment: everything of the outside world that one server may touch. The POSIX one is made in
// main/; the simulator makes one for each simulated node, and another for the node's next life
// after a crash.
//
// Threads   Thread-safe. Lifetime: outlives every object of its server.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "env/clock.h"
#include "env/file_system.h"
#include "env/log_device.h"
#include "env/strand.h"

namespace arion {

// A bounded pool of threads of one device, for work that waits for it. Thread-safe.
class DiskPool {
 public:
  virtual ~DiskPool() = default;
  // Runs `work` in the pool, in the order of arrival as threads come free. Never refuses.
  virtual void Submit(Task work) = 0;
};

class Random {
 public:
  virtual ~Random() = default;
  virtual uint64_t Next() = 0;
  uint64_t Below(uint64_t bound) { return bound == 0 ? 0 : Next() % bound; }
};

class Environment {
 public:
  virtual ~Environment() = default;
  virtual const Clock& clock() const = 0;
  virtual FileSystem& files() = 0;
  virtual Random& random() = 0;
  // A strand on the event loop with the fewest strands. `name` shows in diagnostics.
  virtual StrandPtr NewStrand(std::string_view name) = 0;
  // The pool and the log device of the device that holds `path` (which exists).
  virtual DiskPool& disk_pool(const std::string& path) = 0;
  virtual LogDevice& log_device(const std::string& path) = 0;
  // A pool of the same device for copies and checksums of whole files: where there is not enough of
  // the processor for all, its threads come last.
  virtual DiskPool& bulk_pool(const std::string& path) { return disk_pool(path); }
  // A pool of the same device for memtables' flushes and checkpoints, which rest beside the logs and
  // take up to seconds: neither reads nor ballots nor copies wait behind them.
  virtual DiskPool& flush_pool(const std::string& path) { return disk_pool(path); }
};

}  // namespace arion
