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
  Decree last_durable, last_applied, last_committed, last_logged, last_prepared;
  std::string directory;
  bool loading = false;
  int64_t log_files = 0;
  uint64_t log_bytes = 0;
  int64_t valid_start_in_shared_log = 0;
  ManualCompactStatus compaction = ManualCompactStatus::kIdle;
  // Of its engine, if it has one.
  std::optional<ValueSchema> data_version;
};

}  // namespace arion
