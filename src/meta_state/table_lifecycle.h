// Tables created, dropped, recalled, renamed, given another replica count: the checks, in the order
// of meta/STATE.md 10, and the objects that result. Pure.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/time/time.h>

#include <optional>
#include <set>
#include <string>

#include "meta_state/cluster_state.h"

namespace arion {

struct RecallAppRequest;
struct RenameAppRequest;
struct SetMaxReplicaCountRequest;

// Settings of the meta server.
struct TableLimits {
  int32_t min_replica_count = 1;
  int32_t max_replica_count = 5;
  // How long a dropped table can be recalled, where the request does not say.
  absl::Duration hold_dropped = absl::Hours(168);
};

// What becomes of a request.
struct CreateJudgement {
  ErrorCode error = ErrorCode::kOk;
  // Of kOk: the id of the new or the existing table.
  int32_t app_id = 0;
  // To be stored and installed; nullopt with kOk: it exists already.
  std::optional<Table> table;
};
// `being_created`: names of tables that are being stored.
CreateJudgement JudgeCreate(const ClusterState& state, FunctionLevel level,
                            const TableLimits& limits, const std::set<std::string>& being_created,
                            const CreateAppRequest& request, int64_t unix_seconds);

// What becomes of a request.
struct DropJudgement {
  ErrorCode error = ErrorCode::kOk;
  // The table's description once it is dropped; nullopt with kOk: nothing to do.
  std::optional<AppInfo> dropped;
};
DropJudgement JudgeDrop(const ClusterState& state, const TableLimits& limits,
                        const std::set<std::string>& being_created, const DropAppRequest& request,
                        int64_t unix_seconds);

// What changes of a table; `hint` is for a person.
struct TableJudgement {
  ErrorCode error = ErrorCode::kOk;
  std::string hint;
  // To be stored; nullopt with kOk: nothing to do.
  std::optional<AppInfo> next;
};
// Whether nobody leads a partition of this dropped table any more: each living server has heard of
// the drop.
bool IsLetGo(const ClusterState& state, const Table& dropped);
// Whether the dropped table comes back, under its old name or another one. Its time must not be
// over, and the name must be free.
TableJudgement JudgeRecall(const ClusterState& state, const std::set<std::string>& being_created,
                           const RecallAppRequest& request, int64_t unix_seconds);
TableJudgement JudgeRename(const ClusterState& state, const std::set<std::string>& being_created,
                           const RenameAppRequest& request);
TableJudgement JudgeReplicaCount(const ClusterState& state, FunctionLevel level,
                                 const TableLimits& limits,
                                 const SetMaxReplicaCountRequest& request);

}  // namespace arion
