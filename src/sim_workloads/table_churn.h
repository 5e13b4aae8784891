// TableChurn: an administrator who makes a table, writes to it, and drops it while its replicas may
// still learn; who recalls every other one within its hold and reads what was written; and who calls
// the next by the same name, in which nothing may be found.
//
// Shapes   One table at a time, by one of two names. A cycle ends when the meta server said that
//          the table is dropped. What was written and read is in the history, under the cycle's
//          number: there each table is one of its own. Threads: the world's. Lifetime: what it is
//          given outlives it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "client/cluster_client.h"
#include "sim/sim_environment.h"
#include "sim/sim_transport.h"
#include "sim_checkers/coverage.h"
#include "sim_workloads/sim_client.h"

namespace arion::sim {

class History;

// One for a run, with a node and clients of its own. BeginCycle begins the next table where none is
// under way; IsIdle tells when a cycle is over. Its steps: Create, Created, Opened, WriteForAWhile,
// Drop, Dropped. About every second cycle goes on with Recall and Recalled, and then writes and
// drops once more.
class TableChurn {
 public:
  TableChurn(SimWorld& world, SimNetwork& network, History& history, Coverage& coverage,
             std::vector<Endpoint> metas, int replica_count);
  ~TableChurn();

  // Unless one is under way.
  void BeginCycle();
  // Drops what there is, at once.
  void HurryUp() { is_hurried_ = true; }
  bool IsIdle() const { return table_.empty(); }
  const std::string& table() const { return table_; }  // of the cycle under way
  int32_t app_id() const { return app_id_; }           // the same; 0: none yet
  // Ids of tables that were dropped and not recalled.
  const std::set<int32_t>& dropped() const { return dropped_; }

 private:
  using Step = void (TableChurn::*)();

  void Create();
  void Created();
  void Opened();
  // Each key from `key` on; `done` gets false if time was over before.
  void Read(int key, Instant until, absl::AnyInvocable<void(bool all)> done);
  void WriteForAWhile();
  void Write(Instant until);
  void Drop();
  void Dropped();
  void Recall();
  void Recalled();
  void After(absl::Duration pause, Step step);
  void Again(Step step) { After(absl::Milliseconds(500), step); }

  SimWorld& world_;
  History& history_;
  Coverage& coverage_;
  const ClusterClientOptions options_;
  const int replica_count_;
  SimNode* node_;
  SimEnvironment* environment_;
  std::unique_ptr<SimTransport> transport_;
  StrandPtr strand_;
  std::unique_ptr<SimClient> admin_;
  // Of this cycle.
  std::unique_ptr<SimClient> client_;
  std::string table_;
  int32_t app_id_ = 0;
  int cycle_ = 0;
  int values_ = 0;
  bool is_to_be_recalled_ = false;
  // Since the table was last there, or asked to come back.
  int drops_ = 0;
  bool is_hurried_ = false;
  std::set<std::string> names_used_;
  std::set<int32_t> dropped_;
};

}  // namespace arion::sim
