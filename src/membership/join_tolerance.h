// What keeps a server away from a table of an older version's cluster: what others do with it that Arion
// can't do yet. Pure.
//
// Shapes    A duplicated table's writes are sent on by its primary, from its log: who leads it must. Its
//           members keep their logs as far as that has come, by what the primary tells them. Of a
//           table being split, bulk loaded or restored every member has work that Arion does not do;
//           a backup is the primary's.
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
  bool is_arion = false;  // then only its servers are known
  std::string name;
  std::vector<AppInfo> tables;        // dropped ones too
  std::set<int32_t> being_split;      // only where it was asked for
  std::set<int32_t> being_restored;   // the same
  std::set<int32_t> being_backed_up;  // the same; by policies, not by a single request
  std::vector<Endpoint> servers;

  const AppInfo* Find(int32_t app_id) const;
};

enum class Obstacle { kDuplicated, kBulkLoaded, kSplit, kRestored, kBackedUp };
// "is duplicated"
std::string_view ObstacleText(Obstacle obstacle);

// By table. Arion can what atomic_idempotent asks for: it always logs what an operation came to.
std::map<int32_t, Obstacle> ObstaclesIn(const ClusterListing& listing);
// For people: `table "t" (id 2) is duplicated`.
std::vector<std::string> ObstacleLines(const ClusterListing& listing,
                                       const std::map<int32_t, Obstacle>& obstacles);

// Whether its answers are needed to know whether it is being split or restored.
bool MayBeInTheMaking(const AppInfo& table);
enum class InTheMaking { kNo, kSplit, kRestored };
InTheMaking JudgeInTheMaking(const AppInfo& table, const QueryConfigResponse& partitions);

// An older version's meta server ends where a report names a partition that it does not know.
bool MayBeReported(const ClusterListing& listing, PartitionId pid);

// Of a table with it a new partition is filled from a backup, never made empty.
inline constexpr char kEnvRestorePolicy[] = "restore.policy_name";

}  // namespace arion
