// SPDX-License-Identifier: Apache-2.0
#include "disks/flush_watch.h"

#include <utility>

#include "base/status.h"
#include "env/file_system.h"
#include "env/log_device.h"

namespace arion {
namespace {

constexpr char kFlushProbeName[] = ".arion-flush-probe";
// The smallest direct write.
constexpr size_t kProbeBytes = AlignedBuffer::kAlignment;

absl::StatusOr<std::shared_ptr<LogFile>> MakeProbeFile(LogDevice& device, const std::string& path) {
  ASSIGN_OR_RETURN(std::shared_ptr<LogFile> file, device.Open(path, /*direct=*/true));
  RETURN_IF_ERROR(device.FillWithZeros(*file, 0, kProbeBytes));
  return file;
}

}  // namespace

FlushWatch::FlushWatch(LogDevice& device, DiskPool& pool, StrandPtr strand,
                       const std::string& directory)
    : device_(device),
      pool_(pool),
      strand_(std::move(strand)),
      path_(JoinPath(directory, kFlushProbeName)),
      // A device that was in use before has totals already; only the difference counts.
      flushes_before_(device.stats().sync_nanos.Read()),
      writes_before_(device.stats().append_nanos.Read()) {}

void FlushWatch::OnSecond() {
  CHECK_ON_STRAND(strand_);
  const LogDeviceStats& stats = device_.stats();
  Histogram::Snapshot all_flushes = stats.sync_nanos.Read();
  Histogram::Snapshot all_writes = stats.append_nanos.Read();
  queued_ = stats.queued.value();

  const uint64_t probes = std::exchange(probes_, 0);
  // Probes are counted by the device too.
  const bool logs_were_flushed = all_flushes.count - flushes_before_.count > probes;
  const bool logs_were_only_written =
      !logs_were_flushed && all_writes.count - writes_before_.count > probes;
  answers_ = all_flushes.Since(flushes_before_);
  log_wait_nanos_ = logs_were_flushed ? static_cast<int64_t>(answers_.Quantile(0.99)) : 0;
  if (logs_were_only_written) {
    Histogram::Snapshot writes = all_writes.Since(writes_before_);
    log_wait_nanos_ = static_cast<int64_t>(writes.Quantile(0.99));
    // The page cache goes on answering while the disk hangs; a probe does not.
    if (!is_probing_) answers_ = std::move(writes);
  }
  flushes_before_ = std::move(all_flushes);
  writes_before_ = std::move(all_writes);

  if (file_ == nullptr) return MakeFile();
  if (!logs_were_flushed && !is_probing_) Probe();
}

void FlushWatch::MakeFile() {
  if (std::exchange(is_making_file_, true)) return;
  pool_.Submit([self = shared_from_this()] {
    self->strand_->Post([self, file = MakeProbeFile(self->device_, self->path_)] {
      self->is_making_file_ = false;
      // No space, maybe. OnSecond asks again a second later.
      if (file.ok()) self->file_ = *file;  // else, with no space maybe, in a second
    });
  });
}

void FlushWatch::Probe() {
  is_probing_ = true;
  // `done` runs on the strand, so it can't overlap with OnSecond.
  AlignedBuffer zeros;
  zeros.Resize(kProbeBytes);
  device_.Write({.file = file_,
                 .buffer = std::move(zeros),
                 .coverage = Coverage::kPrewritten,
                 .durability = Durability::kFsync,
                 .reply_on = strand_,
                 .done = [self = weak_from_this()](const absl::Status& status, AlignedBuffer) {
                   const auto watch = self.lock();
                   if (watch == nullptr) return;
                   watch->is_probing_ = false;
                   ++watch->probes_;
                   if (!status.ok()) watch->file_ = nullptr;
                 }});
}

}  // namespace arion
