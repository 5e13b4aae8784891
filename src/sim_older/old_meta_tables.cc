// Tables of a 2.5.0 meta server, and what it is asked (replica/OLDER.md 6).
// SPDX-License-Identifier: Apache-2.0
#include <absl/strings/str_format.h>

#include <algorithm>
#include <utility>

#include "messages/admin_messages.h"
#include "meta_state/cluster_state.h"
#include "sim_older/old_meta_requests.h"
#include "sim_older/old_meta_server.h"

namespace arion::sim {

bool OldMetaServer::HandleTable(InboundRequest& request) {
  const std::string& name = request.header.name;
  if (name == kRpcCreateApp) {
    if (const auto create = Take<CreateAppRequest>(request)) Create(std::move(request), *create);
  } else if (name == kRpcDropApp) {
    if (const auto drop = Take<DropAppRequest>(request)) Drop(std::move(request), *drop);
  } else if (name == kRpcRecallApp) {
    if (const auto recall = Take<RecallAppRequest>(request)) Recall(std::move(request), *recall);
  } else {
    return false;
  }
  return true;
}

ErrorCode OldMetaServer::Busy(const OldTable& table) const {
  switch (table.info.status) {
    case AppStatus::kCreating:
    case AppStatus::kRecalling:
      return ErrorCode::kBusyCreating;
    case AppStatus::kDropping:
      return ErrorCode::kBusyDropping;
    default:
      return ErrorCode::kOk;
  }
}

// nullopt: the table may be made. kOk: it is there already and like the one asked for; *existing
// has its id.
std::optional<ErrorCode> OldMetaServer::WhyNotCreated(const CreateAppRequest& create,
                                                      int32_t* existing) {
  const CreateAppOptions& options = create.options;
  if (Level() <= FunctionLevel::kFreezed) return ErrorCode::kStateFreezed;
  if (options.partition_count <= 0 || options.replica_count < 1 ||
      static_cast<size_t>(options.replica_count) >
          std::min(options_.replica_count_max, state_.AliveCount()))
    return ErrorCode::kInvalidParameters;
  const OldTable* table = state_.FindByName(create.app_name);
  if (table == nullptr) return std::nullopt;
  if (const ErrorCode busy = Busy(*table); busy != ErrorCode::kOk) return busy;
  if (!options.success_if_exist) return ErrorCode::kAppExist;
  const AppInfo& info = table->info;
  if (info.partition_count != options.partition_count || info.app_type != options.app_type ||
      info.envs != options.envs || info.is_stateful != options.is_stateful ||
      info.max_replica_count != options.replica_count)
    return ErrorCode::kInvalidParameters;
  *existing = info.app_id;
  return ErrorCode::kOk;
}

void OldMetaServer::Create(InboundRequest request, const CreateAppRequest& create) {
  CreateAppResponse response;
  if (const auto error = WhyNotCreated(create, &response.appid)) {
    response.err = *error;
    return Answer(request, response);
  }
  // Ids rise and are never given twice, because dropped tables stay in the map.
  const int32_t id = state_.tables.empty() ? 1 : state_.tables.rbegin()->first + 1;
  OldTable& table = state_.tables[id];
  table.info = {.status = AppStatus::kAvailable,
                .app_type = create.options.app_type,
                .app_name = create.app_name,
                .app_id = id,
                .partition_count = create.options.partition_count,
                .envs = create.options.envs,
                .is_stateful = create.options.is_stateful,
                .max_replica_count = create.options.replica_count,
                .create_second = NowSeconds(),
                .init_partition_count = create.options.partition_count};
  std::vector<MetaStore::Change> batch = {ClusterState().ChangeOf(table.info)};
  for (int32_t i = 0; i < create.options.partition_count; ++i) {
    PartitionConfiguration& config = table.partitions.emplace_back().config;
    config.pid = {id, i};
    config.max_replica_count = create.options.replica_count;
    batch.push_back(ClusterState().ChangeOf(config));
  }
  // Stored as available, shown as being created until the store has it. So a second request of that
  // name is told to wait.
  table.info.status = AppStatus::kCreating;
  auto shared = std::make_shared<InboundRequest>(std::move(request));
  Commit(std::move(batch), [this, shared, id] {
    state_.tables.at(id).info.status = AppStatus::kAvailable;
    Answer(*shared, CreateAppResponse{.appid = id});
  });
}

void OldMetaServer::Drop(InboundRequest request, const DropAppRequest& drop) {
  OldTable* table = state_.FindByName(drop.app_name);
  if (table == nullptr)
    return Answer(request,
                  DropAppResponse{drop.options.success_if_not_exist ? ErrorCode::kOk
                                                                    : ErrorCode::kAppNotExist});
  if (const ErrorCode busy = Busy(*table); busy != ErrorCode::kOk)
    return Answer(request, DropAppResponse{busy});
  // Two steps, as in 2.5.0: the table's own state is stored first, then each partition's
  // configuration without members. The client is answered after both.
  table->info.drop_second = NowSeconds();
  table->info.expire_second =
      NowSeconds() + drop.options.reserve_seconds.value_or(options_.hold_seconds);
  table->info.status = AppStatus::kDropped;
  const MetaStore::Change change = ClusterState().ChangeOf(table->info);
  // Stored as dropped, shown as dropping until all partitions are.
  table->info.status = AppStatus::kDropping;
  auto shared = std::make_shared<InboundRequest>(std::move(request));
  waiting_[table->info.app_id].push_back([shared] { Answer(*shared, DropAppResponse{}); });
  Commit({change}, [this, id = table->info.app_id] { GoOn(state_.tables.at(id)); });
}

void OldMetaServer::Recall(InboundRequest request, const RecallAppRequest& recall) {
  const auto found = state_.tables.find(recall.app_id);
  const auto refuse = [&request](ErrorCode error) {
    Answer(request, RecallAppResponse{.err = error});
  };
  if (found == state_.tables.end()) return refuse(ErrorCode::kAppNotExist);
  OldTable& table = found->second;
  if (const ErrorCode busy = Busy(table); busy != ErrorCode::kOk) return refuse(busy);
  if (table.info.status == AppStatus::kAvailable) return refuse(ErrorCode::kAppExist);
  if (table.info.expire_second <= NowSeconds()) return refuse(ErrorCode::kAppNotExist);
  const std::string name = recall.new_app_name.empty() ? table.info.app_name : recall.new_app_name;
  if (state_.FindByName(name) != nullptr) return refuse(ErrorCode::kInvalidParameters);
  // The way back, in the same two steps: the name and the state first, then each partition.
  table.info.app_name = name;
  table.info.drop_second = table.info.expire_second = 0;
  table.info.status = AppStatus::kAvailable;
  const MetaStore::Change change = ClusterState().ChangeOf(table.info);
  table.info.status = AppStatus::kRecalling;
  auto shared = std::make_shared<InboundRequest>(std::move(request));
  waiting_[recall.app_id].push_back([this, shared, id = recall.app_id] {
    Answer(*shared, RecallAppResponse{.info = state_.tables.at(id).info});
  });
  Commit({change}, [this, id = recall.app_id] { GoOn(state_.tables.at(id)); });
}

void OldMetaServer::FinishPartition(OldTable& table, OldPartition& partition) {
  // One change of a partition at a time; OnWritten comes back here when that one is stored.
  if (partition.pending) return;
  PartitionConfiguration config = partition.config;
  const bool is_dropping = table.info.status == AppStatus::kDropping;
  if (partition.IsDropped() == is_dropping) return;
  if (is_dropping) {
    // The members stay known as those who left last: a recall chooses the primary among them, so
    // the former one is noted last.
    for (Endpoint node : config.secondaries) OldNoteDropped(config, node);
    if (config.primary.IsValid()) OldNoteDropped(config, config.primary);
    config.secondaries.clear();
    config.primary = Endpoint{};
    partition.proposals.clear();
  }
  config.partition_flags ^= 1;
  config.ballot = config.ballot + 1;
  Write(std::move(config), [] {});
}

void OldMetaServer::GoOn(OldTable& table) {
  const bool is_dropping = table.info.status == AppStatus::kDropping;
  // Called after each step of a drop or a recall. It asks for what is still missing, and ends only
  // when every partition is through.
  for (OldPartition& partition : table.partitions) FinishPartition(table, partition);
  for (const OldPartition& partition : table.partitions)
    if (partition.pending || partition.IsDropped() != is_dropping) return;
  table.info.status = is_dropping ? AppStatus::kDropped : AppStatus::kAvailable;
  for (const auto& answer : std::exchange(waiting_[table.info.app_id], {})) answer();
  for (const OldPartition& partition : table.partitions)
    if (!is_dropping) Look(partition.config.pid);
}

// ---- queries ----

ListNodesResponse OldMetaServer::Nodes(NodeStatus status) const {
  ListNodesResponse response;
  for (const bool is_alive : {true, false}) {
    const NodeStatus of_these = is_alive ? NodeStatus::kAlive : NodeStatus::kUnalive;
    if (status != NodeStatus::kInvalid && status != of_these) continue;
    for (const auto& [endpoint, node] : state_.nodes)
      if (node.is_alive == is_alive) response.infos.push_back({of_these, endpoint});
  }
  return response;
}

ClusterInfoResponse OldMetaServer::Info() const {
  const std::string self = transport_.local().ToString();
  ClusterInfoResponse response;
  const auto add = [&response](const char* key, std::string value) {
    response.keys.push_back(key);
    response.values.push_back(std::move(value));
  };
  add("meta_servers", self);
  add("primary_meta_server", self);
  // What a joining server or a tool may look at; only the names and the form are 2.5.0's.
  add("zookeeper_hosts", "10.0.0.1:2181");
  add("zookeeper_root", absl::StrCat("/pegasus/", options_.cluster_name));
  add("meta_function_level", std::string(FunctionLevelName(Level())));
  add("balance_operation_count", "{}");
  add("primary_replica_count_stddev", "0.00");
  add("total_replica_count_stddev", "0.00");
  add("cluster_name", options_.cluster_name);
  return response;
}

bool OldMetaServer::HandleQuery(InboundRequest& request) {
  const std::string& name = request.header.name;
  if (name == kRpcQueryConfig) {
    const auto query = Take<QueryConfigRequest>(request);
    if (!query) return true;
    QueryConfigResponse response{.err = ErrorCode::kObjectNotFound};
    if (const OldTable* table = state_.FindByName(query->app_name)) {
      response.err = Busy(*table);
      if (response.err == ErrorCode::kOk) {
        response.app_id = table->info.app_id;
        response.partition_count = table->info.partition_count;
        response.is_stateful = true;
        for (const int32_t index : query->partition_indices)
          if (index >= 0 && index < table->info.partition_count)
            response.partitions.push_back(table->partitions[static_cast<size_t>(index)].config);
        if (response.partitions.empty())
          for (const OldPartition& partition : table->partitions)
            response.partitions.push_back(partition.config);
      }
    }
    Answer(request, response);
  } else if (name == kRpcListApps) {
    const auto list = Take<ListAppsRequest>(request);
    if (!list) return true;
    ListAppsResponse response;
    for (const auto& [id, table] : state_.tables)
      if (list->status == AppStatus::kInvalid || list->status == table.info.status)
        response.infos.push_back(table.info);
    Answer(request, response);
  } else if (name == kRpcListNodes) {
    if (const auto list = Take<ListNodesRequest>(request)) Answer(request, Nodes(list->status));
  } else if (name == kRpcClusterInfo) {
    Answer(request, Info());
  } else if (name == kRpcQueryBackupPolicy) {
    const auto query = Take<QueryBackupPolicyRequest>(request);
    if (!query) return true;
    QueryBackupPolicyResponse response;
    if (!query->policy_names.empty()) response.err = ErrorCode::kInvalidParameters;
    Answer(request, response);
  } else if (name == kRpcControlMeta) {
    const auto control = Take<ControlMetaRequest>(request);
    if (!control) return true;
    Answer(request, ControlMetaResponse{.old_level = level_});
    if (control->level == FunctionLevel::kInvalid) return true;
    level_ = control->level;
    // As 2.5.0: at steady and below, proposals that are not carried out yet are dropped.
    if (level_ > FunctionLevel::kSteady) return true;
    for (auto& [id, table] : state_.tables)
      for (OldPartition& partition : table.partitions) partition.proposals.clear();
  } else {
    return false;
  }
  return true;
}

}  // namespace arion::sim
