// SPDX-License-Identifier: Apache-2.0
#include "posix/posix_environment.h"

#include <sys/random.h>

#include <array>
#include <utility>

#include "env/loop_thread.h"
#include "posix/descriptor_reserve.h"
#include "posix/posix_disk_pool.h"

namespace arion {
namespace {

// getrandom, a page's worth at a time.
class KernelRandom : public Random {
 public:
  uint64_t Next() override {
    const MutexLock lock(mutex_);
    if (next_ == numbers_.size()) Refill();
    return numbers_[next_++];
  }

 private:
  void Refill() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    char* to = reinterpret_cast<char*>(numbers_.data());
    size_t wanted = sizeof(numbers_);
    for (size_t got = 0; got < wanted;) {
      ssize_t n = getrandom(to + got, wanted - got, 0);
      PCHECK(n >= 0 || errno == EINTR) << "getrandom";
      if (n > 0) got += static_cast<size_t>(n);
    }
    next_ = 0;
  }

  Mutex mutex_;
  std::array<uint64_t, 64> numbers_ ABSL_GUARDED_BY(mutex_);
  size_t next_ ABSL_GUARDED_BY(mutex_) = numbers_.size();
};

PosixEnvironmentOptions WithReserve(PosixEnvironmentOptions options) {
  options.log_device.descriptors = std::make_shared<DescriptorReserve>(options.descriptors_held);
  return options;
}

}  // namespace

PosixEnvironment::PosixEnvironment(PosixEnvironmentOptions options)
    : options_(WithReserve(std::move(options))),
      clock_(options_.clock),
      files_(options_.log_device.descriptors),
      random_(std::make_unique<KernelRandom>()),
      loops_(options_.event_loop_threads) {}

PosixEnvironment::~PosixEnvironment() { loops_.Stop(); }

DiskPool& PosixEnvironment::disk_pool(const std::string& path) { return *DeviceOf(path).pool; }

DiskPool& PosixEnvironment::bulk_pool(const std::string& path) { return *DeviceOf(path).bulk; }

DiskPool& PosixEnvironment::flush_pool(const std::string& path) { return *DeviceOf(path).flush; }

LogDevice& PosixEnvironment::log_device(const std::string& path) {
  Device& device = DeviceOf(path);
  const MutexLock lock(mutex_);
  // One loop serves the log, too: to wake another thread costs as much as the write. Several must
  // not wait for one's long turn.
  if (device.log == nullptr)
    device.log =
        NewPosixLogDevice(path, options_.log_device, loops_.size() == 1 ? &loops_ : nullptr);
  return *device.log;
}

// A path's device is asked for once, and never under the lock: that may wait for the disk. A loop
// thread must not wait: for a path nobody asked for yet it takes the nearest known directory above.
PosixEnvironment::Device& PosixEnvironment::DeviceOf(const std::string& path) {
  MutexLock lock(mutex_);
  auto known = device_of_path_.find(path);
  if (known == device_of_path_.end() && OnLoopThread()) known = NearestKnownAbove(path);
  if (known == device_of_path_.end()) {
    lock.Unlock();
    const absl::StatusOr<uint64_t> device = files_.DeviceOf(path);
    lock.Lock();
    // A disk that vanished between its check and now: its work fails by itself, in a pool of its
    // own.
    // Another thread may have asked for the same path meanwhile: emplace keeps the first answer.
    known = device_of_path_.emplace(path, device.ok() ? *device : UINT64_MAX).first;
  }
  std::unique_ptr<Device>& device = devices_[known->second];
  if (device == nullptr) {
    device = std::make_unique<Device>();
    device->path = path;
    device->pool = std::make_unique<PosixDiskPool>(options_.disk_threads_per_device);
    device->bulk = std::make_unique<PosixDiskPool>(options_.bulk_threads_per_device,
                                                   PosixDiskPool::Priority::kLow);
    device->flush = std::make_unique<PosixDiskPool>(options_.flush_threads_per_device);
  }
  return *device;
}

std::map<std::string, uint64_t>::iterator PosixEnvironment::NearestKnownAbove(
    const std::string& path) {
  for (std::string above = path; above.size() > 1;) {
    above = ParentDirectory(above);
    if (const auto known = device_of_path_.find(above); known != device_of_path_.end())
      return known;
  }
  return device_of_path_.end();
}

const PosixDiskPool& PosixEnvironment::pool_of(const std::string& path) {
  return *DeviceOf(path).pool;
}

const PosixDiskPool& PosixEnvironment::bulk_pool_of(const std::string& path) {
  return *DeviceOf(path).bulk;
}

const PosixDiskPool& PosixEnvironment::flush_pool_of(const std::string& path) {
  return *DeviceOf(path).flush;
}

std::vector<StuckWork> PosixEnvironment::StuckInPools(absl::Duration limit) {
  std::vector<StuckWork> stuck;
  const MutexLock lock(mutex_);
  for (const auto& [number, device] : devices_) {
    // Under the lock, which is short: the pools look at counters only.
    for (const PosixDiskPool* pool : {device->pool.get(), device->bulk.get(), device->flush.get()})
      for (StuckWork& work : pool->Stuck(limit, device->path)) stuck.push_back(std::move(work));
    if (device->log == nullptr) continue;
    for (StuckWork& work : device->log->Stuck(limit, device->path))
      stuck.push_back(std::move(work));
  }
  return stuck;
}

}  // namespace arion
