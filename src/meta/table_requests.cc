// Creating, dropping and changing tables.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "meta/meta_server_state.h"
#include "meta_state/configuration_change.h"
#include "meta_state/table_environments.h"

namespace arion {
namespace {

constexpr absl::Duration kTellAgain = absl::Milliseconds(300);
constexpr absl::Duration kRecallPatience = absl::Seconds(3);

}  // namespace

void MetaServer::State::OnCreate(InboundRequest& request) {
  auto create = codec_.Decode<CreateAppRequest>(request);
  if (!create) return;
  CreateJudgement judgement =
      JudgeCreate(state_, Level(), LimitsOf(options_), reserved_names_, *create, UnixSeconds());
  if (judgement.table && !CanChangeTables()) judgement = {store_.WhyNoTableChange()};
  if (!judgement.table) {
    return codec_.Answer(request, CreateAppResponse{judgement.error, judgement.app_id});
  }
  Table& table = *judgement.table;
  std::vector<MetaStore::Change> batch = {state_.ChangeOf(table.info)};
  for (const Partition& partition : table.partitions) {
    batch.push_back(state_.ChangeOf(partition.config));
  }
  reserved_names_.insert(table.info.app_name);
  state_.last_reserved_app_id = table.info.app_id;
  store_.Commit(std::move(batch), StoreNeed::kWhileRoom,
                [this, table = std::move(table),
                 request = std::move(request)](const absl::Status& stored) mutable {
                  CreateAppResponse response{.appid = table.info.app_id};
                  reserved_names_.erase(table.info.app_name);
                  if (stored.ok()) {
                    LOG(INFO) << "meta: created table " << table.info.app_name << ", id "
                              << table.info.app_id << ", " << table.info.partition_count
                              << " partitions x " << table.info.max_replica_count;
                    state_.tables[table.info.app_id] = std::move(table);
                    SchedulePlan();
                  } else {
                    response = {StoreGuard::ErrorOf(stored)};
                  }
                  codec_.Answer(request, response);
                });
}

void MetaServer::State::OnDrop(InboundRequest& request) {
  auto drop = codec_.Decode<DropAppRequest>(request);
  if (!drop || Defers(state_.FindTableByName(drop->app_name), request)) return;
  DropJudgement judgement =
      JudgeDrop(state_, LimitsOf(options_), reserved_names_, *drop, UnixSeconds());
  if (judgement.dropped && !CanChangeTables()) judgement = {store_.WhyNoTableChange()};
  if (!judgement.dropped) return codec_.Answer(request, DropAppResponse{judgement.error});
  AppInfo& info = state_.FindTable(judgement.dropped->app_id)->info;
  AppInfo former = info;
  info.status = AppStatus::kDropping;
  BeginChange({.next = *std::move(judgement.dropped),
               .of_partitions = PartitionChange{ConfigType::kDropPartition, Emptied},
               .former = std::move(former),
               .done = [this, request = std::move(request)](ErrorCode error) mutable {
                 codec_.Answer(request, DropAppResponse{error});
               }});
}

void MetaServer::State::OnRecall(InboundRequest& request) {
  Recall(request, Now() + kRecallPatience);
}

void MetaServer::State::Recall(InboundRequest& request, Instant until) {
  auto recall = codec_.Decode<RecallAppRequest>(request);
  if (!recall || Defers(state_.FindTable(recall->app_id), request)) return;
  TableJudgement judgement = JudgeRecall(state_, reserved_names_, *recall, UnixSeconds());
  if (judgement.next && !CanChangeTables()) judgement = {store_.WhyNoTableChange()};
  if (!judgement.next) return codec_.Answer(request, RecallAppResponse{judgement.error});
  const int32_t app_id = recall->app_id;
  // A primary of before may answer from its lease until it hears of the drop, or is dead.
  if (!IsLetGo(state_, *state_.FindTable(app_id))) {
    if (Now() >= until) return codec_.Answer(request, RecallAppResponse{ErrorCode::kBusyDropping});
    strand_->PostAfter(kTellAgain / 10,
                       [weak = weak_from_this(), request = std::move(request), until]() mutable {
                         auto self = weak.lock();
                         if (self && self->phase_ != Phase::kStopped) self->Recall(request, until);
                       });
    return;
  }
  const std::string name = judgement.next->app_name;
  reserved_names_.insert(name);
  AppInfo& info = state_.FindTable(app_id)->info;
  AppInfo former = info;
  info.status = AppStatus::kRecalling;
  info.app_name = name;  // the former one may be another table's
  BeginChange({.next = *std::move(judgement.next),
               .of_partitions = PartitionChange{ConfigType::kInvalid, Recalled},
               .former = std::move(former),
               .done = [this, app_id, name, request = std::move(request)](ErrorCode error) mutable {
                 reserved_names_.erase(name);
                 codec_.Answer(request, RecallAppResponse{error, state_.FindTable(app_id)->info});
               }});
}

void MetaServer::State::OnRename(InboundRequest& request) {
  auto rename = codec_.Decode<RenameAppRequest>(request);
  if (!rename || Defers(state_.FindTableByName(rename->old_app_name), request)) return;
  TableJudgement judgement = JudgeRename(state_, reserved_names_, *rename);
  if (judgement.next && !CanChangeTables()) judgement = {store_.WhyNoTableChange()};
  if (!judgement.next) {
    return codec_.Answer(request, RenameAppResponse{judgement.error, std::move(judgement.hint)});
  }
  const std::string name = judgement.next->app_name;
  reserved_names_.insert(name);
  BeginChange({.next = *std::move(judgement.next),
               .done = [this, name, request = std::move(request)](ErrorCode error) mutable {
                 reserved_names_.erase(name);
                 codec_.Answer(request, RenameAppResponse{error});
               }});
}

void MetaServer::State::OnUpdateAppEnv(InboundRequest& request) {
  auto update = codec_.Decode<UpdateAppEnvRequest>(request);
  if (!update) return;
  const Table* table = state_.FindTableByName(update->app_name);
  if (Defers(table, request)) return;
  EnvironmentJudgement judgement = JudgeEnvironments(table, *update);
  if (judgement.next && !CanChangeTables())
    judgement = {.response = {store_.WhyNoTableChange(), "the state can't be stored"}};
  if (!judgement.next) return codec_.Answer(request, judgement.response);
  BeginChange({.next = *std::move(judgement.next),
               .done = [this, response = std::move(judgement.response),
                        request = std::move(request)](ErrorCode error) mutable {
                 response.err = error;
                 codec_.Answer(request, response);
               }});
}

void MetaServer::State::OnSetMaxReplicaCount(InboundRequest& request) {
  auto set = codec_.Decode<SetMaxReplicaCountRequest>(request);
  if (!set) return;
  const Table* table = state_.FindTableByName(set->app_name);
  if (Defers(table, request)) return;
  TableJudgement judgement = JudgeReplicaCount(state_, Level(), LimitsOf(options_), *set);
  if (judgement.next && !CanChangeTables()) judgement = {store_.WhyNoTableChange()};
  const int32_t before =
      table != nullptr && judgement.error == ErrorCode::kOk ? table->info.max_replica_count : 0;
  if (!judgement.next) {
    return codec_.Answer(
        request, MaxReplicaCountResponse{judgement.error, before, std::move(judgement.hint)});
  }
  BeginChange({.next = *std::move(judgement.next),
               .of_partitions = WithReplicaCount(set->max_replica_count),
               .done = [this, before, request = std::move(request)](ErrorCode error) mutable {
                 codec_.Answer(request, MaxReplicaCountResponse{error, before});
               }});
}

void MetaServer::State::OnStartManualCompact(InboundRequest& request) {
  auto start = codec_.Decode<StartManualCompactRequest>(request);
  if (!start) return;
  const Table* table = state_.FindTableByName(start->app_name);
  if (Defers(table, request)) return;
  EnvironmentJudgement judgement = JudgeStartCompaction(table, *start, UnixSeconds());
  if (judgement.next && !CanChangeTables())
    judgement = {.response = {store_.WhyNoTableChange(), "the state can't be stored"}};
  if (!judgement.next) return codec_.Answer(request, judgement.response);
  const bool begins_now = start->trigger_time.value_or(0) <= UnixSeconds();
  BeginChange({.next = *std::move(judgement.next),
               .done = [this, begins_now, app_id = table->info.app_id,
                        response = std::move(judgement.response),
                        request = std::move(request)](ErrorCode error) mutable {
                 response.err = error;
                 // What was reported before says nothing of this one.
                 for (auto& [endpoint, node] : state_.nodes)
                   for (auto& [pid, report] : node.replicas)
                     if (begins_now && error == ErrorCode::kOk && pid.app_id == app_id)
                       report.manual_compact_status =
                           static_cast<int32_t>(ManualCompactStatus::kQueuing);
                 codec_.Answer(request, response);
               }});
}

// ---- one change after the other ----

bool MetaServer::State::Defers(const Table* table, InboundRequest& request) {
  if (table == nullptr || !changes_.contains(table->info.app_id)) return false;
  // While it is dropped or recalled the answer is that.
  if (table->info.status != AppStatus::kAvailable) return false;
  constexpr size_t kDeferredMax = 1000;
  if (deferred_.size() >= kDeferredMax) {
    request.responder.Reply(ErrorCode::kBusy);
    return true;
  }
  deferred_.push_back(std::move(request));
  return true;
}

void MetaServer::State::BeginChange(TableChange change) {
  const int32_t app_id = change.next.app_id;
  // Where an older copy of the state was put back, servers know larger versions than are stored.
  change.next.version = std::max(change.next.version.value_or(0), UnixSeconds());
  state_.FindTable(app_id)->partitions_change = change.of_partitions.has_value();
  const bool is_first = changes_.emplace(app_id, std::move(change)).second;
  CHECK(is_first) << app_id;
  ContinueChange(app_id);
}

// Once no change of its partitions is on its way to the store.
void MetaServer::State::ContinueChange(int32_t app_id) {
  auto found = changes_.find(app_id);
  if (found == changes_.end() || found->second.is_being_stored) return;
  TableChange& change = found->second;
  Table& table = *state_.FindTable(app_id);
  std::vector<MetaStore::Change> batch = {state_.ChangeOf(change.next)};
  if (change.of_partitions) {
    for (const Partition& partition : table.partitions) {
      if (partition.pending) return;
    }
    for (Partition& partition : table.partitions) {
      partition.pending = change.of_partitions->next(partition.config);
      batch.push_back(state_.ChangeOf(*partition.pending));
    }
  }
  change.is_being_stored = true;
  store_.Commit(std::move(batch), StoreNeed::kWhileRoom,
                [this, app_id](const absl::Status& stored) { FinishChange(app_id, stored); });
}

void MetaServer::State::FinishChange(int32_t app_id, const absl::Status& stored) {
  auto found = changes_.find(app_id);
  CHECK(found != changes_.end()) << app_id;
  TableChange change = std::move(found->second);
  changes_.erase(found);
  Table& table = *state_.FindTable(app_id);
  // Otherwise nothing is known any more: what was about to change stays as it is, and pending.
  if (stored.ok()) {
    table.info = change.next;
    table.partitions_change = false;
    for (Partition& partition : table.partitions) {
      if (!change.of_partitions) break;
      const bool members_stay = partition.pending->ballot == partition.config.ballot;
      if (!members_stay) {
        partition.intent.reset();
        partition.planned.clear();
      }
      Install(partition, *partition.pending, change.of_partitions->cause, Now());
    }
    LOG(INFO) << "meta: table " << table.info.app_name << ", id " << app_id << ", is now "
              << AppStatusName(table.info.status) << ", " << table.info.max_replica_count
              << " replicas, " << table.info.envs.size() << " environments";
    TellServers(table);
    SchedulePlan();
  } else if (!store_.is_failed()) {
    if (change.former) table.info = *std::move(change.former);
    table.partitions_change = false;
    for (Partition& partition : table.partitions)
      if (change.of_partitions) partition.pending.reset();
    SchedulePlan();
  }
  change.done(StoreGuard::ErrorOf(stored));
  for (int32_t i = 0; i < table.info.partition_count; ++i) JudgeHeldUpdates({app_id, i});
  for (InboundRequest& request : std::exchange(deferred_, {})) OnRequest(std::move(request));
}

// ---- telling ----

void MetaServer::State::TellServers(Table& table) {
  table.untold.clear();
  for (const auto& [endpoint, node] : state_.nodes) {
    // An older version's doesn't know the message: its config sync must do.
    if (node.alive && !node.is_older) table.untold.insert(endpoint);
  }
  table.tell_at = Now();
}

Instant MetaServer::State::TellWhenDue(Table& table, Instant now) {
  // The dead hear of it by the config sync of their return.
  std::erase_if(table.untold, [&](Endpoint node) { return !state_.IsAlive(node); });
  if (table.untold.empty()) return Instant::InfiniteFuture();
  if (now < table.tell_at) return table.tell_at;
  table.tell_at = now + kTellAgain;
  const int32_t app_id = table.info.app_id;
  const std::string body = codec_.Encode(TableChangedRequest{table.info});
  for (Endpoint node : table.untold) {
    transport_.Call(node, {.name = kRpcTableChanged, .body = body, .timeout = kTellAgain}, strand_,
                    [weak = weak_from_this(), app_id, version = table.info.version,
                     node](const RpcResult& result) {
                      auto self = weak.lock();
                      if (!self) return;
                      // Nor does one that is not known to be of an older version yet.
                      const bool heard = result.error == ErrorCode::kOk ||
                                         result.error == ErrorCode::kHandlerNotFound;
                      Table* table = self->state_.FindTable(app_id);
                      if (heard && table != nullptr && table->info.version == version)
                        table->untold.erase(node);
                    });
  }
  return table.tell_at;
}

}  // namespace arion
