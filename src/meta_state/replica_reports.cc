// SPDX-License-Identifier: Apache-2.0
#include "meta_state/replica_reports.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "base/log.h"
#include "meta_state/state_went_back.h"

namespace arion {
namespace {

// So often in a row may a primary that was one report not to be: it may be changing its
// configuration, or have lost its lease for a moment.
constexpr int32_t kInactiveReportsMax = 2;

// So far beyond the stored ids may one be of which a server has a replica.
constexpr int32_t kUnknownIdsMax = 1000000;

constexpr int kUnknownTablesLogged = 100;

// Since the last report: who has learned meanwhile says so too.
bool IsShownOlder(const std::map<PartitionId, ReplicaInfo>& former, const ReplicaInfo& report) {
  const auto before = former.find(report.pid);
  const int64_t known = before == former.end() ? 0 : before->second.times_older.value_or(0);
  return report.times_older.value_or(0) > known;
}

bool EndsBefore(Decree committed, const ReplicaInfo& report) {
  return !report.loading.value_or(false) &&
         report.durability == static_cast<int8_t>(Durability::kFsync) &&
         report.last_prepared_decree < committed;
}

// What was said to be committed after the report was written proves nothing.
void NoteLength(Partition& partition, Endpoint node, const ReplicaInfo& report, int64_t number) {
  const Decree committed = number > partition.committed.older_reports
                               ? partition.KnownCommitted()
                               : partition.config.last_committed_decree;
  if (partition.config.IsMember(node) && EndsBefore(committed, report))
    partition.short_copies.insert(node);
  else
    partition.short_copies.erase(node);
}

// Whoever leads this configuration; what it says is committed stays so. Nothing is proven by what
// is not durable.
void NoteCommitted(Table& table, Partition& partition, Endpoint node, const ReplicaInfo& report,
                   int64_t last_number) {
  if (partition.config.primary != node || report.status != PartitionStatus::kPrimary ||
      report.ballot != partition.config.ballot ||
      report.durability != static_cast<int8_t>(Durability::kFsync) ||
      report.last_committed_decree > report.last_prepared_decree ||
      report.last_committed_decree <= partition.committed.decree)
    return;
  partition.committed = {.decree = report.last_committed_decree, .older_reports = last_number};
  table.is_committed_unstored = true;
}

bool IsUnclean(const ReplicaInfo& report) { return report.unclean.value_or(false); }

void NoteBallot(Partition& partition, Endpoint node, const ReplicaInfo& report) {
  // One hostile or damaged report would else stop the partition for ever (IsBehind).
  if (report.ballot > kBallotMax) return;
  if (report.ballot > partition.shown.ballot) partition.shown = {.ballot = report.ballot};
  if (report.ballot == partition.shown.ballot && report.status == PartitionStatus::kPrimary)
    partition.shown.primary = node;
}

// Of a table that is not stored: its data must not come up in a new one.
void NoteUnknownTable(ClusterState& state, int32_t app_id) {
  const int64_t last_stored = state.tables.empty() ? 0 : state.tables.rbegin()->first;
  if (app_id <= last_stored + kUnknownIdsMax)
    state.last_reserved_app_id = std::max(state.last_reserved_app_id, app_id);
}

void NoteLoading(Partition& partition, Endpoint node, bool is_of_this_configuration,
                 Instant deadline) {
  // It may have taken office after this was written.
  if (partition.serving.contains(node) && !is_of_this_configuration) return;
  partition.serving.erase(node);
  partition.suspects.erase(node);
  if (partition.config.primary == node && !partition.primary_deadline)
    partition.primary_deadline = deadline;
}

void NotePrimary(Partition& partition, Endpoint node, const ReplicaInfo& report, Instant now,
                 Instant deadline) {
  if (report.status == PartitionStatus::kPrimary) {
    partition.serving.insert(node);
    partition.primary_deadline.reset();
    partition.inactive_reports = 0;
  } else if (partition.serving.contains(node)) {
    if (++partition.inactive_reports >= kInactiveReportsMax && IsUnclean(report)) {
      partition.serving.erase(node);
      partition.suspects.insert(node);
      partition.primary_deadline = now;
    }
  } else if (IsUnclean(report)) {
    partition.suspects.insert(node);
    if (!partition.primary_deadline) partition.primary_deadline = deadline;
  }
}

void NoteSecondary(Partition& partition, Endpoint node, const ReplicaInfo& report) {
  // Unclean says who has been no member since its start: a new process, noticed by that alone.
  if (report.status == PartitionStatus::kInactive && IsUnclean(report))
    partition.serving.erase(node);
  // One that is known to lack something proves nothing by coming back: the primary that would have
  // shown it may have died since.
  if (partition.serving.contains(node) || partition.older.contains(node)) return;
  if (IsUnclean(report)) partition.suspects.insert(node);
  // In a group whose primary works, a gap in its log would have shown. Without one, neither being a
  // secondary nor having stopped cleanly proves anything: the disk may be an older copy.
  bool is_proven = report.status == PartitionStatus::kSecondary &&
                   partition.serving.contains(partition.config.primary);
  bool came_back_clean = report.status == PartitionStatus::kInactive &&
                         !partition.suspects.contains(node) &&
                         partition.serving.contains(partition.config.primary);
  if (!is_proven && !came_back_clean) return;
  partition.serving.insert(node);
  partition.suspects.erase(node);
}

bool IsToLearn(const Partition& partition, Endpoint node) {
  return partition.intent && partition.intent->node == node &&
         (partition.intent->type == ConfigType::kAddSecondary ||
          partition.intent->type == ConfigType::kAddSecondaryForLoadBalance);
}

// Of who left: a learner's copy may be another.
bool LacksWhatItHeld(const Partition& partition, Endpoint node, const ReplicaInfo& report) {
  if (partition.config.IsMember(node) || report.status == PartitionStatus::kPotentialSecondary)
    return false;
  return std::any_of(partition.dropped.begin(), partition.dropped.end(),
                     [&](const DroppedReplica& dropped) {
                       return dropped.node == node && EndsBefore(dropped.held, report);
                     });
}

// It does not learn (any more).
void NoteNoLearner(Partition& partition, Endpoint node, Instant now) {
  if (!IsToLearn(partition, node) || !partition.intent->learner_seen) return;
  partition.intent.reset();
  partition.planned.clear();
  partition.passed_over[node] = now + kPassedOverFor;
}

void NoteOutsider(Partition& partition, Endpoint node, const ReplicaInfo& report, Instant now) {
  if (report.status == PartitionStatus::kPotentialSecondary) {
    if (IsToLearn(partition, node)) partition.intent->learner_seen = true;
    return;
  }
  NoteNoLearner(partition, node, now);
  auto known = std::find_if(partition.dropped.begin(), partition.dropped.end(),
                            [&](const DroppedReplica& dropped) { return dropped.node == node; });
  if (known == partition.dropped.end()) {
    known = partition.dropped.insert(partition.dropped.begin(), {.node = node});
  }
  known->ballot = report.ballot;
  known->committed = report.last_committed_decree;
  known->prepared = report.last_prepared_decree;
  std::stable_sort(partition.dropped.begin(), partition.dropped.end(),
                   [](const DroppedReplica& a, const DroppedReplica& b) {
                     return std::tuple(a.at, a.ballot, a.committed, a.prepared) <
                            std::tuple(b.at, b.ballot, b.committed, b.prepared);
                   });
  // No more are remembered than the table could take back. The ones that left first, or hold least,
  // go.
  size_t factor = static_cast<size_t>(std::max(partition.config.max_replica_count, 1));
  while (!partition.dropped.empty() &&
         partition.config.MemberCount() + partition.dropped.size() > factor) {
    partition.dropped.erase(partition.dropped.begin());
  }
}

void NoteNearlyFull(Node& node) {
  // Two bounds, so that a disk at the limit does not change its mind with each report.
  const int64_t percent_left = node.tight_percent / 2, percent_again = node.tight_percent * 3 / 4;
  const std::set<std::string> before = std::exchange(node.nearly_full, {});
  for (const DiskReport& disk : node.disks) {
    // A process that has just begun has not looked yet.
    if (disk.total_bytes == 0) continue;
    const int64_t left = disk.available_bytes - disk.available_bytes_min;
    const int64_t percent = before.contains(disk.tag) ? percent_again : percent_left;
    if (left < disk.total_bytes / 100 * percent) node.nearly_full.insert(disk.tag);
  }
}

// What the server says of itself and of its disks.
void NoteServer(Node& node, const ConfigSyncRequest& sync, int32_t tight_percent, Instant now) {
  node.collected = true;
  node.last_report = sync.number.value_or(0);
  node.has_unreadable_disks = sync.unreadable_disks && !sync.unreadable_disks->empty();
  // The patience of 2 s counts from the first report that says so.
  if (node.slow_disks.empty()) node.slow_since = now;
  node.slow_disks.clear();
  if (sync.slow_disks) node.slow_disks.insert(sync.slow_disks->begin(), sync.slow_disks->end());
  if (!node.HasFullDisk()) node.full_since = now;
  node.disks = sync.disks.value_or(std::vector<DiskReport>{});
  std::erase_if(node.disks, [](const DiskReport& disk) {  // no disk is so
    return disk.total_bytes < 0 || disk.available_bytes < 0 || disk.available_bytes_min < 0;
  });
  node.tight_percent = tight_percent;
  NoteNearlyFull(node);
  node.replicas_max = sync.replicas_max;
  node.open_files_max = sync.open_files_max.value_or(0);
  node.slow_members.clear();
  if (sync.slow_members)
    node.slow_members.insert(sync.slow_members->begin(), sync.slow_members->end());
}

// Which copies it holds: of stored partitions, and of tables that are not stored.
void NoteCopies(ClusterState& state, Node& node, const ConfigSyncRequest& sync) {
  // So that a table is logged when it first shows, not with each report.
  const std::map<int32_t, int32_t> formerly_unknown = std::exchange(node.unknown_tables, {});
  if (!sync.stored_replicas) return;
  for (const ReplicaInfo& report : *sync.stored_replicas) {
    const Partition* partition = state.FindPartition(report.pid);
    // Of an unregistered child nothing is known that counts, whatever an attempt left.
    if (partition != nullptr && !partition->IsUnregistered()) node.replicas[report.pid] = report;
    if (state.FindTable(report.pid.app_id) != nullptr) continue;
    NoteUnknownTable(state, report.pid.app_id);
    ++node.unknown_tables[report.pid.app_id];
  }
  for (const auto& [app_id, copies] : node.unknown_tables) {
    if (formerly_unknown.contains(app_id)) continue;
    LOG_FIRST_N(WARNING, kUnknownTablesLogged)
        << "meta: " << sync.node << " holds " << copies << " copies of table " << app_id
        << ", which is not stored: status says what to do";
  }
}

// Nobody takes part in a partition before it is stored: where a server does in one that is to be
// split off yet, it was split off already.
void NoteChildren(ClusterState& state, const ConfigSyncRequest& sync, Instant now) {
  if (!sync.stored_replicas) return;
  for (const ReplicaInfo& report : *sync.stored_replicas) {
    const Partition* partition = state.FindPartition(report.pid);
    const bool takes_part =
        report.status == PartitionStatus::kPrimary || report.status == PartitionStatus::kSecondary;
    if (partition != nullptr && partition->IsUnregistered() && takes_part)
      NoteWentBack(state, *state.FindTable(report.pid.app_id), sync.node, report, now);
  }
}

// One report of a server, and what it said before.
struct Reported {
  const ConfigSyncRequest& sync;
  const std::map<PartitionId, ReplicaInfo>& former;
  int64_t last_number;
  Instant deadline;
  Instant now;
};

// The report names no copy of this partition.
void NoteNoCopy(Partition& partition, const Reported& reported) {
  const Endpoint server = reported.sync.node;
  // Lost, or on a disk that can't be read: the guardian tells these apart. One that serves joined
  // after the report was written.
  if (partition.config.primary == server && !partition.serving.contains(server) &&
      !partition.primary_deadline) {
    partition.primary_deadline = reported.deadline;
  }
  NoteNoLearner(partition, server, reported.now);
  partition.older.erase(server);
}

// What the report says of its copy of this partition.
void NoteCopy(ClusterState& state, Table& table, Partition& partition, const ReplicaInfo& report,
              const Reported& reported) {
  const Endpoint server = reported.sync.node;
  NoteWentBack(state, table, server, report, reported.now);
  NoteBallot(partition, server, report);
  const int64_t number = reported.sync.number.value_or(0);
  const bool is_of_this_configuration = number > partition.older_reports;
  // A report that was asked for before may be of a time when another led, and wrote.
  if (is_of_this_configuration) {
    NoteLength(partition, server, report, number);
    NoteCommitted(table, partition, server, report, reported.last_number);
  }
  if (is_of_this_configuration && LacksWhatItHeld(partition, server, report))
    NoteOlderCopy(state, partition, server, reported.now);
  if (IsShownOlder(reported.former, report) || partition.short_copies.contains(server)) {
    NoteOlderCopy(state, partition, server, reported.now);
    if (partition.config.IsSecondary(server)) partition.serving.erase(server);
  } else if (partition.config.IsMember(server)) {
    partition.older.erase(server);
  }
  if (report.loading.value_or(false)) {
    NoteLoading(partition, server, is_of_this_configuration, reported.deadline);
  } else if (partition.config.primary == server) {
    NotePrimary(partition, server, report, reported.now, reported.deadline);
  } else if (partition.config.IsSecondary(server)) {
    NoteSecondary(partition, server, report);
  } else {
    NoteOutsider(partition, server, report, reported.now);
  }
}

}  // namespace

void NoteRestart(Partition& partition, Endpoint node, Instant primary_deadline) {
  partition.serving.erase(node);
  partition.suspects.erase(node);
  partition.short_copies.erase(node);
  partition.passed_over.erase(node);
  // A primary's word counts only while its process lives.
  if (partition.shown.primary == node) partition.shown.primary = {};
  // The new process has heard of no proposal.
  if (partition.intent && (partition.intent->target == node || partition.intent->node == node)) {
    partition.intent.reset();
  }
  if (partition.config.primary == node) {
    partition.primary_deadline = primary_deadline;
    partition.inactive_reports = 0;
  }
}

void NoteHoldsLess(Partition& partition, Endpoint node) {
  partition.serving.erase(node);
  partition.suspects.insert(node);
}

void NoteGivesWay(Partition& partition, Endpoint node, Instant deadline) {
  NoteHoldsLess(partition, node);
  if (!partition.primary_deadline) partition.primary_deadline = deadline;
}

void NoteOlderCopy(ClusterState& state, Partition& partition, Endpoint node, Instant now) {
  if (!partition.older.insert(node).second) return;
  Node& server = state.nodes[node];
  if (now - server.older_since > kOlderShownFor) server.older_copies = 0;
  ++server.older_copies;
  server.older_since = now;
  LOG(WARNING)
      << "meta: [" << partition.config.pid << " " << partition.config.ballot << "] " << node
      << " came back with an older copy: it lacks what its group has committed, and learns. Was "
         "its disk or a data directory put back, or the end of a log lost?";
}

// First what the server says of itself, then each stored partition: what the report says of its
// copy there, or that it has none. The report replaces the last one as a whole.
void NoteReports(ClusterState& state, const ConfigSyncRequest& sync, int64_t last_number,
                 absl::Duration grace, Instant now) {
  Node& node = state.nodes[sync.node];
  NoteServer(node, sync, state.tight_percent, now);
  const std::map<PartitionId, ReplicaInfo> former = std::exchange(node.replicas, {});
  NoteCopies(state, node, sync);
  NoteChildren(state, sync, now);
  const Reported reported{.sync = sync,
                          .former = former,
                          .last_number = last_number,
                          .deadline = now + grace,
                          .now = now};
  // Through the stored partitions, not the report: a replica that is missing says something, too.
  for (auto& [app_id, table] : state.tables) {
    for (Partition& partition : table.partitions) {
      if (partition.IsUnregistered()) continue;
      const auto found = node.replicas.find(partition.config.pid);
      if (found == node.replicas.end())
        NoteNoCopy(partition, reported);
      else
        NoteCopy(state, table, partition, found->second, reported);
    }
  }
}

}  // namespace arion
