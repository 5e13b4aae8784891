// DuplicationPauses: an administrator of a cluster who pauses duplications of its tables and starts them
// again.
//
// Threads   One: the world's. Lifetime: what it is given outlives it.
// Promises  duplication_pauses/U1  After Stop each one is started again, as soon as its meta server
//               takes that.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/functional/any_invocable.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "messages/duplication_messages.h"
#include "sim/sim_transport.h"
#include "sim_cluster/sim_cluster.h"

namespace arion::sim {

// A member of ClusterPair, one for each direction.
class DuplicationPauses {
 public:
  DuplicationPauses(SimWorld& world, SimCluster& cluster);
  ~DuplicationPauses();

  void Start() { Later(); }
  void Stop();
  // How often one was paused.
  int64_t count() const { return count_; }

 private:
  // By the name of its table: those that have that status, as stored.
  std::map<std::string, int32_t> Those(DuplicationStatus status) const;
  void Later();
  void PauseOne();
  void StartAll();
  void Set(const std::string& table, int32_t dupid, DuplicationStatus status);

  SimWorld& world_;
  SimCluster& cluster_;
  SimNode* const node_;
  SimEnvironment* const environment_;
  const std::unique_ptr<SimTransport> transport_;
  const StrandPtr strand_;
  bool is_stopped_ = false;
  int64_t count_ = 0;
};

}  // namespace arion::sim
