// What a table's split may need on the servers' disks. It copies nothing: a partition and its child
// share the files by hard links. Each side drops the other's half when it compacts them, and until
// both have, the shared ones and the new ones lie there: up to as much again as the table takes.
//
// Errors    As Cluster.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/status/statusor.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/ids.h"
#include "messages/tool_messages.h"
#include "tools/pages/metric_entities.h"
#include "tools/shell/cluster.h"

namespace arion::shell {

// One disk with replicas of the table.
struct DiskRoom {
  Endpoint server;
  std::string disk;
  // What the table's replicas take there, and what is available.
  int64_t table_mb = 0, available_mb = 0;
  bool lacks() const { return available_mb < table_mb; }
};
// The disks of one server, by what it says of them, and the sizes of its replicas among its
// metrics.
std::vector<DiskRoom> RoomOn(Endpoint server, const QueryDiskInfoResponse& disks,
                             const MetricReading& sizes, int32_t app_id);

struct SplitRoom {
  std::vector<DiskRoom> disks;
  // Living servers that could not be asked.
  std::vector<std::string> silent;
};
// Asks each living server.
absl::StatusOr<SplitRoom> RoomFor(Cluster& cluster, const AppInfo& table);

}  // namespace arion::shell
