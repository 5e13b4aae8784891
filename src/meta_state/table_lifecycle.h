// Tables created, dropped, recalled, renamed, given another replica count: the checks, in the order of
// meta/STATE.md 10, and the objects that result. Pure.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/time/time.h>

#include <optional>
#include <set>
#include <string>

#include "meta_state/cluster_state.h"

namespace arion {

struct TableLimits {
  int32_t min_replica_count = 1;
  int32_t max_replica_count = 5;
  absl::Duration hold_dropped = absl::Hours(168);
};

struct CreateJudgement {
  ErrorCode error = ErrorCode::kOk;
  int32_t app_id = 0;          // kOk: of the new or the existing table
  std::optional<Table> table;  // to be stored and installed; nullopt with kOk: it exists already
};
// `being_created`: names whose tables are being stored.
CreateJudgement JudgeCreate(const ClusterState& state, FunctionLevel level,
                            const TableLimits& limits, const std::set<std::string>& being_created,
                            const CreateAppRequest& request, int64_t unix_seconds);

struct DropJudgement {
  ErrorCode error = ErrorCode::kOk;
  std::optional<AppInfo>
      dropped;  // the table's description once dropped; nullopt with kOk: nothing to do
};
DropJudgement JudgeDrop(const ClusterState& state, const TableLimits& limits,
                        const std::set<std::string>& being_created, const DropAppRequest& request,
                        int64_t unix_seconds);

// What changes of a table; `hint` is for a person.
struct TableJudgement {
  ErrorCode error = ErrorCode::kOk;
  std::string hint;
  std::optional<AppInfo> next;  // to be stored; nullopt with kOk: nothing to do
};
// Nobody leads a partition of this dropped table any more: each living server has heard of the drop.
bool IsLetGo(const ClusterState& state, const Table& dropped);
TableJudgement JudgeRecall(const ClusterState& state, const std::set<std::string>& being_created,
                           const RecallAppRequest& request, int64_t unix_seconds);
TableJudgement JudgeRename(const ClusterState& state, const std::set<std::string>& being_created,
                           const RenameAppRequest& request);
TableJudgement JudgeReplicaCount(const ClusterState& state, FunctionLevel level,
                                 const TableLimits& limits,
                                 const SetMaxReplicaCountRequest& request);

}  // namespace arion
