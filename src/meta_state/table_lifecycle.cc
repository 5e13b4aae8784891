// SPDX-License-Identifier: Apache-2.0
#include "meta_state/table_lifecycle.h"

#include <absl/strings/numbers.h>

#include <algorithm>

#include "base/status.h"
#include "messages/admin_messages.h"
#include "messages/index_definition.h"
#include "messages/table_environments.h"

namespace arion {
namespace {

constexpr size_t kNameBytesMax = 128;

bool IsTableName(std::string_view name) {
  auto allowed = [](char c) {
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '.' || c == ':';
  };
  return !name.empty() && name.size() <= kNameBytesMax &&
         std::all_of(name.begin(), name.end(), allowed);
}

bool IsIntegerWithin(std::string_view text, int64_t first, int64_t last) {
  int64_t value = 0;
  return absl::SimpleAtoi(Text(text), &value) && value >= first && value <= last;
}

// Of a new table's variables only those for RocksDB and indexes are checked (meta/STATE.md 9.3).
bool IsLegalRocksDbVariable(std::string_view key, std::string_view value) {
  if (key == "rocksdb.usage_scenario") {
    return value == "normal" || value == "prefer_write" || value == "bulk_load";
  }
  if (key == "rocksdb.write_buffer_size") return IsIntegerWithin(value, 16777216, 536870912);
  if (key == "rocksdb.num_levels") return IsIntegerWithin(value, 1, 10);
  if (key == "rocksdb.allow_ingest_behind") return value == "true" || value == "false";
  if (key == "rocksdb.checkpoint.reserve_min_count") return IsIntegerWithin(value, 1, INT32_MAX);
  if (key == "rocksdb.checkpoint.reserve_time_seconds") return IsIntegerWithin(value, 0, INT32_MAX);
  return false;
}

// What stands in the way of touching the table called `name`; nullopt: nothing, or there is none.
std::optional<ErrorCode> Busy(const Table* table, const std::set<std::string>& being_created,
                              const std::string& name) {
  if (being_created.contains(name)) return ErrorCode::kBusyCreating;
  if (table == nullptr) return std::nullopt;
  switch (table->info.status) {
    case AppStatus::kCreating:
    case AppStatus::kRecalling:
      return ErrorCode::kBusyCreating;
    case AppStatus::kDropping:
      return ErrorCode::kBusyDropping;
    default:
      return std::nullopt;
  }
}

// It is to begin with another cluster's data, and no partition has.
bool IsFollowerToBegin(const Table& table) {
  return table.info.envs.contains(kEnvMasterMetas) &&
         std::all_of(table.partitions.begin(), table.partitions.end(),
                     [](const Partition& p) { return p.config.ballot == Ballot(0); });
}

}  // namespace

CreateJudgement JudgeCreate(const ClusterState& state, FunctionLevel level,
                            const TableLimits& limits, const std::set<std::string>& being_created,
                            const CreateAppRequest& request, int64_t unix_seconds) {
  const CreateAppOptions& options = request.options;
  if (level <= FunctionLevel::kFreezed) return {ErrorCode::kStateFreezed};
  size_t indexes = 0;
  // A source cluster's variables are as its own meta server took them: those that are not known
  // here are kept, and nothing acts on them.
  const bool follows = options.envs.contains(kEnvMasterMetas);
  bool envs_ok = std::all_of(options.envs.begin(), options.envs.end(), [&](const auto& env) {
    if (IndexNameOf(env.first).has_value())
      return ++indexes <= kIndexesMax && CheckTableEnvironment(env.first, env.second).ok();
    return follows || !env.first.starts_with("rocksdb.") ||
           IsLegalRocksDbVariable(env.first, env.second);
  });
  if (!IsTableName(request.app_name) || options.partition_count <= 0 ||
      options.partition_count > kPartitionCountMax ||
      options.replica_count < limits.min_replica_count ||
      options.replica_count > limits.max_replica_count ||
      // With fewer servers alive the table could not get all its copies.
      options.replica_count > static_cast<int64_t>(state.AliveCount()) || !envs_ok) {
    return {ErrorCode::kInvalidParameters};
  }
  std::string app_type = options.app_type.empty() ? "pegasus" : options.app_type;
  const Table* existing = state.FindTableByName(request.app_name);
  if (std::optional<ErrorCode> busy = Busy(existing, being_created, request.app_name)) {
    return {*busy};
  }
  if (existing != nullptr) {
    // A repeated create whose answer was lost must succeed, if it asks for the same table.
    const AppInfo& info = existing->info;
    bool equal = info.partition_count == options.partition_count && info.app_type == app_type &&
                 info.envs == options.envs && info.max_replica_count == options.replica_count;
    // A source cluster repeats its create for ever without saying that it may exist. Once there are
    // data, they may be of an earlier duplication, behind which there is a hole.
    if (!options.success_if_exist && !(equal && IsFollowerToBegin(*existing)))
      return {ErrorCode::kAppExist};
    if (!equal) return {ErrorCode::kInvalidParameters};
    return {ErrorCode::kOk, info.app_id};
  }

  Table table;
  AppInfo& info = table.info;
  info.status = AppStatus::kAvailable;
  info.app_type = app_type;
  info.app_name = request.app_name;
  info.partition_count = options.partition_count;
  info.init_partition_count = options.partition_count;
  info.envs = options.envs;
  info.is_stateful = true;  // there is no other kind; clients that leave the field out mean it too
  info.max_replica_count = options.replica_count;
  info.create_second = unix_seconds;
  if (options.atomic_idempotent.value_or(false)) info.atomic_idempotent = true;
  // Above every id that was given so far, also to a table whose create failed afterwards.
  info.app_id = state.NextAppId();
  for (int32_t i = 0; i < info.partition_count; ++i) {
    Partition partition;
    partition.config.pid = {info.app_id, i};
    partition.config.max_replica_count = info.max_replica_count;
    table.partitions.push_back(std::move(partition));
  }
  return {ErrorCode::kOk, info.app_id, std::move(table)};
}

DropJudgement JudgeDrop(const ClusterState& state, const TableLimits& limits,
                        const std::set<std::string>& being_created, const DropAppRequest& request,
                        int64_t unix_seconds) {
  const Table* table = state.FindTableByName(request.app_name);
  if (std::optional<ErrorCode> busy = Busy(table, being_created, request.app_name)) return {*busy};
  if (table == nullptr) {
    return {request.options.success_if_not_exist ? ErrorCode::kOk : ErrorCode::kAppNotExist};
  }
  if (table->split) return {ErrorCode::kSplitting};
  int64_t reserve = request.options.reserve_seconds.value_or(0);
  // A hundred years. What a request says beyond that would overflow the sum.
  constexpr int64_t kReserveSecondsMax = int64_t{100} * 365 * 86400;
  // Without a time of its own the table is held as long as the settings say.
  if (reserve <= 0) reserve = absl::ToInt64Seconds(limits.hold_dropped);
  AppInfo dropped = table->info;
  dropped.status = AppStatus::kDropped;
  // They end with it.
  if (!table->duplications.empty()) dropped.duplicating = false;
  dropped.version = dropped.version.value_or(0) + 1;
  dropped.drop_second = unix_seconds;
  dropped.expire_second = unix_seconds + std::min(reserve, kReserveSecondsMax);
  return {ErrorCode::kOk, std::move(dropped)};
}

bool IsLetGo(const ClusterState& state, const Table& dropped) {
  return std::none_of(dropped.untold.begin(), dropped.untold.end(),
                      [&](Endpoint node) { return state.IsAlive(node); });
}

TableJudgement JudgeRecall(const ClusterState& state, const std::set<std::string>& being_created,
                           const RecallAppRequest& request, int64_t unix_seconds) {
  const Table* table = state.FindTable(request.app_id);
  if (table == nullptr) return {ErrorCode::kAppNotExist};
  switch (table->info.status) {
    case AppStatus::kDropped:
      break;
    case AppStatus::kDropping:
      return {ErrorCode::kBusyDropping};
    case AppStatus::kAvailable:
      return {ErrorCode::kAppExist};
    default:
      return {ErrorCode::kBusyCreating};
  }
  // From then on its replicas are garbage, and may have been set aside.
  if (table->info.expire_second <= unix_seconds) return {ErrorCode::kAppNotExist};
  AppInfo next = table->info;
  if (!request.new_app_name.empty()) next.app_name = request.new_app_name;
  // Meanwhile another table may have got the name.
  const bool is_taken =
      state.FindTableByName(next.app_name) != nullptr || being_created.contains(next.app_name);
  if (is_taken || !IsTableName(next.app_name)) return {ErrorCode::kInvalidParameters};
  next.status = AppStatus::kAvailable;
  next.expire_second = 0;
  next.drop_second = 0;
  next.version = next.version.value_or(0) + 1;
  return {.next = std::move(next)};
}

TableJudgement JudgeRename(const ClusterState& state, const std::set<std::string>& being_created,
                           const RenameAppRequest& request) {
  const std::string& from = request.old_app_name;
  const std::string& to = request.new_app_name;
  const Table* table = state.FindTableByName(from);
  if (std::optional<ErrorCode> busy = Busy(table, being_created, from)) {
    return {*busy, absl::StrCat("ERROR: app(", from, ") is being created or dropped")};
  }
  if (table == nullptr) {
    return {ErrorCode::kAppNotExist, absl::StrCat("ERROR: app(", from, ") does not exist")};
  }
  if (state.FindTableByName(to) != nullptr || being_created.contains(to)) {
    return {ErrorCode::kInvalidParameters, absl::StrCat("ERROR: app(", to, ") exists already")};
  }
  if (!IsTableName(to)) {
    return {ErrorCode::kInvalidParameters,
            "ERROR: app(new name) needs 1 to 128 letters, digits, and _ . :"};
  }
  AppInfo next = table->info;
  next.app_name = to;
  next.version = next.version.value_or(0) + 1;
  return {.next = std::move(next)};
}

TableJudgement JudgeReplicaCount(const ClusterState& state, FunctionLevel level,
                                 const TableLimits& limits,
                                 const SetMaxReplicaCountRequest& request) {
  const Table* table = state.FindTableByName(request.app_name);
  if (table == nullptr) return {ErrorCode::kAppNotExist, "there is no such table"};
  // While partitions differ nobody can say which count holds.
  const bool agree = std::all_of(
      table->partitions.begin(), table->partitions.end(), [&](const Partition& partition) {
        return partition.config.max_replica_count == table->info.max_replica_count;
      });
  if (!agree) return {ErrorCode::kInconsistentState, "its partitions have different counts"};
  if (table->info.status != AppStatus::kAvailable) {
    return {ErrorCode::kInvalidState,
            absl::StrCat("it is ", Text(AppStatusName(table->info.status)))};
  }
  // A child is made by as many members as its parent has.
  if (table->split) return {ErrorCode::kBusy, "it is being split"};
  if (level <= FunctionLevel::kFreezed) return {ErrorCode::kStateFreezed, "the cluster is freezed"};
  const int32_t count = request.max_replica_count;
  const auto alive = static_cast<int64_t>(state.AliveCount());
  if (count < limits.min_replica_count || count > limits.max_replica_count || count > alive) {
    return {ErrorCode::kInvalidParameters,
            absl::StrCat("it may be ", limits.min_replica_count, " to ", limits.max_replica_count,
                         ", and at most the ", alive, " servers that are alive")};
  }
  if (count == table->info.max_replica_count) {
    return {ErrorCode::kOk, absl::StrCat("it is ", count, " already")};
  }
  AppInfo next = table->info;
  next.max_replica_count = count;
  next.version = next.version.value_or(0) + 1;
  return {.next = std::move(next)};
}

}  // namespace arion
