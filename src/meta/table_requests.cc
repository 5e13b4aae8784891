// SPDX-License-Identifier: Apache-2.0
#include "meta/table_requests.h"

#include <string>
#include <vector>

#include "base/log.h"
#include "meta/owner_life.h"
#include "meta/request_codec.h"
#include "meta/request_handlers.h"
#include "meta/table_changes.h"
#include "meta_state/configuration_change.h"
#include "meta_state/table_environments.h"
#include "meta_state/table_lifecycle.h"
#include "meta_state/unix_seconds.h"

namespace arion {

void TableRequests::AddTo(RequestHandlers& handlers) {
  using Self = TableRequests;
  handlers.Add(kRpcCreateApp, this, &Self::OnCreate);
  handlers.Add(kRpcDropApp, this, &Self::OnDrop);
  handlers.Add(kRpcRecallApp, this, &Self::OnRecall);
  handlers.Add(kRpcRenameApp, this, &Self::OnRename);
  handlers.Add(kRpcUpdateAppEnv, this, &Self::OnUpdateAppEnv);
  handlers.Add(kRpcSetMaxReplicaCount, this, &Self::OnSetMaxReplicaCount);
  handlers.Add(kRpcStartManualCompact, this, &Self::OnStartManualCompact);
}

void TableRequests::OnCreate(InboundRequest& request) {
  auto create = RequestCodec::Decode<CreateAppRequest>(request);
  if (!create) return;
  CreateJudgement judgement =
      JudgeCreate(uses_.state, Level(), Limits(), uses_.changes.reserved_names(), *create,
                  UnixSeconds(uses_.clock));
  // After the judgement: a request that would fail or do nothing is answered so, even on a full
  // disk.
  if (judgement.table && !CanChangeTables()) judgement = {WhyNoTableChange()};
  if (!judgement.table) {
    // A source cluster that asks for its follower shows no person what it is answered.
    if (judgement.error != ErrorCode::kOk) {
      LOG_EVERY_T(WARNING, 10) << "meta: table '" << create->app_name << "' of "
                               << create->options.partition_count << " partitions x "
                               << create->options.replica_count << " with "
                               << create->options.envs.size()
                               << " environments is not created: " << judgement.error;
    }
    return uses_.codec.Answer(request, CreateAppResponse{judgement.error, judgement.app_id});
  }
  Table& table = *judgement.table;
  std::vector<MetaStore::Change> batch = {uses_.state.ChangeOf(table.info)};
  for (const Partition& partition : table.partitions) {
    batch.push_back(uses_.state.ChangeOf(partition.config));
  }
  // Name and id are taken before the store is asked: a second create meanwhile must get neither.
  uses_.changes.Reserve(table.info.app_name);
  uses_.state.last_reserved_app_id = table.info.app_id;
  uses_.store.Commit(std::move(batch), StoreNeed::kWhileRoom,
                     [this, table = std::move(table),
                      request = std::move(request)](const absl::Status& stored) mutable {
                       CreateAppResponse response{.appid = table.info.app_id};
                       uses_.changes.Release(table.info.app_name);
                       if (stored.ok()) {
                         LOG(INFO) << "meta: created table " << table.info.app_name << ", id "
                                   << table.info.app_id << ", " << table.info.partition_count
                                   << " partitions x " << table.info.max_replica_count;
                         uses_.state.tables[table.info.app_id] = std::move(table);
                         uses_.plan();
                       } else {
                         response = {StoreGuard::ErrorOf(stored)};
                       }
                       uses_.codec.Answer(request, response);
                     });
}

void TableRequests::OnDrop(InboundRequest& request) {
  auto drop = RequestCodec::Decode<DropAppRequest>(request);
  // Changes of one table come one after the other, here and below: a later one is read again when
  // the one under way has ended, and is judged by what that left.
  if (!drop || uses_.changes.Defers(uses_.state.FindTableByName(drop->app_name), request)) return;
  DropJudgement judgement = JudgeDrop(uses_.state, Limits(), uses_.changes.reserved_names(), *drop,
                                      UnixSeconds(uses_.clock));
  // Again after the judgement: what is refused in any case is answered with the reason that will
  // not go away.
  if (judgement.dropped && !CanChangeTables()) judgement = {WhyNoTableChange()};
  if (!judgement.dropped) return uses_.codec.Answer(request, DropAppResponse{judgement.error});
  Table& table = *uses_.state.FindTable(judgement.dropped->app_id);
  AppInfo& info = table.info;
  AppInfo former = info;
  // Memory shows at once that it is being dropped, so requests meanwhile are refused. `former` is
  // put back if the store refuses.
  info.status = AppStatus::kDropping;
  // The answer comes when both the table's state and every partition's configuration without
  // members are stored.
  uses_.changes.Begin({.next = *std::move(judgement.dropped),
                       .of_partitions = PartitionChange{ConfigType::kDropPartition, Emptied},
                       .of_duplications = RemovalOfAll(table),
                       .former = std::move(former),
                       .done = [this, request = std::move(request)](ErrorCode error) mutable {
                         uses_.codec.Answer(request, DropAppResponse{error});
                       }});
}

void TableRequests::OnRecall(InboundRequest& request) {
  Recall(request, uses_.clock.Now() + kRecallPatience);
}

void TableRequests::Recall(InboundRequest& request, Instant until) {
  auto recall = RequestCodec::Decode<RecallAppRequest>(request);
  // Judged anew at each look: meanwhile the table's time may be over, or its name taken.
  if (!recall || uses_.changes.Defers(uses_.state.FindTable(recall->app_id), request)) return;
  TableJudgement judgement =
      JudgeRecall(uses_.state, uses_.changes.reserved_names(), *recall, UnixSeconds(uses_.clock));
  if (judgement.next && !CanChangeTables()) judgement = {WhyNoTableChange()};
  if (!judgement.next) return uses_.codec.Answer(request, RecallAppResponse{judgement.error});
  const int32_t app_id = recall->app_id;
  // A primary from before the drop may answer from its lease until it hears of the drop, or is
  // dead.
  if (!IsLetGo(uses_.state, *uses_.state.FindTable(app_id))) {
    if (uses_.clock.Now() >= until)
      return uses_.codec.Answer(request, RecallAppResponse{ErrorCode::kBusyDropping});
    uses_.strand->PostAfter(kRecallLook,
                            uses_.life.While([this, request = std::move(request), until]() mutable {
                              if (!is_stopped_) Recall(request, until);
                            }));
    return;
  }
  const std::string name = judgement.next->app_name;
  uses_.changes.Reserve(name);
  AppInfo& info = uses_.state.FindTable(app_id)->info;
  AppInfo former = info;
  info.status = AppStatus::kRecalling;
  info.app_name = name;  // the former one may be another table's
  uses_.changes.Begin(
      {.next = *std::move(judgement.next),
       .of_partitions = PartitionChange{ConfigType::kInvalid, Recalled},
       .former = std::move(former),
       .done = [this, app_id, name, request = std::move(request)](ErrorCode error) mutable {
         uses_.changes.Release(name);
         uses_.codec.Answer(request, RecallAppResponse{error, uses_.state.FindTable(app_id)->info});
       }});
}

void TableRequests::OnRename(InboundRequest& request) {
  auto rename = RequestCodec::Decode<RenameAppRequest>(request);
  if (!rename || uses_.changes.Defers(uses_.state.FindTableByName(rename->old_app_name), request))
    return;
  TableJudgement judgement = JudgeRename(uses_.state, uses_.changes.reserved_names(), *rename);
  if (judgement.next && !CanChangeTables()) judgement = {WhyNoTableChange()};
  if (!judgement.next) {
    return uses_.codec.Answer(request,
                              RenameAppResponse{judgement.error, std::move(judgement.hint)});
  }
  // Taken until the change has ended, so that no other table gets it meanwhile.
  const std::string name = judgement.next->app_name;
  uses_.changes.Reserve(name);
  uses_.changes.Begin({.next = *std::move(judgement.next),
                       .done = [this, name, request = std::move(request)](ErrorCode error) mutable {
                         uses_.changes.Release(name);
                         uses_.codec.Answer(request, RenameAppResponse{error});
                       }});
}

void TableRequests::OnUpdateAppEnv(InboundRequest& request) {
  auto update = RequestCodec::Decode<UpdateAppEnvRequest>(request);
  if (!update) return;
  const Table* table = uses_.state.FindTableByName(update->app_name);
  if (uses_.changes.Defers(table, request)) return;
  EnvironmentJudgement judgement = JudgeEnvironments(table, *update);
  if (judgement.next && !CanChangeTables())
    judgement = {.response = {WhyNoTableChange(), "the state can't be stored"}};
  if (!judgement.next) return uses_.codec.Answer(request, judgement.response);
  uses_.changes.Begin({.next = *std::move(judgement.next),
                       .done = [this, response = std::move(judgement.response),
                                request = std::move(request)](ErrorCode error) mutable {
                         response.err = error;
                         uses_.codec.Answer(request, response);
                       }});
}

void TableRequests::OnSetMaxReplicaCount(InboundRequest& request) {
  auto set = RequestCodec::Decode<SetMaxReplicaCountRequest>(request);
  if (!set) return;
  const Table* table = uses_.state.FindTableByName(set->app_name);
  if (uses_.changes.Defers(table, request)) return;
  TableJudgement judgement = JudgeReplicaCount(uses_.state, Level(), Limits(), *set);
  if (judgement.next && !CanChangeTables()) judgement = {WhyNoTableChange()};
  // Read now: by the time of the answer the table has the new count.
  const int32_t before =
      table != nullptr && judgement.error == ErrorCode::kOk ? table->info.max_replica_count : 0;
  if (!judgement.next) {
    return uses_.codec.Answer(
        request, MaxReplicaCountResponse{judgement.error, before, std::move(judgement.hint)});
  }
  uses_.changes.Begin(
      {.next = *std::move(judgement.next),
       .of_partitions = WithReplicaCount(set->max_replica_count),
       .done = [this, before, request = std::move(request)](ErrorCode error) mutable {
         uses_.codec.Answer(request, MaxReplicaCountResponse{error, before});
       }});
}

void TableRequests::OnStartManualCompact(InboundRequest& request) {
  auto start = RequestCodec::Decode<StartManualCompactRequest>(request);
  if (!start) return;
  const Table* table = uses_.state.FindTableByName(start->app_name);
  if (uses_.changes.Defers(table, request)) return;
  EnvironmentJudgement judgement = JudgeStartCompaction(table, *start, UnixSeconds(uses_.clock));
  if (judgement.next && !CanChangeTables())
    judgement = {.response = {WhyNoTableChange(), "the state can't be stored"}};
  if (!judgement.next) return uses_.codec.Answer(request, judgement.response);
  // A time in the future is only stored: the servers' clocks start it then.
  const bool begins_now = start->trigger_time.value_or(0) <= UnixSeconds(uses_.clock);
  uses_.changes.Begin({.next = *std::move(judgement.next),
                       .done = [this, begins_now, app_id = table->info.app_id,
                                response = std::move(judgement.response),
                                request = std::move(request)](ErrorCode error) mutable {
                         response.err = error;
                         if (begins_now && error == ErrorCode::kOk) ShowCompactionQueued(app_id);
                         uses_.codec.Answer(request, response);
                       }});
}

// What was reported before says nothing of the one that begins now.
void TableRequests::ShowCompactionQueued(int32_t app_id) {
  for (auto& [endpoint, node] : uses_.state.nodes)
    for (auto& [pid, report] : node.replicas)
      if (pid.app_id == app_id)
        report.manual_compact_status = static_cast<int32_t>(ManualCompactStatus::kQueuing);
}

}  // namespace arion
