// SPDX-License-Identifier: Apache-2.0
#include "membership/join_tolerance.h"

#include <absl/strings/str_cat.h>

#include <algorithm>

#include "base/status.h"

namespace arion {
namespace {

constexpr Ballot kNotRegistered{-1};  // of a split's child that the meta server only plans

// A dropped table gets no new copies, so nothing on it is an obstacle.
bool IsInUse(const AppInfo& table) {
  return table.status != AppStatus::kDropped && table.status != AppStatus::kDropping;
}

}  // namespace

const AppInfo* ClusterListing::Find(int32_t app_id) const {
  const auto found = std::find_if(tables.begin(), tables.end(),
                                  [&](const AppInfo& table) { return table.app_id == app_id; });
  return found == tables.end() ? nullptr : &*found;
}

std::string_view ObstacleText(Obstacle obstacle) {
  switch (obstacle) {
    case Obstacle::kDuplicated:
      return "is duplicated";
    case Obstacle::kBulkLoaded:
      return "is being bulk loaded";
    case Obstacle::kSplit:
      return "is being split";
    case Obstacle::kRestored:
      return "is being restored";
    case Obstacle::kBackedUp:
      return "is being backed up";
  }
  return "";
}

std::map<int32_t, Obstacle> ObstaclesIn(const ClusterListing& listing) {
  std::map<int32_t, Obstacle> obstacles;
  // One obstacle a table is enough: any of them keeps its copies away.
  for (const AppInfo& table : listing.tables) {
    if (!IsInUse(table)) continue;
    const int32_t id = table.app_id;
    if (table.duplicating)
      obstacles[id] = Obstacle::kDuplicated;
    else if (table.is_bulk_loading)
      obstacles[id] = Obstacle::kBulkLoaded;
    else if (listing.being_split.contains(id))
      obstacles[id] = Obstacle::kSplit;
    else if (listing.being_restored.contains(id))
      obstacles[id] = Obstacle::kRestored;
    else if (listing.being_backed_up.contains(id))
      obstacles[id] = Obstacle::kBackedUp;
  }
  return obstacles;
}

std::vector<std::string> ObstacleLines(const ClusterListing& listing,
                                       const std::map<int32_t, Obstacle>& obstacles) {
  std::vector<std::string> lines;
  for (const auto& [app_id, obstacle] : obstacles) {
    const AppInfo* table = listing.Find(app_id);
    lines.push_back(absl::StrCat("table \"", table == nullptr ? "" : table->app_name, "\" (id ",
                                 app_id, ") ", Text(ObstacleText(obstacle))));
  }
  return lines;
}

bool MayBeInTheMaking(const AppInfo& table) {
  // A table whose number of partitions is not its first one was split at some time. Whether it
  // still is, only its partitions tell.
  const bool was_split =
      table.init_partition_count > 0 && table.init_partition_count != table.partition_count;
  return IsInUse(table) && (was_split || table.envs.contains(kEnvRestorePolicy));
}

InTheMaking JudgeInTheMaking(const AppInfo& table, const QueryConfigResponse& partitions) {
  for (const PartitionConfiguration& partition : partitions.partitions) {
    if (partition.ballot == kNotRegistered) return InTheMaking::kSplit;
    // A new partition of a restored table has no members until its data are there.
    const bool is_empty = partition.ballot == Ballot(0) && partition.MemberCount() == 0;
    if (is_empty && table.envs.contains(kEnvRestorePolicy)) return InTheMaking::kRestored;
  }
  return InTheMaking::kNo;
}

bool MayBeReported(const ClusterListing& listing, PartitionId pid) {
  // That meta server would stop its process on a partition it does not know.
  const AppInfo* table = listing.Find(pid.app_id);
  return table != nullptr && pid.index >= 0 && pid.index < table->partition_count;
}

}  // namespace arion
