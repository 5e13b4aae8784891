// SimLogDevice: the LogDevice of one life of a node. A write takes its time, then a flush takes its
// own; what was submitted before a flush began but completed after it waits for the next one.
// Flushes are shared by all files in place; a growing file gets a sync of its own. A crash may keep
// a write in flight, lose it, or tear it.
//
// Promises sim_log_device/Z1  As LogDevice. A Coverage that claims more than the file's synced size
//              is taken at its word and simply not durable, as on a real disk.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <list>
#include <memory>
#include <string>
#include <vector>

#include "base/instant.h"
#include "env/log_device.h"
#include "sim/sim_disk.h"

namespace arion::sim {

class SimNode;
struct SimLife;

// Made by the SimEnvironment of the life when a log is first asked for. Delays are drawn from the
// world's dice and grow with SimDisk::slowness.
class SimLogDevice : public LogDevice {
 public:
  SimLogDevice(SimNode& node, std::shared_ptr<const SimLife> life);
  ~SimLogDevice() override;

  void Write(WriteRequest request) override;
  absl::StatusOr<std::shared_ptr<LogFile>> Open(const std::string& path, bool direct) override;
  absl::Status FillWithZeros(LogFile& file, uint64_t from, uint64_t to) override;
  absl::Status TruncateAndSync(LogFile& file, uint64_t size) override;
  absl::Status Sync(LogFile& file) override;
  std::string method() const override { return "simulated"; }
  const LogDeviceStats& stats() const override { return stats_; }

  // The life ends: what was being written reaches the disk's unsynced changes.
  void Spill();
  int64_t flushes() const { return flushes_; }

 private:
  class File;
  struct Pending {
    WriteRequest request;
    Instant begun{0};
    // When the own sync of a growing file began.
    Instant sync_begun{0};
  };
  using PendingPtr = std::shared_ptr<Pending>;

  // What kind of call a write is.
  static DiskCall CallOf(const File& file, uint64_t offset, size_t n);
  // What a disk in trouble says to it; after anything but a lack of space the file has failed.
  absl::Status MayWrite(File& file, DiskCall call) const;
  void Written(const PendingPtr& pending);
  void StartFlush();
  void Flushed();
  void SyncOwn(const PendingPtr& pending);
  void Answer(const PendingPtr& pending, absl::Status status);
  uint64_t NanosSince(Instant begun) const;
  void CountSync(Instant begun, size_t writes, const absl::Status& status);
  // In the .cc only.
  template <class Work>
  void After(absl::Duration delay, Work work);
  absl::Duration Delay(int64_t micros_min, int64_t micros_max);

  SimNode& node_;
  std::shared_ptr<const SimLife> life_;
  LogDeviceStats stats_;
  // Submitted, and not written yet.
  std::list<PendingPtr> in_flight_;
  // Written; the next flush covers them.
  std::vector<PendingPtr> to_flush_;
  std::vector<PendingPtr> flushing_;
  // Changes below this number are covered by the running flush.
  uint64_t flush_before_ = 0;
  Instant flush_begun_{0};
  int64_t flushes_ = 0;
  // As many zeros as a file was ever filled with at once.
  std::string zeros_;
};

}  // namespace arion::sim
