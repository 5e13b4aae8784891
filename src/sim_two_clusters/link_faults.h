// LinkFaults: trouble on the way between two clusters: all of it is cut, or that between two
// servers, in both directions or one; connections break.
//
// Threads   One: the world's. Lifetime: what it is given outlives it, and it the world's last
//           event.
// Promises  link_faults/K1  After End nothing is cut.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/time/time.h>

#include <array>
#include <cstdint>
#include <string>

#include "sim_cluster/sim_cluster.h"
#include "sim_two_clusters/cluster_pair_options.h"

namespace arion::sim {

// A member of ClusterPair. The way of the source's servers to the receiver is the receiver's
// network.
class LinkFaults {
 public:
  LinkFaults(const ClusterPairOptions& options, SimWorld& world, SimCluster& source,
             SimCluster& receiver)
      : options_(options), world_(world), source_(source), receiver_(receiver) {}

  void Begin();
  void End();
  // How often there was each.
  std::string ToString() const;

 private:
  enum Kind : uint8_t { kAll, kOne, kOneWay, kReset, kKinds };
  void ScheduleNext();
  void Inject(Kind kind, absl::Duration length);
  void CutOneWay(Endpoint from, Endpoint to, absl::Duration length);
  void Cut(Endpoint a, Endpoint b, absl::Duration length);

  const ClusterPairOptions& options_;
  SimWorld& world_;
  SimCluster& source_;
  SimCluster& receiver_;
  bool are_on_ = false;
  std::array<int64_t, kKinds> counts_{};
};

}  // namespace arion::sim
