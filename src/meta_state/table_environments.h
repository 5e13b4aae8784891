// Changing a table's environments (meta/STATE.md 9.3): the judgement over a request. Pure.
//
// Promises  A request is carried out whole or not at all.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "messages/admin_messages.h"

namespace arion {

struct Table;

// What becomes of a request.
struct EnvironmentJudgement {
  UpdateAppEnvResponse response;
  // To be stored; nullopt: nothing changes.
  std::optional<AppInfo> next;
};
// `table` may be nullptr: there is no such table.
EnvironmentJudgement JudgeEnvironments(const Table* table, const UpdateAppEnvRequest& request);
// A compaction on request becomes environments manual_compact.once.*, which replicas act on.
// `now_seconds`: since 1970.
EnvironmentJudgement JudgeStartCompaction(const Table* table,
                                          const StartManualCompactRequest& request,
                                          int64_t now_seconds);

}  // namespace arion
