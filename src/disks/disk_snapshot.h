// DiskSnapshot: what the disk of one data directory, or of the log home, looks like from outside.
// For displays, reports and tests.
//
// Shapes    Several directories may share a device; then sync_p99, is_slow and log_method are the
//           device's. Counts are since the server's start, bytes and times as their types say.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/time/time.h>

#include <cstdint>
#include <string>

#include "env/file_system.h"
#include "messages/replication_messages.h"

namespace arion {

// DiskWatch::Snapshot fills the part about health and space; the server adds the counts of
// replicas' directories and of copies.
struct DiskSnapshot {
  // The directory's tag; the log home has one of its own.
  std::string tag;
  std::string path;
  DiskStatus state = DiskStatus::kNormal;
  // While the state is kSpaceInsufficient: what the disk lacks.
  Want lacks = Want::kSpace;
  bool is_slow = false;
  // While is_slow.
  absl::Duration slow_for;
  // Of the log's flushes in the last whole second, or of its writes where none is flushed. 0: none.
  absl::Duration sync_p99;
  // 0: not asked yet.
  uint64_t total_bytes = 0, available_bytes = 0;
  // Below this new writes are refused.
  uint64_t available_bytes_min = 0;
  // Of the reserve file.
  uint64_t reserve_bytes = 0;
  int64_t io_errors = 0;
  // Logs whose writes wait for what the disk lacks.
  int64_t logs_waiting = 0;
  // How the device's log is written (LogDevice::method). Empty where the directory can't be read.
  std::string log_method;
  // Replicas that were set aside here after a failure: *.err.
  int64_t failed_replicas = 0;
  // Replicas that are not needed any more: *.gar.
  int64_t unneeded_replicas = 0;
  // What is left of an older version's moves between disks: *.disk.migrate.tmp and .ori.
  int64_t move_targets = 0, move_sources = 0;
  // In replicas' directories: data.*.discarded.
  int64_t discarded_data = 0;
  // Bytes of checkpoints' files sent to learners, and received as a learner.
  int64_t copy_sent_bytes = 0, copy_received_bytes = 0;
};

}  // namespace arion
