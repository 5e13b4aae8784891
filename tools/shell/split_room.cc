// SPDX-License-Identifier: Apache-2.0
#include "tools/shell/split_room.h"

#include <cmath>
#include <map>

#include "base/status.h"
#include "rpc/thrift_codec.h"

namespace arion::shell {
namespace {

constexpr char kReplicaSize[] = "rdb_total_sst_size_mb";

// As an entity of a server's metrics names a replica.
std::string ReplicaEntity(PartitionId pid) { return absl::StrCat("replica@", pid.ToString()); }

absl::StatusOr<std::vector<DiskRoom>> AskRoom(AdminClient& admin, Endpoint server,
                                              const AppInfo& table) {
  ASSIGN_OR_RETURN(const std::string body,
                   admin.AskServer(server, kRpcQueryDiskInfo,
                                   EncodeWrapped(QueryDiskInfoRequest{
                                       .node = server, .app_name = table.app_name})));
  ASSIGN_OR_RETURN(const auto disks, DecodeWrapped<QueryDiskInfoResponse>(body));
  // Nothing of that table is there.
  if (disks.err == ErrorCode::kObjectNotFound) return std::vector<DiskRoom>();
  if (disks.err != ErrorCode::kOk)
    return absl::UnavailableError(
        absl::StrCat(server.ToString(), ": ", Text(ErrorCodeName(disks.err))));
  ASSIGN_OR_RETURN(
      const MetricReading sizes,
      FetchEntities(server, absl::StrCat("types=replica&with_metric_fields=name,value&metrics=",
                                         kReplicaSize)));
  return RoomOn(server, disks, sizes, table.app_id);
}

}  // namespace

std::vector<DiskRoom> RoomOn(Endpoint server, const QueryDiskInfoResponse& disks,
                             const MetricReading& sizes, int32_t app_id) {
  std::map<std::string, double> size_of;
  for (const MetricEntity& entity : sizes.entities)
    if (const auto size = entity.values.find(kReplicaSize); size != entity.values.end())
      size_of[entity.id] = size->second;
  std::vector<DiskRoom> rooms;
  for (const DiskInfo& disk : disks.disk_infos) {
    double megabytes = 0;
    bool has_any = false;
    for (const auto* replicas :
         {&disk.holding_primary_replicas, &disk.holding_secondary_replicas}) {
      const auto of_table = replicas->find(app_id);
      if (of_table == replicas->end()) continue;
      for (const PartitionId pid : of_table->second) {
        has_any = true;
        // One that was opened since the last sample has no size yet.
        const auto size = size_of.find(ReplicaEntity(pid));
        megabytes += size == size_of.end() ? 0 : size->second;
      }
    }
    if (has_any)
      rooms.push_back({server, disk.tag, int64_t{std::llround(megabytes)}, disk.disk_available_mb});
  }
  return rooms;
}

absl::StatusOr<SplitRoom> RoomFor(Cluster& cluster, const AppInfo& table) {
  ASSIGN_OR_RETURN(const std::vector<NodeState> nodes, cluster.Nodes({}));
  ASSIGN_OR_RETURN(AdminClient * admin, cluster.Admin());
  SplitRoom room;
  for (const NodeState& node : nodes) {
    if (!node.alive) continue;
    const auto disks = AskRoom(*admin, node.address, table);
    if (disks.ok())
      room.disks.insert(room.disks.end(), disks->begin(), disks->end());
    else
      room.silent.push_back(node.address.ToString());
  }
  return room;
}

}  // namespace arion::shell
