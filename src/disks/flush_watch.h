// FlushWatch: how long a device takes to make a log's block durable, second by second. Where no log
// is flushed (logs lie elsewhere, or nobody writes) a probe tells, so that a disk which is only
// read is judged too.
//
// Shapes    <directory>/.arion-flush-probe is one block of zeros. After a second in which no log
//           was flushed it is written over, durably. That takes no space, and no thread of the
//           disk's pool, all of which may hang. A probe that fails says nothing about the speed;
//           its file is made anew. Whoever needs the disk meets the error by himself.
// Threads   Strand-bound, except LogWait: any thread.
// Lifetime  Held by shared_ptr. The device and the pool outlive it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/status/statusor.h>
#include <absl/time/time.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "base/histogram.h"
#include "env/environment.h"

namespace arion {

class LogDevice;
class LogFile;

// One device. DiskWatch makes it and calls OnSecond; DiskHealth judges what it saw.
class FlushWatch : public std::enable_shared_from_this<FlushWatch> {
 public:
  // `directory` exists and lies on `device`; `pool` is the device's.
  FlushWatch(LogDevice& device, DiskPool& pool, StrandPtr strand, const std::string& directory);

  const LogDevice& device() const { return device_; }
  // To be called once a second. Takes the second's figures, and starts a probe where no log was
  // flushed.
  void OnSecond();

  // How long the second's flushes took, in nanoseconds, a probe's included. Where logs are written
  // but not flushed (durability os), their writes, unless a probe is late.
  const Histogram::Snapshot& answers() const { return answers_; }
  // How many writes waited for their answers at the end of the second.
  int64_t queued() const { return queued_; }
  // p99 of what logs waited for a flush in the last second, or for a write where none is flushed.
  // 0: they did neither.
  absl::Duration LogWait() const { return absl::Nanoseconds(log_wait_nanos_.load()); }

 private:
  // The probe's file, made in the pool.
  void MakeFile();
  void Probe();

  LogDevice& device_;
  DiskPool& pool_;
  const StrandPtr strand_;
  const std::string path_;
  // Null: not made yet, or its last probe failed.
  std::shared_ptr<LogFile> file_;
  bool is_making_file_ = false;
  bool is_probing_ = false;
  // Answered in this second.
  uint64_t probes_ = 0;
  // The device's totals at the end of the second before.
  Histogram::Snapshot flushes_before_, writes_before_;
  Histogram::Snapshot answers_;
  int64_t queued_ = 0;
  std::atomic<int64_t> log_wait_nanos_{0};
};

}  // namespace arion
