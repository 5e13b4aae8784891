// DuplicationWay: one direction of a ClusterPair: tables of one cluster that are sent to the other,
// and what can be seen of that.
//
// Threads   One: the world's. Lifetime: what it is given outlives it.
// Demands   duplication_way/W1  Once another primary of a partition is stored, its former one sends
//               nothing of it to the other cluster.
//           Those of DuplicationChecker on what is confirmed and kept.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <set>
#include <string>

#include "meta_state/meta_store.h"
#include "sim/sim_world.h"
#include "sim_checkers/duplication_checker.h"
#include "sim_cluster/sim_cluster.h"

namespace arion::sim {

// A member of ClusterPair.
class DuplicationWay {
 public:
  // `from_id` marks the writes of `from`; `to_name`: what `from` calls the other one.
  DuplicationWay(SimWorld& world, SimCluster& from, uint8_t from_id, SimCluster& to,
                 std::string to_name);

  // What the receiver begins with: nothing, its tables being there, or checkpoints.
  enum class From : uint8_t { kEmpty, kCheckpoint };
  // Asks for it, of the first `tables` tables of the source. Runs the world, as Await does. False: a
  // violation says why not.
  bool Begin(int tables, From from);
  // Until each partition sends.
  bool AwaitBegun();
  // From then on logs are looked at, each second.
  void Watch();
  // `from`'s meta server has stored it.
  void NoteStored(const MetaStore::Change& change);
  // `to`'s meta server has.
  void NoteStoredThere(const MetaStore::Change& change);

  // Of `from`; none: it is not sent.
  PartitionId SourceOf(PartitionId receiver) const;
  bool Sends(int32_t app_id) const;
  // Ids of `from`'s tables, by those of `to`'s.
  const std::map<int32_t, int32_t>& tables() const { return tables_; }
  DuplicationChecker& checker() { return checker_; }
  const DuplicationChecker& checker() const { return checker_; }

 private:
  void WatchNetworks();
  void LookAtLogs();
  void NoteSender(Endpoint sender, PartitionId receiver);
  void Adopt(int32_t app_id);
  bool Add(const std::string& table, From from);
  bool HasBegun();

  SimWorld& world_;
  SimCluster& from_;
  SimCluster& to_;
  const std::string to_name_;
  DuplicationChecker checker_;
  std::map<int32_t, int32_t> tables_;
  // Not there yet.
  std::map<std::string, WorkloadTable> awaited_;
  // One sentence about each is enough.
  std::set<PartitionId> sent_by_former_;
};

}  // namespace arion::sim
