// The judgement of a meta server of version 2.5.0: what it knows of its cluster, what it proposes
// for a partition, and who leads one that nobody is left of (replica/OLDER.md 6). Pure.
//
// Shapes    A proposal stays in its partition's queue, and is sent again at each look, until it
//           does not apply any more: the same learner for ever, where it comes to nothing.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/time/time.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <vector>

#include "base/instant.h"
#include "messages/configuration.h"
#include "messages/function_level.h"
#include "messages/meta_messages.h"

namespace arion::sim {

constexpr size_t kOldLastDropsMax = 3;

// A step that is proposed to `target` until it does not apply any more.
struct OldProposal {
  ConfigType type = ConfigType::kInvalid;
  // Who is asked.
  Endpoint target;
  // Whom it is about.
  Endpoint node;
  bool was_learner_seen = false;
};

// A replica outside the configuration that is kept in mind.
struct OldDropped {
  Endpoint node;
  // nullopt: not known.
  std::optional<Instant> at;
  Ballot ballot{-1};
  Decree committed{-1}, prepared{-1};
};

// What the meta server of 2.5.0 knows of one partition. OldClusterState owns it; OldMetaServer and
// the functions below change it.
struct OldPartition {
  PartitionConfiguration config;
  // The configuration that is being stored.
  std::optional<PartitionConfiguration> pending;
  std::vector<OldProposal> proposals;
  // Of members and others, as each node told last.
  std::map<Endpoint, ReplicaInfo> reports;
  // The best candidate last.
  std::vector<OldDropped> dropped;

  bool IsDropped() const { return (config.partition_flags & 1) != 0; }
};

// A table with its partitions. OldClusterState owns it.
struct OldTable {
  // Its status is that of the moment, also one that is never stored.
  AppInfo info;
  std::vector<OldPartition> partitions;
};

// A replica server, by its beacons and reports.
struct OldNode {
  bool is_alive = false;
  // It has reported since it came alive.
  bool is_collected = false;
};

// All that it knows, in memory. OldMetaServer fills it from the store at its start.
struct OldClusterState {
  std::map<int32_t, OldTable> tables;
  std::map<Endpoint, OldNode> nodes;

  bool IsAlive(Endpoint node) const;
  size_t AliveCount() const;
  OldPartition* Find(PartitionId pid);
  // Among tables that are not dropped.
  OldTable* FindByName(std::string_view name);
  // Of all tables, those that are just being assigned to it too.
  int PrimariesOf(Endpoint node) const;
  int ReplicasOf(Endpoint node) const;
  int ReplicasOf(Endpoint node, const OldTable& table) const;
};

// Settings, under the names of 2.5.0 beside them.
struct OldGuardianOptions {
  // min_live_node_count_for_unfreeze.
  size_t live_min = 3;
  // node_live_percentage_threshold_for_update.
  size_t live_percentage_min = 65;
  // mutation_2pc_min_replica_count.
  int32_t replica_count_min = 2;
  // replica_assign_delay_ms_for_dropouts.
  absl::Duration assign_delay;
  // max_reserved_dropped_replicas.
  size_t reserved_dropped_max = 0;
};

// What holds of the level that was set.
FunctionLevel OldLevel(const OldClusterState& state, const OldGuardianOptions& options,
                       FunctionLevel set);

// The proposal to send now, if there is one. Keeps the queue.
std::optional<OldProposal> OldCure(OldClusterState& state, OldTable& table, OldPartition& partition,
                                   const OldGuardianOptions& options, Instant now);

// Who of a partition without members leads; nullopt: nobody yet. `is_for_a_person`: nor ever,
// unless somebody else decides.
struct OldChoice {
  std::optional<Endpoint> node;
  bool is_for_a_person = false;
};
OldChoice OldChooseOfDropped(const OldClusterState& state, const OldPartition& partition);

// ---- what becomes of a partition ----

// Puts the node into last_drops, as the newest.
void OldNoteDropped(PartitionConfiguration& config, Endpoint node);
// `config` is stored: it holds from now on.
void OldApply(OldPartition& partition, const PartitionConfiguration& config,
              const OldGuardianOptions& options, Instant now);
// Whether its node's replica is of use.
bool OldCollect(OldPartition& partition, Endpoint node, const ReplicaInfo& report,
                const OldGuardianOptions& options);
// Whether a request is one that was carried out, sent again.
bool OldIsSame(const PartitionConfiguration& a, const PartitionConfiguration& b);

}  // namespace arion::sim
