// SPDX-License-Identifier: Apache-2.0
#include "meta/table_changes.h"

#include <algorithm>
#include <vector>

#include "base/log.h"
#include "meta/store_guard.h"
#include "meta_state/table_split.h"
#include "meta_state/unix_seconds.h"

namespace arion {
namespace {

// No change of a partition is on its way to the store.
bool IsStill(const Table& table) {
  return std::none_of(table.partitions.begin(), table.partitions.end(),
                      [](const Partition& partition) { return partition.pending.has_value(); });
}

}  // namespace

TableChanges::TableChanges(ClusterState& state, StoreGuard& store, const Clock& clock,
                           Events events)
    : state_(state), store_(store), clock_(clock), events_(std::move(events)) {}

bool TableChanges::Defers(const Table* table, InboundRequest& request) {
  if (table == nullptr || !under_way_.contains(table->info.app_id)) return false;
  // While it is dropped or recalled the answer is that.
  if (table->info.status != AppStatus::kAvailable) return false;
  return Wait(request);
}

bool TableChanges::DefersUntilStill(const Table* table, InboundRequest& request) {
  if (Defers(table, request)) return true;
  // After a failed sync none of them ends any more: whoever asked is told so instead.
  if (table == nullptr || IsStill(*table) || store_.is_failed()) return false;
  const int32_t app_id = table->info.app_id;
  awaited_still_.insert(app_id);
  // Else others could begin for ever.
  state_.FindTable(app_id)->partitions_change = true;
  return Wait(request);
}

bool TableChanges::Wait(InboundRequest& request) {
  if (deferred_.size() >= kDeferredMax)
    request.responder.Reply(ErrorCode::kBusy);
  else
    deferred_.push_back(std::move(request));
  return true;
}

void TableChanges::GoOnIfStill(int32_t app_id) {
  Table& table = *state_.FindTable(app_id);
  if (!awaited_still_.contains(app_id) || under_way_.contains(app_id) || !IsStill(table)) return;
  awaited_still_.erase(app_id);
  table.partitions_change = false;
  for (InboundRequest& request : std::exchange(deferred_, {})) events_.again(std::move(request));
  // Unless one of them began a change, at the end of which they are judged.
  if (!table.partitions_change) JudgeHeld(table);
}

void TableChanges::JudgeHeld(const Table& table) {
  const int32_t app_id = table.info.app_id;
  const auto count = static_cast<int32_t>(table.partitions.size());
  for (int32_t i = 0; i < count; ++i) events_.judgeable({app_id, i});
}

void TableChanges::Begin(Change change) {
  const int32_t app_id = change.next.app_id;
  // Where an older copy of the state was put back, servers know larger versions than are stored.
  change.next.version = std::max(change.next.version.value_or(0), UnixSeconds(clock_));
  state_.FindTable(app_id)->partitions_change =
      change.of_partitions || change.of_split || awaited_still_.contains(app_id);
  const bool is_first = under_way_.emplace(app_id, UnderWay{std::move(change)}).second;
  CHECK(is_first) << "table_changes/T1: " << app_id;
  Continue(app_id);
}

// Once no change of its partitions is on its way to the store.
void TableChanges::Continue(int32_t app_id) {
  GoOnIfStill(app_id);
  auto found = under_way_.find(app_id);
  if (found == under_way_.end() || found->second.is_being_stored) return;
  const Change& change = found->second.change;
  Table& table = *state_.FindTable(app_id);
  std::vector<MetaStore::Change> batch = {state_.ChangeOf(change.next)};
  if (change.of_split) batch.push_back(ChangeOfSplit(app_id, change.of_split->next));
  for (const DuplicationChange& one : change.of_duplications)
    for (StoreChange& key : ChangesOf(table, one)) batch.push_back(std::move(key));
  CHECK(!change.of_split || IsStill(table)) << "table_changes/T4: " << app_id;
  if (change.of_partitions) {
    // Settle calls Continue again when that one is stored.
    if (!IsStill(table)) return;
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
    table.partitions_change = awaited_still_.contains(app_id);
    if (change.of_partitions) InstallPartitions(table, *change.of_partitions);
    if (change.of_split) InstallSplit(table, std::move(change.of_split->next), clock_.Now());
    InstallDuplications(table, change.of_duplications);
    LOG(INFO) << "meta: table " << table.info.app_name << ", id " << app_id << ", is now "
              << AppStatusName(table.info.status) << ", " << table.info.max_replica_count
              << " replicas, " << table.info.envs.size() << " environments";
    events_.changed(table);
  } else if (!store_.is_failed()) {
    // Requests may have seen it dropping or recalling; from here on it is as it was.
    if (change.former) table.info = *std::move(change.former);
    table.partitions_change = awaited_still_.contains(app_id);
    for (Partition& partition : table.partitions)
      if (change.of_partitions) partition.pending.reset();
    events_.given_up();
  }
  change.done(StoreGuard::ErrorOf(stored));
  // Held updates of its partitions first, then requests for tables; those of other tables that wait
  // are deferred again.
  JudgeHeld(table);
  for (InboundRequest& request : std::exchange(deferred_, {})) events_.again(std::move(request));
  GoOnIfStill(app_id);
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
