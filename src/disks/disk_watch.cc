// SPDX-License-Identifier: Apache-2.0
#include "disks/disk_watch.h"

#include <absl/strings/str_format.h>

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "base/mutex.h"
#include "base/status.h"
#include "disks/disk_layout.h"
#include "disks/disk_snapshot.h"
#include "disks/flush_watch.h"
#include "env/clock.h"
#include "env/disk_reserve.h"
#include "env/log_device.h"
#include "messages/meta_messages.h"

namespace arion {
namespace {

std::string MiB(uint64_t bytes) {
  return absl::StrFormat("%.1f MiB", static_cast<double>(bytes) / (1 << 20));
}

int64_t Signed(uint64_t bytes) {
  return static_cast<int64_t>(std::min<uint64_t>(bytes, INT64_MAX));
}

}  // namespace

// One look at a disk: its space, and the size of the reserve file (or why it could not be kept).
struct DiskWatch::Sight {
  absl::StatusOr<FileSystem::Space> space;
  absl::StatusOr<uint64_t> reserve;
};

// One disk of the watch. Replicas' strands read `has_space` at each write, without the lock.
struct DiskWatch::Disk {
  Disk(Environment& env, const DiskHealthOptions& options, const DataDirectory& directory)
      : directory(directory), reserve(env.files(), directory.path), health(options) {}

  const DataDirectory directory;
  DiskReserve reserve;  // in the pool, one job at a time

  std::atomic<FlushWatch*> flushes{nullptr};  // null: not readable

  // Of the strand, once started.
  bool is_readable = true;
  bool is_looking = false;
  bool gives_up_reserve = false;
  bool keeps_reserve = true;  // false: its file can't be written, it is left alone
  bool could_see = true;
  bool said_slow = false;

  std::atomic<bool> has_space{true};
  mutable Mutex mutex;
  DiskHealth health ABSL_GUARDED_BY(mutex);
  Want lacks ABSL_GUARDED_BY(mutex) = Want::kSpace;  // while it has no space: what that is
  bool said_full ABSL_GUARDED_BY(mutex) = false;
};

// The handle that LogWaits returns. A wait ends with its object, so a log that is destroyed while
// it waits is not counted for ever.
class DiskWatch::LogWait {
 public:
  LogWait(std::shared_ptr<DiskWatch> watch, size_t disk) : watch_(std::move(watch)), disk_(disk) {}
  ~LogWait() { watch_->OnLogGoesOn(disk_); }
  LogWait(const LogWait&) = delete;
  LogWait& operator=(const LogWait&) = delete;

 private:
  const std::shared_ptr<DiskWatch> watch_;
  const size_t disk_;
};

DiskWatch::DiskWatch(Environment& env, StrandPtr strand, const DiskHealthOptions& options,
                     const std::vector<DataDirectory>& disks)
    : env_(env), strand_(std::move(strand)), options_(options) {
  for (const DataDirectory& disk : disks)
    disks_.push_back(std::make_unique<Disk>(env, options, disk));
}

DiskWatch::~DiskWatch() = default;

void DiskWatch::Start(const std::vector<bool>& is_readable) {
  for (size_t i = 0; i < disks_.size(); ++i) {
    Disk& disk = *disks_[i];
    disk.is_readable = is_readable[i];
    if (is_readable[i]) {
      disk.flushes.store(FlushesOf(disk.directory.path), std::memory_order_release);
    } else {
      const MutexLock lock(disk.mutex);
      // A directory that can't be read is IO_ERROR from the start: no replica is placed on it.
      disk.health.OnIoError();
    }
  }
  strand_->Post([self = shared_from_this()] {
    for (const auto& flushes : self->flushes_) flushes->OnSecond();
    for (size_t i = 0; i < self->disks_.size(); ++i)
      if (self->disks_[i]->is_readable) self->LookAt(i);
    self->Tick();
  });
}

FlushWatch* DiskWatch::FlushesOf(const std::string& directory) {
  // Directories on one device share its watch: the device's figures can't be told apart.
  LogDevice& device = env_.log_device(directory);
  for (const auto& flushes : flushes_)
    if (&flushes->device() == &device) return flushes.get();
  flushes_.push_back(
      std::make_shared<FlushWatch>(device, env_.disk_pool(directory), strand_, directory));
  return flushes_.back().get();
}

void DiskWatch::Stop() {
  CHECK_ON_STRAND(strand_);
  is_stopped_ = true;
  if (timer_ != kNoTimer) strand_->Cancel(timer_);
}

void DiskWatch::Tick() {
  // Weak, so that a timer that is armed does not keep the watch alive.
  timer_ = strand_->PostAfter(kPeriod, [self = weak_from_this()] {
    const auto watch = self.lock();
    if (watch == nullptr || watch->is_stopped_) return;
    for (const auto& flushes : watch->flushes_) flushes->OnSecond();
    for (size_t i = 0; i < watch->disks_.size(); ++i) {
      if (!watch->disks_[i]->is_readable) continue;
      watch->JudgeFlushes(i);
      watch->LookAt(i);
    }
    watch->Tick();
  });
}

// A look is skipped while one is under way, so a disk that hangs occupies one thread of its pool
// only.
void DiskWatch::LookAt(size_t index) {
  Disk& disk = *disks_[index];
  if (disk.is_looking || is_stopped_) return;
  disk.is_looking = true;
  // Taken before the job starts: a wish that arrives while it runs causes another look at its end.
  const bool gives_up = std::exchange(disk.gives_up_reserve, false);
  uint64_t growth = 0;
  if (!gives_up && disk.keeps_reserve) {
    const MutexLock lock(disk.mutex);
    growth = disk.health.ReserveGrowth();
  }
  env_.disk_pool(disk.directory.path).Submit([self = shared_from_this(), index, gives_up, growth] {
    DiskReserve& reserve = self->disks_[index]->reserve;
    absl::StatusOr<uint64_t> size = gives_up ? reserve.GiveUp() : reserve.GrowBy(growth);
    Sight sight{.space = self->env_.files().SpaceOf(self->disks_[index]->directory.path),
                .reserve = std::move(size)};
    self->strand_->Post([self, index, sight = std::move(sight)] { self->OnSeen(index, sight); });
  });
}

void DiskWatch::OnSeen(size_t index, const Sight& sight) {
  Disk& disk = *disks_[index];
  disk.is_looking = false;
  // A want of space, descriptors or memory passes. Any other error of the reserve file is lasting,
  // and the disk does without a reserve from then on.
  const bool may_pass = absl::IsResourceExhausted(sight.reserve.status());
  const bool is_overtaken = may_pass && WantOf(sight.reserve.status()) == Want::kSpace;
  if (!sight.reserve.ok() && !may_pass && std::exchange(disk.keeps_reserve, false))
    LOG(WARNING) << "disk " << disk.directory.tag
                 << ": no reserve is kept: " << sight.reserve.status();
  if (sight.space.ok() != std::exchange(disk.could_see, sight.space.ok()))
    LOG(WARNING) << "disk " << disk.directory.tag << ": how much space it has is "
                 << (sight.space.ok() ? "known again" : "not known: ") << sight.space.status();
  {
    const MutexLock lock(disk.mutex);
    disk.health.OnReserve(sight.reserve.ok() ? *sight.reserve : 0);
    const bool had_space = disk.health.has_space();
    if (sight.space.ok()) disk.health.OnSpace(*sight.space);
    if (is_overtaken) disk.health.OnNoSpace();  // the disk filled up while the reserve grew
    // What is wanted while it is full stays as it was said first.
    if (had_space) disk.lacks = Want::kSpace;
  }
  SayStateOf(disk);
  if (is_overtaken) disk.gives_up_reserve = true;
  // A wish to give the reserve up came in the meantime, and space may be needed at once.
  if (disk.gives_up_reserve) LookAt(index);
}

void DiskWatch::SayStateOf(Disk& disk) {
  // Publishing and comparing under one lock: two callers can't report in the wrong order.
  const MutexLock lock(disk.mutex);
  const bool is_full = !disk.health.has_space();
  disk.has_space.store(!is_full, std::memory_order_release);
  // Only changes are reported.
  if (is_full == disk.said_full) return;
  disk.said_full = is_full;
  strand_->Post([self = weak_from_this()] {
    const auto watch = self.lock();
    if (watch != nullptr && !watch->is_stopped_ && watch->on_changed_) watch->on_changed_();
  });
  if (is_full && disk.lacks != Want::kSpace)
    LOG(WARNING) << "logs on disk " << disk.directory.tag << " wait for " << NameOf(disk.lacks)
                 << "; new writes are refused, reads go on";
  else if (is_full)
    LOG(WARNING) << "disk " << disk.directory.tag << " (" << disk.directory.path
                 << ") lacks space: " << MiB(disk.health.space().available_bytes)
                 << " available, the bound is " << MiB(disk.health.available_bytes_min())
                 << "; new writes are refused, reads go on";
  else
    LOG(INFO) << "disk " << disk.directory.tag
              << " has space again: " << MiB(disk.health.space().available_bytes)
              << " available; writes are taken";
}

void DiskWatch::JudgeFlushes(size_t index) {
  Disk& disk = *disks_[index];
  const FlushWatch& flushes = *disk.flushes.load();
  MutexLock lock(disk.mutex);
  disk.health.OnSecond(env_.clock().Now(), flushes.answers(), flushes.queued());
  if (disk.health.is_slow() == disk.said_slow) return;
  disk.said_slow = disk.health.is_slow();
  if (disk.said_slow)
    LOG(WARNING) << "disk " << disk.directory.tag << " (" << disk.directory.path
                 << ") is slow: p99 of a flush " << absl::Nanoseconds(disk.health.sync_p99_nanos())
                 << ", since " << env_.clock().Now() - disk.health.slow_since();
  else
    LOG(INFO) << "disk " << disk.directory.tag << " is as fast as usual again: p99 of a flush "
              << absl::Nanoseconds(disk.health.sync_p99_nanos());
  // The callback may ask this watch.
  lock.Unlock();
  if (on_changed_) on_changed_();
}

std::vector<std::string> DiskWatch::SlowTags() const {
  std::vector<std::string> tags;
  for (const auto& disk : disks_) {
    const MutexLock lock(disk->mutex);
    if (disk->health.is_slow()) tags.push_back(disk->directory.tag);
  }
  return tags;
}

std::vector<DiskReport> DiskWatch::Reports() const {
  std::vector<DiskReport> reports;
  for (const auto& disk : disks_) {
    // No watch means that the directory can't be read: nothing is known of its space.
    if (disk->flushes.load(std::memory_order_acquire) == nullptr) continue;
    const MutexLock lock(disk->mutex);
    DiskReport& report = reports.emplace_back(
        DiskReport{.tag = disk->directory.tag,
                   .total_bytes = Signed(disk->health.space().total_bytes),
                   .available_bytes = Signed(disk->health.space().available_bytes),
                   .available_bytes_min = Signed(disk->health.available_bytes_min()),
                   .takes_no_writes = !disk->health.has_space()});
    if (report.takes_no_writes) report.lacks = static_cast<int32_t>(disk->lacks);
  }
  return reports;
}

bool DiskWatch::HasSpace(size_t disk) const {
  return disks_[disk]->has_space.load(std::memory_order_acquire);
}

DiskStatus DiskWatch::StateOf(size_t disk) const {
  const MutexLock lock(disks_[disk]->mutex);
  return disks_[disk]->health.state();
}

DiskStatus DiskWatch::StateForPeers(size_t disk) const {
  // A peer has to know that writes would be refused; that the disk failed is of less use to it.
  return HasSpace(disk) ? StateOf(disk) : DiskStatus::kSpaceInsufficient;
}

absl::Duration DiskWatch::FlushWait(size_t disk) const {
  const FlushWatch* flushes = disks_[disk]->flushes.load(std::memory_order_acquire);
  return flushes == nullptr ? absl::ZeroDuration() : flushes->LogWait();
}

std::vector<DiskSnapshot> DiskWatch::Snapshot() const {
  std::vector<DiskSnapshot> all;
  const Instant now = env_.clock().Now();
  for (const auto& disk : disks_) {
    const MutexLock lock(disk->mutex);
    all.push_back({.tag = disk->directory.tag,
                   .path = disk->directory.path,
                   .state = disk->health.state(),
                   .lacks = disk->lacks,
                   .is_slow = disk->health.is_slow(),
                   .slow_for = disk->health.is_slow() ? now - disk->health.slow_since()
                                                      : absl::ZeroDuration(),
                   .sync_p99 = absl::Nanoseconds(disk->health.sync_p99_nanos()),
                   .total_bytes = disk->health.space().total_bytes,
                   .available_bytes = disk->health.space().available_bytes,
                   .available_bytes_min = disk->health.available_bytes_min(),
                   .reserve_bytes = disk->health.reserve_bytes(),
                   .io_errors = disk->health.io_errors(),
                   .logs_waiting = disk->health.logs_waiting()});
    const FlushWatch* flushes = disk->flushes.load(std::memory_order_acquire);
    if (flushes != nullptr) all.back().log_method = flushes->device().method();
  }
  return all;
}

// ---- what replicas met ----

void DiskWatch::OnNoSpace(size_t index, const absl::Status& why) {
  // disk_watch/H1
  if (WantOf(why) != Want::kSpace) return;
  Disk& disk = *disks_[index];
  {
    const MutexLock lock(disk.mutex);
    disk.health.OnNoSpace();
    disk.lacks = Want::kSpace;
  }
  SayStateOf(disk);
  GiveUpReserve(index);
}

void DiskWatch::GiveUpReserve(size_t index) {
  // On the strand, which owns `gives_up_reserve`; callers are on their replicas' strands.
  strand_->Post([self = weak_from_this(), index] {
    const auto watch = self.lock();
    if (watch == nullptr) return;
    watch->disks_[index]->gives_up_reserve = true;
    watch->LookAt(index);
  });
}

void DiskWatch::OnIoError(size_t index, const std::string& why) {
  Disk& disk = *disks_[index];
  // A failed disk stays open for its healthy replicas: each meets the failure by itself.
  const MutexLock lock(disk.mutex);
  const bool is_first = disk.health.io_errors() == 0;
  disk.health.OnIoError();
  LOG_IF(ERROR, is_first) << "disk " << disk.directory.tag << " (" << disk.directory.path
                          << ") failed: " << why
                          << "; the replicas it concerned are fenced, unless they can do without "
                             "what was lost; new ones go elsewhere while this server runs";
}

std::shared_ptr<void> DiskWatch::LogWaits(size_t index, const absl::Status& why) {
  Disk& disk = *disks_[index];
  const Want want = WantOf(why);
  {
    const MutexLock lock(disk.mutex);
    // The first reason stands, unless space is lacking, too: that is what the operator can mend.
    if (disk.health.has_space() || want == Want::kSpace) disk.lacks = want;
    disk.health.OnLogWaits();
  }
  SayStateOf(disk);
  // Giving space back does not bring descriptors or memory.
  if (want == Want::kSpace) GiveUpReserve(index);
  return std::make_shared<LogWait>(shared_from_this(), index);
}

void DiskWatch::OnLogGoesOn(size_t index) {
  // has_space stays false until looks show free space again (DiskHealth::OnSpace).
  const MutexLock lock(disks_[index]->mutex);
  disks_[index]->health.OnLogGoesOn();
}

}  // namespace arion
