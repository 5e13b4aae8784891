// FlushWatch: how long a device takes to make a log's block durable, second by second. Where no log
// is flushed (they lie elsewhere, or nobody writes) a probe tells, so that a disk which is only read
// is judged, too.
//
// Shapes    <directory>/.arion-flush-probe is one block of zeros. A second in which no log was
//           flushed is followed by its being written over, durably. That takes no space, and no
//           thread of the disk's pool, all of which may hang. A probe that fails says nothing of the
//           speed, and whoever needs the disk meets the error: its file is made anew.
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

class FlushWatch : public std::enable_shared_from_this<FlushWatch> {
 public:
  // `directory` is on the device, and there; the pool is the device's.
  FlushWatch(LogDevice& device, DiskPool& pool, StrandPtr strand, const std::string& directory);

  const LogDevice& device() const { return device_; }
  // Once a second.
  void OnSecond();

  // ---- of the last second ----
  // How long its flushes took, a probe's included; its writes where none was flushed and no probe is
  // late (durability os).
  const Histogram::Snapshot& answers() const { return answers_; }
  // How many writes waited for their answers at its end.
  int64_t queued() const { return queued_; }
  // p99 of what logs waited for a flush, or a write where none is flushed; 0: there were none.
  absl::Duration LogWait() const { return absl::Nanoseconds(log_wait_nanos_.load()); }

 private:
  void MakeFile();
  void Probe();

  LogDevice& device_;
  DiskPool& pool_;
  const StrandPtr strand_;
  const std::string path_;
  std::shared_ptr<LogFile> file_;
  bool is_making_file_ = false;
  bool is_probing_ = false;
  uint64_t probes_ = 0;  // answered in this second
  Histogram::Snapshot flushes_before_, writes_before_;
  Histogram::Snapshot answers_;
  int64_t queued_ = 0;
  std::atomic<int64_t> log_wait_nanos_{0};
};

}  // namespace arion
