// PosixEnvironment: the real world of one server process: its event loops, its disks, its clock,
// the kernel's random.
//
// Threads   Thread-safe, but for StopLoops and destruction: one thread that is none of its own.
// Lifetime  StopLoops, then destroy the servers, then this.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "env/environment.h"
#include "env/log_device.h"
#include "posix/event_loops.h"
#include "posix/posix_clock.h"
#include "posix/posix_file_system.h"
#include "posix/posix_log_device.h"

namespace arion {

class DescriptorReserve;
class PosixDiskPool;

// How many threads there are, and how logs are written. main/ fills it from the configuration.
struct PosixEnvironmentOptions {
  int event_loop_threads = 2;
  int disk_threads_per_device = 4;
  int bulk_threads_per_device = 2;
  int flush_threads_per_device = 2;
  LogDeviceOptions log_device;
  // Of descriptor_reserve.h; 0: none.
  size_t descriptors_held = 0;
  // Of posix_clock.h.
  clockid_t clock = CLOCK_MONOTONIC;
};

// One for a process; main/ makes it before all servers. Pools and log devices are made when the
// first path on their device is asked for, and stay until the end.
class PosixEnvironment : public Environment {
 public:
  explicit PosixEnvironment(PosixEnvironmentOptions options);
  ~PosixEnvironment() override;

  const Clock& clock() const override { return clock_; }
  FileSystem& files() override { return files_; }
  Random& random() override { return *random_; }
  StrandPtr NewStrand(std::string_view name) override { return loops_.NewStrand(name); }
  DiskPool& disk_pool(const std::string& path) override;
  LogDevice& log_device(const std::string& path) override;
  DiskPool& bulk_pool(const std::string& path) override;
  DiskPool& flush_pool(const std::string& path) override;

  // For the transport and the watchdog.
  EventLoops& loops() { return loops_; }
  // The process's reserve of descriptors.
  DescriptorReserve& descriptors() { return *options_.log_device.descriptors; }
  // The very pools of the functions above, for displays.
  const PosixDiskPool& pool_of(const std::string& path);
  const PosixDiskPool& bulk_pool_of(const std::string& path);
  const PosixDiskPool& flush_pool_of(const std::string& path);
  // PosixDiskPool::Stuck of all pools, and what is stuck in log devices' threads. Waits for no
  // disk.
  std::vector<StuckWork> StuckInPools(absl::Duration limit);
  // Nothing runs on any strand after it returned; work in disk pools goes on.
  void StopLoops() { loops_.Stop(); }

 private:
  // What one device has. It is made whole at the first path that lies there, but for the log
  // device, and stays where it is.
  struct Device {
    // The first that was asked for.
    std::string path;
    // Null until somebody writes a log there.
    std::unique_ptr<LogDevice> log;
    // Pools end before the log device: their work uses it.
    std::unique_ptr<PosixDiskPool> pool;
    std::unique_ptr<PosixDiskPool> bulk;
    std::unique_ptr<PosixDiskPool> flush;
  };
  Device& DeviceOf(const std::string& path);
  std::map<std::string, uint64_t>::iterator NearestKnownAbove(const std::string& path)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const PosixEnvironmentOptions options_;
  const PosixClock clock_;
  PosixFileSystem files_;
  std::unique_ptr<Random> random_;
  EventLoops loops_;
  Mutex mutex_;
  // Paths that were asked for, with their device; a failed look-up counts as a device of its own.
  std::map<std::string, uint64_t> device_of_path_ ABSL_GUARDED_BY(mutex_);
  std::map<uint64_t, std::unique_ptr<Device>> devices_
      ABSL_GUARDED_BY(mutex_);  // a Device stays where it is
};

}  // namespace arion
