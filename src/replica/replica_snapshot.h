// ReplicaSnapshot: what one replica looks like from outside; for displays, tests and the
// simulator's checkers.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/ids.h"
#include "base/value_schema.h"
#include "messages/configuration.h"
#include "messages/meta_messages.h"
#include "messages/replication_messages.h"

namespace arion {

// Taken on the replica's strand, so its fields are of one moment.
struct ReplicaSnapshot {
  PartitionId pid;
  PartitionStatus status = PartitionStatus::kInvalid;
  Ballot ballot;
  // The watermarks, in ascending order (invariants/R1).
  Decree last_durable, last_applied, last_committed, last_logged, last_prepared;
  std::string directory;
  // It is being opened; then only `pid` and `directory` mean something.
  bool loading = false;
  // Of its private log.
  int64_t log_files = 0;
  uint64_t log_bytes = 0;
  // From there on it has everything that was ever appended.
  Decree log_begins;
  // Below this offset an older version's shared log holds nothing of it. 0: there is no such log.
  int64_t valid_start_in_shared_log = 0;
  ManualCompactStatus compaction = ManualCompactStatus::kIdle;
  // Of its engine, if it has one.
  std::optional<ValueSchema> data_version;
};

}  // namespace arion
