// Groups: the members of each partition as the meta server stored them last, which partitions are
// to stay, and of which server the one copy was that a run may lose.
//
// Shapes    Tables that come and go are stored like others, but not wanted.
// Threads   One: the world's.
// Promises  groups/G1  IsWhole only when each partition of all wanted tables has a primary and as
//               many members as it should.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <set>
#include <vector>

#include "base/ids.h"
#include "base/instant.h"
#include "messages/configuration.h"
#include "sim_workloads/workload_table.h"

namespace arion::sim {

// A member of SimCluster. ServerLives stores into it what the meta server's store made durable; all
// others read.
class Groups {
 public:
  using Stored = std::map<PartitionId, PartitionConfiguration>;

  // Of each partition.
  explicit Groups(int copies) : copies_(copies) {}

  // One that is to stay.
  void AddTable(const WorkloadTable& table) { tables_.push_back(table); }
  const std::vector<WorkloadTable>& tables() const { return tables_; }

  void Store(const PartitionConfiguration& config, Instant now);
  const Stored& stored() const { return stored_; }
  // nullptr: never stored.
  const PartitionConfiguration* Find(PartitionId pid) const;
  // When anything was stored last.
  Instant stored_last() const { return stored_last_; }

  int copies() const { return copies_; }
  bool IsWanted(PartitionId pid) const;
  bool IsWhole() const;
  // Partitions of the table that are stored: where no split is under way, all there are.
  int32_t CountOf(int32_t app_id) const;

  // Whose disk may lack what it acknowledged.
  void LoseCopyOf(Endpoint server) { lost_copy_ = server; }
  bool HasLostCopy() const { return lost_copy_.has_value(); }
  // Of two copies one may have just been removed when the other is lost.
  bool IsLostWithLastCopy(PartitionId pid) const { return lost_with_last_copy_.contains(pid); }

 private:
  int CountWanted() const;
  void NoteLastCopy(const PartitionConfiguration& before, const PartitionConfiguration& now);

  const int copies_;
  std::vector<WorkloadTable> tables_;
  Stored stored_;
  Instant stored_last_{0};
  std::optional<Endpoint> lost_copy_;
  // Partitions of tables of one or two copies that lost the last one.
  std::set<PartitionId> lost_with_last_copy_;
};

}  // namespace arion::sim
