// What the guardian and its parts judge in most of their tests: one partition of a table with factor
// 3, servers A to D, alive and collected.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "meta_state/configuration_change.h"
#include "meta_state/replica_reports.h"

namespace arion {

inline constexpr Endpoint kA{1, 34801}, kB{2, 34801}, kC{3, 34801}, kD{4, 34801};
inline constexpr PartitionId kPid{1, 0};
inline const Instant kNow = Instant(0) + absl::Hours(1);

class OnePartitionTest : public testing::Test {
 protected:
  OnePartitionTest() {
    Table& table = state_.tables[1];
    table.info = {.status = AppStatus::kAvailable, .app_id = 1, .partition_count = 1};
    table.partitions.resize(1);
    partition().config = {.pid = kPid, .ballot = Ballot(5), .max_replica_count = 3};
    for (Endpoint node : {kA, kB, kC, kD}) state_.nodes[node] = {.alive = true, .collected = true};
  }
  Partition& partition() { return state_.tables[1].partitions[0]; }
  void Members(Endpoint primary, std::vector<Endpoint> secondaries,
               std::vector<Endpoint> drops = {}) {
    partition().config.primary = primary;
    partition().config.secondaries = std::move(secondaries);
    partition().config.last_drops = std::move(drops);
    for (Endpoint node : {kA, kB, kC, kD}) {
      if (partition().config.IsMember(node)) partition().serving.insert(node);
    }
  }
  void Dead(Endpoint node) { state_.nodes[node] = {}; }
  void Reports(Endpoint node, ReplicaInfo info) {
    info.pid = kPid;
    NoteReports(
        state_,
        {.node = node, .stored_replicas = std::vector<ReplicaInfo>{info}, .number = report_number_},
        last_number_, absl::Seconds(10), now_);
  }
  void ReportsNothing(Endpoint node) {
    NoteReports(state_, {.node = node, .stored_replicas = std::vector<ReplicaInfo>{}}, last_number_,
                absl::Seconds(10), now_);
  }
  // All its processes are new.
  void RestartAll() {
    for (auto& [endpoint, node] : state_.nodes) {
      NoteRestart(partition(), endpoint, now_ + absl::Seconds(10));
      node.collected = false;
      node.replicas.clear();
    }
  }
  static ReplicaInfo Unclean(int64_t mutation_ballot, int64_t prepared) {
    return {.status = PartitionStatus::kInactive,
            .last_prepared_decree = Decree(prepared),
            .unclean = true,
            .last_mutation_ballot = Ballot(mutation_ballot)};
  }
  static ReplicaInfo Unproven(int64_t mutation_ballot, int64_t prepared) {
    ReplicaInfo info = Unclean(mutation_ballot, prepared);
    info.is_unproven = true;
    return info;
  }

  static ReplicaInfo Durable(int64_t ballot, int64_t prepared, int64_t committed) {
    return {.ballot = Ballot(ballot),
            .status = PartitionStatus::kInactive,
            .last_committed_decree = Decree(committed),
            .last_prepared_decree = Decree(prepared),
            .durability = static_cast<int8_t>(Durability::kFsync),
            .unclean = true,
            .last_mutation_ballot = Ballot(ballot)};
  }

  ClusterState state_;
  Instant now_ = kNow;
  Instant next_look_ = Instant::InfiniteFuture();
  int64_t report_number_ = 1;
  int64_t last_number_ = 0;  // that was given to any server
};

}  // namespace arion
