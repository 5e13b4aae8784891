// DiskWatch: looks after each data directory's disk once a second, keeps its DiskHealth and its
// reserve file, and tells replicas whether they may take new writes.
//
// Shapes    A disk is named by its position in the list given. Health goes by data directory (tag),
//           the flush times by device (decision 23): several directories may share one FlushWatch.
// Threads   Thread-safe, but for Start (before all else) and Stop (on the server's strand).
//           HasSpace is one load.
// Lifetime  Held by shared_ptr; the Environment outlives it.
// Promises  disk_watch/H1  After the first report of "no space" HasSpace is false, and the reserve
//               is given up as soon as the disk's pool comes to it. Who lacks open files or memory
//               speaks against no disk: only a log that waits for them closes it to new writes, and
//               says for what.
//           disk_watch/H2  Within 3 s after space returned, and the logs that waited went on,
//               HasSpace is true again.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/status/status.h>

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "disks/disk_health.h"
#include "disks/disk_layout.h"
#include "disks/disk_snapshot.h"
#include "disks/flush_watch.h"
#include "env/disk_reserve.h"
#include "env/environment.h"

namespace arion {

class DiskWatch : public std::enable_shared_from_this<DiskWatch> {
 public:
  static constexpr absl::Duration kPeriod = absl::Seconds(1);

  DiskWatch(Environment& env, StrandPtr strand, const DiskHealthOptions& options,
            const std::vector<DataDirectory>& disks);
  // Before Start: runs on the strand when a disk has become slow or takes no writes, or that is over.
  void OnChanged(std::function<void()> changed) { on_changed_ = std::move(changed); }
  ~DiskWatch();

  // Where is_readable, the directory exists; the others are IO_ERROR and not looked at. Waits for
  // the disks.
  void Start(const std::vector<bool>& is_readable);
  void Stop();

  bool HasSpace(size_t disk) const;
  DiskStatus StateOf(size_t disk) const;
  // What the disk's members are told: IO_ERROR hides no lack of space.
  DiskStatus StateForPeers(size_t disk) const;
  // FlushWatch::LogWait of the disk's device.
  absl::Duration FlushWait(size_t disk) const;
  std::vector<DiskSnapshot> Snapshot() const;
  std::vector<std::string> SlowTags() const;
  // For the meta server: those that can be read.
  std::vector<DiskReport> Reports() const;

  // ---- what replicas met ----
  // `why`: a refusal (IsRefusal).
  void OnNoSpace(size_t disk, const absl::Status& why);
  void OnIoError(size_t disk, const std::string& why);
  // A log's write waits, because of that, while what is returned lives.
  std::shared_ptr<void> LogWaits(size_t disk, const absl::Status& why);

 private:
  struct Disk;
  struct Sight;
  class LogWait;

  FlushWatch* FlushesOf(const std::string& directory);
  void Tick();
  void LookAt(size_t disk);
  void OnSeen(size_t disk, const Sight& sight);
  void JudgeFlushes(size_t disk);
  void GiveUpReserve(size_t disk);
  void SayStateOf(Disk& disk);
  void OnLogGoesOn(size_t disk);

  Environment& env_;
  const StrandPtr strand_;
  const DiskHealthOptions options_;
  std::vector<std::unique_ptr<Disk>> disks_;
  std::vector<std::shared_ptr<FlushWatch>> flushes_;  // one a device; made by Start
  std::function<void()> on_changed_;
  TimerId timer_ = kNoTimer;
  bool is_stopped_ = false;
};

}  // namespace arion
