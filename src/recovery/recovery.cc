// SPDX-License-Identifier: Apache-2.0
#include "recovery/recovery.h"

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "base/status.h"
#include "disks/log_place.h"
#include "recovery/recovery_text.h"
#include "wal/log_survey.h"

namespace arion {
namespace {

constexpr absl::Duration kTellPeriod = absl::Seconds(5);

// By position of the data directory: the first one that has the same pool.
// A disk is not asked for its pool where it holds nothing: it may hang.
std::vector<size_t> DevicesOf(const ServerDisks& disks,
                              const std::vector<std::vector<FoundReplica>>& found) {
  const auto& directories = disks.layout.data_directories;
  std::vector<size_t> devices(directories.size());
  std::map<const DiskPool*, size_t> first;
  for (size_t i = 0; i < directories.size(); ++i)
    devices[i] = found[i].empty()
                     ? i
                     : first.emplace(&disks.env.disk_pool(directories[i].path), i).first->second;
  return devices;
}

RecoveryLimits LimitsOf(const RecoveryOptions& options, size_t directories) {
  return {.mode = options.mode,
          .lanes_per_disk = options.threads_per_disk,
          // A share of memory for each disk, so that none has to wait for another's.
          .memory_bytes_per_disk = options.memory_bytes / std::max<size_t>(1, directories),
          .memory_bytes_kept = options.memory_bytes / 8};
}

// Replicas by their data directory, as the jobs of one disk need them.
std::vector<std::vector<FoundReplica>> ByDirectory(size_t directories,
                                                   const std::vector<FoundReplica>& found) {
  std::vector<std::vector<FoundReplica>> sorted(directories);
  for (const FoundReplica& replica : found) sorted[replica.data_directory].push_back(replica);
  return sorted;
}

// A log that can't be listed counts as empty: its opening fails and says why.
uint64_t LogBytesOf(const ServerDisks& disks, const FoundReplica& replica) {
  const LogPlace place = LogPlaceOf(disks.layout.log_home_directory, replica.path);
  const auto names = ListLogFolder(disks.env.files(), place.directory);
  uint64_t bytes = 0;
  if (names.ok())
    for (const LogFolderNames::Log& log : names->logs) bytes += log.size;
  return bytes;
}

}  // namespace

Recovery::Recovery(std::shared_ptr<const ServerDisks> disks, StrandPtr strand,
                   const RecoveryOptions& options, std::shared_ptr<RecoveryProgress> progress,
                   const std::vector<FoundReplica>& found, Open open)
    : disks_(std::move(disks)),
      strand_(std::move(strand)),
      mode_(options.mode),
      progress_(std::move(progress)),
      found_(ByDirectory(disks_->layout.data_directories.size(), found)),
      device_(DevicesOf(*disks_, found_)),
      open_(std::move(open)),
      plan_(LimitsOf(options, found_.size())),
      unmeasured_(found_.size()) {
  std::vector<std::string> tags;
  for (const DataDirectory& directory : disks_->layout.data_directories)
    tags.push_back(directory.tag);
  // Known to displays before the first disk has answered.
  progress_->Begin(std::move(tags), Now());
  for (const FoundReplica& replica : found) progress_->Expect(replica.pid, replica.data_directory);
}

void Recovery::Start() {
  CHECK_ON_STRAND(strand_);
  for (size_t disk = 0; disk < found_.size(); ++disk) {
    // Nothing to measure: the disk is not touched, and waits for nothing.
    if (found_[disk].empty())
      OnMeasured(disk, {});
    else
      Measure(disk);
  }
  if (!is_done_)
    strand_->PostAfter(kTellPeriod, [self = weak_from_this()] {
      if (const auto recovery = self.lock()) recovery->Tell();
    });
}

void Recovery::Stop() {
  CHECK_ON_STRAND(strand_);
  is_stopped_ = true;
}

void Recovery::Measure(size_t disk) {
  disks_->env.disk_pool(disks_->layout.data_directories[disk].path)
      .Submit(
          [self = weak_from_this(), disks = disks_, strand = strand_, disk, found = found_[disk]] {
            std::map<PartitionId, uint64_t> log_bytes;
            for (const FoundReplica& replica : found)
              log_bytes[replica.pid] = LogBytesOf(*disks, replica);
            strand->Post([self, disk, log_bytes = std::move(log_bytes)] {
              // The object may be gone when a slow disk answers.
              if (const auto recovery = self.lock()) recovery->OnMeasured(disk, log_bytes);
            });
          });
}

void Recovery::OnMeasured(size_t disk, const std::map<PartitionId, uint64_t>& log_bytes) {
  progress_->Listed(disk, log_bytes, Now());
  for (const auto& [pid, bytes] : log_bytes)
    // By device: two directories of one disk share its lanes.
    plan_.Add({.pid = pid, .disk = device_[disk], .log_bytes = bytes});
  --unmeasured_;
  BeginMore();
}

void Recovery::BeginMore() {
  if (is_stopped_) return;
  // One after the other: in the order of all, so all must be known.
  if (unmeasured_ > 0 && mode_ == RecoveryMode::kSequential) return;
  for (const PartitionId pid : plan_.Begin()) open_(pid);
  // Done only when all disks were measured: a disk without replicas says nothing about the others.
  if (is_done_ || unmeasured_ > 0) return;
  const RecoveryReport report = progress_->Report(Now());
  if (report.phase != RecoveryReport::Phase::kDone) return;
  is_done_ = true;
  LOG(INFO) << RecoveryLine(report);
  if (const std::string summary = RecoverySummary(report); !summary.empty()) LOG(INFO) << summary;
}

bool Recovery::MayKeepUnflushed(PartitionId pid) {
  CHECK_ON_STRAND(strand_);
  if (plan_.MayKeep(pid)) return true;
  // A replica that is flushed leaves its lane, so another may begin.
  BeginMore();
  return false;
}

void Recovery::LeftPool(PartitionId pid) {
  CHECK_ON_STRAND(strand_);
  plan_.End(pid);
  BeginMore();
}

void Recovery::Ended(PartitionId pid, RecoveryStep step) {
  CHECK_ON_STRAND(strand_);
  progress_->End(pid, step, Now());
  BeginMore();
}

void Recovery::Tell() {
  if (is_done_ || is_stopped_) return;
  LOG(INFO) << RecoveryLine(progress_->Report(Now()));
  strand_->PostAfter(kTellPeriod, [self = weak_from_this()] {
    if (const auto recovery = self.lock()) recovery->Tell();
  });
}

}  // namespace arion
