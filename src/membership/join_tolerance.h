// What keeps a server away from a table of an older version's cluster: what others do with it that
// Arion can't do yet. Pure.
//
// Shapes    A duplicated table's writes are sent on by its primary, from its log, so its primary
//           must be able to. Its members keep their logs as far as that has come, by what the
//           primary tells them. Of a table being split, bulk loaded or restored every member has
//           work that Arion does not do; a backup is the primary's.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/ids.h"
#include "messages/meta_messages.h"

namespace arion {

// What a meta server says of its cluster.
struct ClusterListing {
  // An Arion meta server: then only its servers are known.
  bool is_arion = false;
  std::string name;
  // Dropped ones too.
  std::vector<AppInfo> tables;
  // Table ids. Filled only where it was asked for, as the next two.
  std::set<int32_t> being_split;
  std::set<int32_t> being_restored;
  // By backup policies; a single backup request does not show here.
  std::set<int32_t> being_backed_up;
  std::vector<Endpoint> servers;

  // nullptr: the listing has no such table. Lives as long as the listing is unchanged.
  const AppInfo* Find(int32_t app_id) const;
};

// What is being done with a table.
enum class Obstacle { kDuplicated, kBulkLoaded, kSplit, kRestored, kBackedUp };
// As a verb: "is duplicated".
std::string_view ObstacleText(Obstacle obstacle);

// By table id. A table with atomic_idempotent is no obstacle: Arion always logs what an operation
// came to, which is what it asks for.
std::map<int32_t, Obstacle> ObstaclesIn(const ClusterListing& listing);
// For people: `table "t" (id 2) is duplicated`.
std::vector<std::string> ObstacleLines(const ClusterListing& listing,
                                       const std::map<int32_t, Obstacle>& obstacles);

// Whether the table's partitions must be asked for to know if it is being split or restored.
bool MayBeInTheMaking(const AppInfo& table);
// What the table's partitions show.
enum class InTheMaking { kNo, kSplit, kRestored };
InTheMaking JudgeInTheMaking(const AppInfo& table, const QueryConfigResponse& partitions);

// Whether an older version's meta server may be told of the partition. It ends its process where a
// report names a partition that it does not know.
bool MayBeReported(const ClusterListing& listing, PartitionId pid);

// A new partition of a table with this environment is filled from a backup, never made empty.
inline constexpr char kEnvRestorePolicy[] = "restore.policy_name";

}  // namespace arion
