// SPDX-License-Identifier: Apache-2.0
#include "meta_overview/split_progress.h"

#include <absl/strings/str_cat.h>

#include "meta_overview/cluster_overview.h"
#include "meta_state/table_split.h"

namespace arion {
namespace {

std::string ProgressOf(const ClusterState& state, const Table& table, int32_t index) {
  const PartitionConfiguration& config = table.partitions[static_cast<size_t>(index)].config;
  if (SplitStatusOf(table, index) == SplitStatus::kPaused) return "paused";
  const Node* primary = state.FindNode(config.primary);
  if (primary == nullptr || !primary->alive) return "waits for a primary";
  const auto report = primary->replicas.find(config.pid);
  if (report != primary->replicas.end() && report->second.split_progress)
    return *report->second.split_progress;
  return absl::StrCat(config.primary.ToString(), " has not said yet");
}

std::optional<int64_t> SecondsLeft(const Table& table, Instant now) {
  const std::optional<absl::Duration> left = SplitTimeLeft(table, now);
  // Upwards: 0 would say that it is done.
  return left ? std::optional(absl::ToInt64Seconds(*left) + 1) : std::nullopt;
}

}  // namespace

std::map<int32_t, std::string> SplitProgressOf(const ClusterState& state, const Table& table) {
  std::map<int32_t, std::string> progress;
  const int32_t parents = table.split ? table.split->from : 0;
  for (int32_t index = 0; index < parents; ++index)
    if (SplitStatusOf(table, index) != SplitStatus::kNotSplit)
      progress[index] = ProgressOf(state, table, index);
  return progress;
}

QuerySplitResponse AnswerQuerySplit(const ClusterState& state, const std::string& name,
                                    Instant now) {
  const auto refuse = [&](ErrorCode error, const char* why) {
    return QuerySplitResponse{.err = error, .hint_msg = absl::StrCat("app(", name, ") ", why)};
  };
  const Table* table = state.FindTableByName(name);
  if (table == nullptr) return refuse(ErrorCode::kAppNotExist, "not existed");
  if (table->info.status != AppStatus::kAvailable) return refuse(ErrorCode::kAppDropped, "dropped");
  if (!table->split) return refuse(ErrorCode::kInvalidState, "is not splitting");
  QuerySplitResponse response{.new_partition_count = table->info.partition_count,
                              .progress = SplitProgressOf(state, *table),
                              .seconds_left = SecondsLeft(*table, now)};
  for (const auto& [index, text] : *response.progress)
    response.status[index] = static_cast<int32_t>(SplitStatusOf(*table, index));
  return response;
}

void AddSplitTimes(const ClusterState& state, Instant now, ClusterOverview* overview) {
  for (TableOverview& row : overview->tables)
    if (row.split) row.split->seconds_left = SecondsLeft(*state.FindTable(row.app_id), now);
}

}  // namespace arion
