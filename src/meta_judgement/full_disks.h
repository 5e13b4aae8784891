// FullDisks: from which disks, because they take no writes, a look of the guardian moves roles and
// copies away, and whether a group has members enough without them. Pure.
//
// Shapes    A disk says so itself (disks/disk_watch.h), and it counts after 2 s, so that one that
//           is full for a moment costs no copy, and others are known to be full as well. As a place
//           for a new copy it counts at once. A group needs as many members with room as a write
//           needs, and two where the table has two. For one look. What it waits for moves
//           *next_look, when waiting ends.
// Lifetime  The state and *next_look outlive it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "meta_state/cluster_state.h"

namespace arion {

// Made for one look of the guardian.
class FullDisks {
 public:
  // `write_members_min`: mutation_2pc_min_replica_count.
  FullDisks(const ClusterState& state, int32_t write_members_min, Instant now, Instant* next_look)
      : state_(state),
        write_members_min_(write_members_min),
        now_(now),
        next_look_(*next_look),
        room_(state.RoomOfAll()) {}

  // Whether the server may take a copy, or go on with the one it has.
  bool HasRoom(Endpoint endpoint, PartitionId pid) const;
  // Those of `nodes` that have room, in their order.
  std::vector<Endpoint> WithRoom(std::vector<Endpoint> nodes, PartitionId pid) const;
  // Whether other servers are better places for a copy: somebody has much room, and this one has
  // not.
  bool IsTight(Endpoint endpoint, PartitionId pid) const;
  // Whether the server says that none of its disks is tight, whatever others have.
  bool HasMuchRoom(Endpoint endpoint, PartitionId pid) const;
  // Whether the server's member lies on such a disk, and is to leave.
  bool MustLeave(Endpoint endpoint, PartitionId pid);
  // Whether the living members that have room are enough for writes.
  bool HasEnoughWithRoom(const PartitionConfiguration& config) const;

 private:
  const ClusterState& state_;
  const int32_t write_members_min_;
  const Instant now_;
  Instant& next_look_;
  const ClusterState::Room room_;
};

}  // namespace arion
