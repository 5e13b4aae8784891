// ClusterRecovery makes the meta server's tables and partitions again from what replica servers
// hold (meta/STATE.md 11.2), and says what is doubtful about it. Pure.
//
// Shapes    A partition gets no primary here: its replicas become `last_drops`, the best one last
//           (who holds everything before learners, then ballot, committed, prepared), under the
//           largest ballot that any of them has. The guardian then revives it by its own rules,
//           with the ballot that follows, so that no ballot is used twice. The servers are asked
//           when no earlier lease holds any more (recovery_requests.h). Ids of tables that nobody
//           holds need no place holders: one of which a server reports a replica later is not given
//           again (meta_state/replica_reports.h). What was known of the tables before
//           (RecoveryOptions::known) counts more than what replica servers have written down of
//           them, unless theirs has a later version: they keep no environments, and nothing of a
//           drop.
// Errors    kTryAgain: a server did not tell all it has, and that was not to be skipped.
//           kInconsistentState: servers contradict each other about a table, or what was known of
//           it. kIncompleteData: nobody has a partition, and that was not to be skipped. The report
//           says which.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "meta_state/cluster_state.h"

namespace arion {

// What one replica server said. RecoveryRequests fills it with the two answers of the server.
struct HeldByServer {
  Endpoint node;
  // Not empty: it did not answer, and the rest is empty.
  std::string failure;
  std::vector<AppInfo> tables;
  std::vector<ReplicaInfo> replicas;
  std::vector<std::string> unreadable_disks;
};

// What the administrator allows, and knows.
struct RecoveryOptions {
  enum class Incomplete { kRefuse, kSkip };
  // Of servers that answer nothing, or not yet all.
  Incomplete servers = Incomplete::kRefuse;
  // Of partitions that nobody has; kSkip: they are made anew, empty.
  Incomplete partitions = Incomplete::kRefuse;
  // Of all tables that were there, dropped ones included, by id; nullopt: nothing was known.
  std::optional<std::map<int32_t, AppInfo>> known;
  // The present time, seconds since 1970.
  int64_t unix_seconds = 0;
};

// What came of it. With an error `tables` is empty, and the report says all that was found.
struct RecoveredCluster {
  ErrorCode error = ErrorCode::kOk;
  // What is wrong, or doubtful, a line each.
  std::vector<std::string> report;
  // Of kOk; else empty.
  std::map<int32_t, Table> tables;
};

// Reads `held` in its order, so the same answers give the same state.
RecoveredCluster RecoverCluster(const std::vector<HeldByServer>& held,
                                const RecoveryOptions& options);

}  // namespace arion
