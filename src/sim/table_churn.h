// TableChurn: an administrator who makes a table, writes to it, and drops it while its replicas may
// still learn.
//
// Shapes   One table at a time, each by a name of its own. A cycle ends when the meta server said
//          that the table is dropped. Threads: the world's. Lifetime: world and network outlive it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <set>
#include <string>

#include "client/cluster_client.h"
#include "sim/probe_client.h"
#include "sim/sim_transport.h"

namespace arion::sim {

class TableChurn {
 public:
  TableChurn(SimWorld& world, SimNetwork& network, Endpoint meta, int replica_count);
  ~TableChurn();

  // Unless one is under way.
  void BeginCycle();
  // Drops what there is, at once.
  void HurryUp() { is_hurried_ = true; }
  bool IsIdle() const { return table_.empty(); }
  const std::string& table() const { return table_; }  // of the cycle under way
  // Ids of tables that were dropped.
  const std::set<int32_t>& dropped() const { return dropped_; }

 private:
  void Create();
  void Write(Instant until);
  void Drop();
  void Later(void (TableChurn::*step)());

  SimWorld& world_;
  const Endpoint meta_;
  const int replica_count_;
  SimNode* node_;
  SimEnvironment* environment_;
  std::unique_ptr<SimTransport> transport_;
  StrandPtr strand_;
  std::unique_ptr<ProbeClient> admin_;
  std::shared_ptr<ClusterClient> client_;
  std::string table_;
  int32_t app_id_ = 0;
  int tables_ = 0;
  bool is_hurried_ = false;
  std::set<int32_t> dropped_;
};

}  // namespace arion::sim
