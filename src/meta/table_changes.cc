// SPDX-License-Identifier: Apache-2.0
#include "meta/table_changes.h"

#include <algorithm>
#include <vector>

#include "base/log.h"
#include "meta/store_guard.h"
#include "meta_state/unix_seconds.h"

namespace arion {

TableChanges::TableChanges(ClusterState& state, StoreGuard& store, const Clock& clock,
                           Events events)
    : state_(state), store_(store), clock_(clock), events_(std::move(events)) {}

bool TableChanges::Defers(const Table* table, InboundRequest& request) {
  if (table == nullptr || !under_way_.contains(table->info.app_id)) return false;
  // While it is dropped or recalled the answer is that.
  if (table->info.status != AppStatus::kAvailable) return false;
  if (deferred_.size() >= kDeferredMax) {
    request.responder.Reply(ErrorCode::kBusy);
    return true;
  }
  deferred_.push_back(std::move(request));
  return true;
}

void TableChanges::Begin(Change change) {
  const int32_t app_id = change.next.app_id;
  // Where an older copy of the state was put back, servers know larger versions than are stored.
  change.next.version = std::max(change.next.version.value_or(0), UnixSeconds(clock_));
  state_.FindTable(app_id)->partitions_change = change.of_partitions.has_value();
  const bool is_first = under_way_.emplace(app_id, UnderWay{std::move(change)}).second;
  CHECK(is_first) << "table_changes/T1: " << app_id;
  Continue(app_id);
}

// Once no change of its partitions is on its way to the store.
void TableChanges::Continue(int32_t app_id) {
  auto found = under_way_.find(app_id);
  if (found == under_way_.end() || found->second.is_being_stored) return;
  const Change& change = found->second.change;
  Table& table = *state_.FindTable(app_id);
  std::vector<MetaStore::Change> batch = {state_.ChangeOf(change.next)};
  if (change.of_partitions) {
    for (const Partition& partition : table.partitions) {
      // Settle calls Continue again when that one is stored.
      if (partition.pending) return;
    }
    for (Partition& partition : table.partitions) {
      partition.pending = change.of_partitions->next(partition.config);
      batch.push_back(state_.ChangeOf(*partition.pending));
    }
  }
  found->second.is_being_stored = true;
  store_.Commit(std::move(batch), StoreNeed::kWhileRoom,
                [this, app_id](const absl::Status& stored) { Finish(app_id, stored); });
}

void TableChanges::Finish(int32_t app_id, const absl::Status& stored) {
  auto found = under_way_.find(app_id);
  CHECK(found != under_way_.end()) << app_id;
  Change change = std::move(found->second.change);
  under_way_.erase(found);
  Table& table = *state_.FindTable(app_id);
  // Otherwise nothing is known any more: what was about to change stays as it is, and pending.
  if (stored.ok()) {
    table.info = change.next;
    table.partitions_change = false;
    if (change.of_partitions) InstallPartitions(table, *change.of_partitions);
    LOG(INFO) << "meta: table " << table.info.app_name << ", id " << app_id << ", is now "
              << AppStatusName(table.info.status) << ", " << table.info.max_replica_count
              << " replicas, " << table.info.envs.size() << " environments";
    events_.changed(table);
  } else if (!store_.is_failed()) {
    // Requests may have seen it dropping or recalling; from here on it is as it was.
    if (change.former) table.info = *std::move(change.former);
    table.partitions_change = false;
    for (Partition& partition : table.partitions)
      if (change.of_partitions) partition.pending.reset();
    events_.given_up();
  }
  change.done(StoreGuard::ErrorOf(stored));
  // Held updates of its partitions first, then requests for tables; those of other tables that wait
  // are deferred again.
  for (int32_t i = 0; i < table.info.partition_count; ++i) events_.judgeable({app_id, i});
  for (InboundRequest& request : std::exchange(deferred_, {})) events_.again(std::move(request));
}

void TableChanges::InstallPartitions(Table& table, const PartitionChange& change) {
  for (Partition& partition : table.partitions) {
    const bool members_stay = partition.pending->ballot == partition.config.ballot;
    if (!members_stay) {
      partition.intent.reset();
      partition.planned.clear();
    }
    Install(partition, *partition.pending, change.cause, clock_.Now());
  }
}

}  // namespace arion
