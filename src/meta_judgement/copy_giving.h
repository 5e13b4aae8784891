// CopyGiving: which disks give a copy to another server before they are full. Pure.
//
// Shapes    A disk that is nearly full (Node::nearly_full) gives copies of which its server is
//           secondary, one at a time: the next one when the directory of the last has gone, so that
//           what it was to free is free. Two servers at once, the one with the smallest share left
//           first. A copy is made elsewhere, then the one here is removed as one too many.
//           For one look.
// Lifetime  The state outlives it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <set>

#include "meta_state/cluster_state.h"

namespace arion {

// Made for one look of the guardian.
class CopyGiving {
 public:
  static constexpr size_t kAtOnce = 2;

  explicit CopyGiving(const ClusterState& state);

  // The secondary on the fullest disk, if that gives copies away; else an invalid endpoint.
  Endpoint GiverOf(const PartitionConfiguration& config) const;
  // Whether the partition has as many members as its table wants, and one of them may give its copy
  // now, or its successor is being made.
  bool MayGive(const Partition& partition) const;
  // The partition's giver gives this copy, and no other one in this look.
  void Gives(const Partition& partition) { givers_.erase(GiverOf(partition.config)); }

 private:
  bool IsGiving(const Partition& partition) const;

  const ClusterState& state_;
  // Servers that may begin with a copy.
  std::set<Endpoint> givers_;
};

}  // namespace arion
