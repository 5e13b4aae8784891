// SPDX-License-Identifier: Apache-2.0
#include "bench/wal/emulated_disk.h"

#include <absl/strings/match.h>
#include <absl/strings/str_cat.h>
#include <pthread.h>
#include <sys/prctl.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <filesystem>
#include <utility>

#include "base/log.h"
#include "base/status.h"
#include "bench/wal/bench_log.h"
#include "env/flush_pacing.h"

namespace arion {
namespace {

constexpr uint64_t kFillStepBytes = 256 << 10;

std::vector<std::string> DiskDirectories(const std::string& base, int count) {
  std::vector<std::string> directories;
  for (int i = 0; i < count; ++i) directories.push_back(absl::StrCat(base, "/disk", i));
  return directories;
}

}  // namespace

class EmulatedDisk::DeviceThread : public Strand {
 public:
  void Post(Task task) override { task(); }
  TimerId PostAfter(absl::Duration, Task) override {
    LOG(FATAL) << "a device's thread has no timers";
    return kNoTimer;
  }
  void Cancel(TimerId) override {}
  bool IsCurrent() const override { return true; }
};

EmulatedDisk::EmulatedDisk(LogDevice& real, EmulatedDiskOptions options)
    : real_(real),
      options_(options),
      bytes_per_second_(options.bytes_per_second),
      device_thread_(std::make_shared<DeviceThread>()) {
  thread_ = std::thread([this] { RunFlushes(); });
}

EmulatedDisk::~EmulatedDisk() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  work_.notify_one();
  thread_.join();
}

void EmulatedDisk::Write(WriteRequest request) {
  auto written = std::make_unique<Written>();
  written->begun_nanos = BenchNanos();
  WriteRequest inner;
  inner.file = request.file;
  inner.offset = request.offset;
  inner.buffer = std::move(request.buffer);
  inner.records = request.records;
  inner.coverage = request.coverage;
  // Into the drive's cache; the flush comes from us.
  inner.durability =
      request.coverage == Coverage::kPrewritten ? Durability::kOs : request.durability;
  inner.reply_on = device_thread_;
  stats_.writes.Add();
  stats_.bytes.Add(static_cast<int64_t>(inner.buffer.size()));
  stats_.records_per_write.Record(request.records);
  stats_.queued.Add(1);
  written->request = std::move(request);
  inner.done = [this, written = std::move(written)](absl::Status status,
                                                    AlignedBuffer buffer) mutable {
    written->status = std::move(status);
    written->buffer = std::move(buffer);
    OnWritten(std::move(written));
  };
  real_.Write(std::move(inner));
}

void EmulatedDisk::OnWritten(std::unique_ptr<Written> written) {
  if (written->request.durability == Durability::kOs || !written->status.ok()) {
    stats_.queued.Add(-1);
    StrandPtr strand = written->request.reply_on;
    strand->Post([written = std::move(written)]() mutable {
      written->request.done(std::move(written->status), std::move(written->buffer));
    });
    return;
  }
  AddWritten(written->buffer.size());
  {
    std::lock_guard lock(mutex_);
    written_.push_back(std::move(written));
  }
  work_.notify_one();
}

void EmulatedDisk::AddWritten(uint64_t bytes) {
  const int64_t bytes_per_second = bytes_per_second_;
  if (bytes_per_second == 0) return;
  std::lock_guard lock(mutex_);
  cache_empty_nanos_ = std::max(cache_empty_nanos_, BenchNanos()) +
                       static_cast<int64_t>(bytes) * 1'000'000'000 / bytes_per_second;
}

void EmulatedDisk::Flush() {
  std::unique_lock lock(mutex_);
  const int64_t mine = ++flushes_wanted_;
  work_.notify_one();
  flushed_.wait(lock, [&] { return flushes_taken_ >= mine; });
}

void EmulatedDisk::SleepUntil(int64_t nanos) const {
  const timespec until{.tv_sec = nanos / 1'000'000'000, .tv_nsec = nanos % 1'000'000'000};
  while (::clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr) == EINTR) {
  }
}

void EmulatedDisk::RunFlushes() {
  pthread_setname_np(pthread_self(), "emulated_disk");
  prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0);
  std::vector<std::unique_ptr<Written>> covered;
  FlushPacing pacing;
  while (true) {
    int64_t taken;
    int64_t begun;
    int64_t cache_empty;
    {
      std::unique_lock lock(mutex_);
      work_.wait(
          lock, [&] { return stopping_ || !written_.empty() || flushes_wanted_ > flushes_taken_; });
      if (written_.empty() && flushes_wanted_ == flushes_taken_) return;
      // As the log device on io_uring does; who calls Flush does not wait.
      while (!stopping_ && flushes_wanted_ == flushes_taken_) {
        const int64_t left = pacing.BeginAt(written_.size()) - BenchNanos();
        if (left <= 0) break;
        work_.wait_for(lock, std::chrono::nanoseconds(left));
      }
      covered.swap(written_);
      taken = flushes_wanted_;
      begun = BenchNanos();
      cache_empty = cache_empty_nanos_;
    }
    SleepUntil(std::max(begun, cache_empty) + options_.flush_nanos);
    const int64_t now = BenchNanos();
    {
      std::lock_guard lock(mutex_);
      flushes_taken_ = taken;
      pacing.OnFlushed(now, now - begun, covered.size(), written_.size());
    }
    flushed_.notify_all();
    stats_.syncs.Add();
    stats_.sync_nanos.Record(static_cast<uint64_t>(now - begun));
    stats_.writes_per_sync.Record(covered.size());
    for (auto& written : covered) {
      stats_.append_nanos.Record(static_cast<uint64_t>(now - written->begun_nanos));
      stats_.queued.Add(-1);
      StrandPtr strand = written->request.reply_on;
      strand->Post([written = std::move(written)]() mutable {
        written->request.done(absl::OkStatus(), std::move(written->buffer));
      });
    }
    covered.clear();
  }
}

absl::StatusOr<std::shared_ptr<LogFile>> EmulatedDisk::Open(const std::string& path, bool direct) {
  return real_.Open(path, direct);
}

absl::Status EmulatedDisk::FillWithZeros(LogFile& file, uint64_t from, uint64_t to) {
  while (from < to) {
    const uint64_t step = bytes_per_second_ > 0 ? std::min(kFillStepBytes, to - from) : to - from;
    RETURN_IF_ERROR(real_.FillWithZeros(file, from, from + step));
    from += step;
    AddWritten(step);
    if (bytes_per_second_ == 0) continue;
    int64_t cache_empty;
    {
      std::lock_guard lock(mutex_);
      cache_empty = cache_empty_nanos_;
    }
    SleepUntil(cache_empty);
  }
  Flush();
  return absl::OkStatus();
}

absl::Status EmulatedDisk::TruncateAndSync(LogFile& file, uint64_t size) {
  RETURN_IF_ERROR(real_.TruncateAndSync(file, size));
  Flush();
  return absl::OkStatus();
}

absl::Status EmulatedDisk::Sync(LogFile& file) {
  RETURN_IF_ERROR(real_.Sync(file));
  Flush();
  return absl::OkStatus();
}

std::string EmulatedDisk::method() const {
  std::string method = absl::StrCat("emulated flush of ", options_.flush_nanos / 1000, " us");
  if (bytes_per_second_ > 0) absl::StrAppend(&method, ", ", bytes_per_second_ / 1'000'000, " MB/s");
  return method;
}

double EmulatedDisk::cpu_micros() const {
  clockid_t clock;
  timespec spent{};
  CHECK_EQ(pthread_getcpuclockid(const_cast<std::thread&>(thread_).native_handle(), &clock), 0);
  ::clock_gettime(clock, &spent);
  return static_cast<double>(spent.tv_sec) * 1e6 + static_cast<double>(spent.tv_nsec) / 1e3;
}

EmulatedEnvironment::EmulatedEnvironment(Environment& real, std::vector<std::string> directories,
                                         EmulatedDiskOptions options)
    : real_(real), directories_(std::move(directories)) {
  for (const std::string& directory : directories_) {
    std::filesystem::create_directories(directory);
    disks_.push_back(std::make_unique<EmulatedDisk>(real.log_device(directory), options));
    pools_.push_back(std::make_unique<PosixDiskPool>(4));
  }
}

EmulatedEnvironment::EmulatedEnvironment(Environment& real, const std::string& base, int count,
                                         EmulatedDiskOptions options)
    : EmulatedEnvironment(real, DiskDirectories(base, count), options) {}

size_t EmulatedEnvironment::DiskOf(const std::string& path) const {
  for (size_t i = 0; i < directories_.size(); ++i)
    if (path == directories_[i] || absl::StartsWith(path, directories_[i] + "/")) return i;
  LOG(FATAL) << path << " lies on no emulated disk";
  return 0;
}

double EmulatedEnvironment::cpu_micros() const {
  double micros = 0;
  for (const auto& disk : disks_) micros += disk->cpu_micros();
  return micros;
}

}  // namespace arion
