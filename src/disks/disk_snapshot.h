// DiskSnapshot: what one data directory's (or the log home's) disk looks like from outside; for displays,
// reports and tests.
//
// Shapes    Several directories may share a device; then sync_p99, is_slow and log_method are the
//           device's. Counts are since the server's start, bytes and times as their types say.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/time/time.h>

#include <cstdint>
#include <string>

#include "env/file_system.h"
#include "messages/meta_messages.h"

namespace arion {

struct DiskSnapshot {
  std::string tag;
  std::string path;
  DiskStatus state = DiskStatus::kNormal;
  Want lacks = Want::kSpace;  // while the state is kSpaceInsufficient: what that is
  bool is_slow = false;
  absl::Duration slow_for;  // while is_slow
  // Of the log's flushes in the last whole second, of its writes where none is flushed; 0: none.
  absl::Duration sync_p99;
  uint64_t total_bytes = 0, available_bytes = 0;  // 0: not asked yet
  uint64_t available_bytes_min = 0;               // below it new writes are refused
  uint64_t reserve_bytes = 0;                     // of the reserve file
  int64_t io_errors = 0;
  int64_t logs_waiting = 0;  // logs whose write waits for that
  std::string log_method;
  int64_t failed_replicas = 0;    // set aside here: *.err
  int64_t unneeded_replicas = 0;  // *.gar
  // What is left of an older version's moves between disks: *.disk.migrate.tmp and .ori.
  int64_t move_targets = 0, move_sources = 0;
  int64_t discarded_data = 0;  // in replicas' directories: data.*.discarded
  // Of checkpoints' files, for learners and as one, since the start.
  int64_t copy_sent_bytes = 0, copy_received_bytes = 0;
};

}  // namespace arion
