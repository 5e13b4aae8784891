// `arion_log prepare-rollback`: makes of a stopped server's data what an older version opens
// (decision 10).
//
// Shapes    Each private log: torn and zero tails cut (kept as <file>.tail), spares removed, then
//           .arion-log. For 2.3: besides, the shared log's files are renamed <file>.set-aside and
//           init_offset_in_shared_log becomes 0 in every .init-info. Nothing is deleted but spares,
//           zeros and .arion-log.
// Errors    FailedPrecondition: the shared log has what a private log lacks: our server must have
//           been started once; or for 2.3, a replica has void records in a shared log that was not
//           found: with the offset 0 an older version would replay them. DataLoss: a log is
//           damaged.
// Threads   Waits for the disk.
// Promises  May end anywhere: begun again it does what is left, and nothing where nothing is left.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/status/statusor.h>

#include <string>
#include <vector>

#include "env/file_system.h"
#include "tools/log/server_data.h"

namespace arion::logtool {

// k24: 2.4 and 2.5; k23: 2.3 and older.
enum class RollbackTarget { k24, k23 };
// What the operator asks for.
struct RollbackOrder {
  RollbackTarget target = RollbackTarget::k24;
  // kIsGone: there is none, by the operator's word. Without it an emptied folder must be seen.
  enum class SharedLog { kMustBeFound, kIsGone } shared_log = SharedLog::kMustBeFound;
};

// Appends what it does to *report, a line each ("2.1: cut ..."), in order. With a DryRunFiles: what
// it would do.
absl::Status PrepareRollback(FileSystem& files, const ServerData& data, const RollbackOrder& order,
                             std::vector<std::string>* report);

}  // namespace arion::logtool
