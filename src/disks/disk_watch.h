// DiskWatch: looks after each data directory's disk once a second, keeps its DiskHealth and its
// reserve file, and tells replicas whether they may take new writes.
//
//   if (!watch->HasSpace(disk)) return ErrorCode::kDiskInsufficient;  // at each write: one load
//   ...
//   watch->OnNoSpace(disk, status);                                   // when a write failed
//
// Shapes    A disk is named by its position in the list given. Health goes by data directory (tag),
//           the flush times by device (decision 23): several directories may share one FlushWatch.
// Threads   Thread-safe, but for Start (before all else) and Stop (on the server's strand).
//           HasSpace is one load.
// Lifetime  Held by shared_ptr; the Environment outlives it.
// Promises  disk_watch/H1  After the first report of "no space" HasSpace is false, and the reserve
//               is given up as soon as the disk's pool comes to it. A want of open files or memory
//               is not held against the disk: only a log that waits for them closes it to new
//               writes, and the snapshot names what is wanted.
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
#include "env/environment.h"

namespace arion {

struct DataDirectory;
struct DiskReport;
struct DiskSnapshot;
class FlushWatch;

// Life cycle: construct, OnChanged, Start, then the rest; Stop ends the periodic looks.
class DiskWatch : public std::enable_shared_from_this<DiskWatch> {
 public:
  // How often disks are looked at.
  static constexpr absl::Duration kPeriod = absl::Seconds(1);

  DiskWatch(Environment& env, StrandPtr strand, const DiskHealthOptions& options,
            const std::vector<DataDirectory>& disks);
  // Before Start. `changed` runs on the strand when a disk has become slow or stopped taking
  // writes, and when that is over.
  void OnChanged(std::function<void()> changed) { on_changed_ = std::move(changed); }
  ~DiskWatch();

  // Looks at the disks for the first time; waits for them. By position: false means that the
  // directory is not used; it counts as IO_ERROR and is not looked at. The readable ones exist.
  void Start(const std::vector<bool>& is_readable);
  // No look begins after this, and on_changed is not called again.
  void Stop();

  // Whether new writes may be taken. Cheap enough for each write.
  bool HasSpace(size_t disk) const;
  DiskStatus StateOf(size_t disk) const;
  // The state as other members of a partition are told: unlike in StateOf, IO_ERROR does not hide a
  // lack of space.
  DiskStatus StateForPeers(size_t disk) const;
  // FlushWatch::LogWait of the disk's device; 0 where the directory can't be read.
  absl::Duration FlushWait(size_t disk) const;
  // All disks, by position. Counts of replicas' directories are left at 0.
  std::vector<DiskSnapshot> Snapshot() const;
  // Tags of the directories whose device is slow now.
  std::vector<std::string> SlowTags() const;
  // What config syncs report to the meta server: the directories that can be read.
  std::vector<DiskReport> Reports() const;

  // A write was refused. `why` is a refusal (IsRefusal); only a want of space changes the state.
  void OnNoSpace(size_t disk, const absl::Status& why);
  // A read or write failed. The disk stays IO_ERROR until the server restarts. `why` is logged
  // once.
  void OnIoError(size_t disk, const std::string& why);
  // A log's write waits because of `why`. The wait lasts as long as the returned object lives.
  std::shared_ptr<void> LogWaits(size_t disk, const absl::Status& why);

 private:
  struct Disk;
  struct Sight;
  class LogWait;

  // The watch of the directory's device; made where there is none yet.
  FlushWatch* FlushesOf(const std::string& directory);
  void Tick();
  // One job at a time in the disk's pool: what space there is, and the reserve made, kept or given
  // up.
  void LookAt(size_t disk);
  void OnSeen(size_t disk, const Sight& sight);
  void JudgeFlushes(size_t disk);
  void GiveUpReserve(size_t disk);
  // Publishes the state, logs a change, and reports it to on_changed_.
  void SayStateOf(Disk& disk);
  void OnLogGoesOn(size_t disk);

  Environment& env_;
  const StrandPtr strand_;
  const DiskHealthOptions options_;
  std::vector<std::unique_ptr<Disk>> disks_;
  // One for each device; made by Start.
  std::vector<std::shared_ptr<FlushWatch>> flushes_;
  std::function<void()> on_changed_;
  TimerId timer_ = kNoTimer;
  bool is_stopped_ = false;
};

}  // namespace arion
