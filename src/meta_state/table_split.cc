// SPDX-License-Identifier: Apache-2.0
#include "meta_state/table_split.h"

#include <absl/strings/str_cat.h>
#include <absl/strings/str_join.h>
#include <rapidjson/document.h>

#include <algorithm>
#include <bit>
#include <utility>

#include "base/log.h"
#include "base/status.h"
#include "messages/table_environments.h"
#include "meta_state/configuration_change.h"
#include "meta_state/store_change.h"

namespace arion {
namespace {

constexpr char kSplitPrefix[] = "/arion/split/";

bool IsUnregistered(const Table& table, int32_t index) {
  return table.partitions[static_cast<size_t>(index)].IsUnregistered();
}

absl::StatusOr<TableSplit> ParseSplit(const std::string& key, const std::string& text) {
  const auto damaged = [&] {
    return absl::DataLossError(absl::StrCat("meta state, key ", key, ": not a split"));
  };
  rapidjson::Document json;
  json.Parse(text.data(), text.size());
  if (json.HasParseError() || !json.IsObject()) return damaged();
  const auto from = json.FindMember("from"), paused = json.FindMember("paused");
  const auto end = json.MemberEnd();
  if (from == end || !from->value.IsInt() || paused == end || !paused->value.IsArray())
    return damaged();
  TableSplit split{.from = from->value.GetInt()};
  for (const auto& index : paused->value.GetArray()) {
    if (!index.IsInt()) return damaged();
    split.paused.insert(index.GetInt());
  }
  return split;
}

}  // namespace

SplitStatus SplitStatusOf(const Table& table, int32_t index) {
  if (!table.split || index < 0 || index >= table.split->from) return SplitStatus::kNotSplit;
  if (!IsUnregistered(table, index + table.split->from)) return SplitStatus::kNotSplit;
  return table.split->paused.contains(index) ? SplitStatus::kPaused : SplitStatus::kSplitting;
}

AppInfo InfoFor(const Table& table, int32_t index) {
  AppInfo info = table.info;
  if (SplitStatusOf(table, index) != SplitStatus::kNotSplit)
    info.partition_count = table.split->from;
  return info;
}

AppInfo InfoForAll(const Table& table) {
  AppInfo info = table.info;
  if (table.split) info.partition_count = table.split->from;
  return info;
}

bool IsAwaitedChild(const Table& table, int32_t index) {
  return table.split && index < table.info.partition_count &&
         SplitStatusOf(table, index - table.split->from) == SplitStatus::kSplitting;
}

int32_t RegisteredChildren(const Table& table) {
  const auto unregistered = std::count_if(table.partitions.begin(), table.partitions.end(),
                                          [](const Partition& p) { return p.IsUnregistered(); });
  return table.split ? table.split->from - static_cast<int32_t>(unregistered) : 0;
}

std::optional<absl::Duration> SplitTimeLeft(const Table& table, Instant now) {
  if (!table.split || !table.split->paused.empty() || table.split->registered_since == 0)
    return std::nullopt;
  const TableSplit& split = *table.split;
  const absl::Duration for_each =
      (split.last_registered - split.measured_since) / split.registered_since;
  const absl::Duration left = for_each * (split.from - RegisteredChildren(table));
  return std::max(absl::ZeroDuration(), left - (now - split.last_registered));
}

StoreChange ChangeOfSplit(int32_t app_id, const std::optional<TableSplit>& split) {
  StoreChange change{absl::StrCat(kSplitPrefix, app_id), std::nullopt};
  if (split)
    change.value = absl::StrCat("{\"from\":", split->from, ",\"paused\":[",
                                absl::StrJoin(split->paused, ","), "]}");
  return change;
}

absl::StatusOr<std::optional<TableSplit>> LoadSplit(
    const std::map<std::string, std::string>& entries, const AppInfo& info,
    const std::vector<bool>& stored) {
  const int32_t half = info.partition_count / 2;
  const auto child_is_stored = [&](int32_t parent) {
    return static_cast<bool>(stored[static_cast<size_t>(parent + half)]);
  };
  bool any_missing = false;
  for (int32_t parent = 0; parent < half; ++parent) any_missing |= !child_is_stored(parent);
  const auto found = entries.find(absl::StrCat(kSplitPrefix, info.app_id));
  // A record without children that are missing is over.
  if (!any_missing || info.partition_count % 2 != 0) return std::nullopt;
  if (found == entries.end()) {
    // An older version stores no more than this of a split that it began.
    const auto env = info.envs.find(kEnvValidatePartitionHash);
    if (env == info.envs.end() || env->second != "true") return std::nullopt;
    return TableSplit{.from = half};
  }
  ASSIGN_OR_RETURN(TableSplit split, ParseSplit(found->first, found->second));
  if (split.from != half)
    return absl::DataLossError(
        absl::StrCat("meta state, key ", found->first, ": is of another partition count"));
  std::erase_if(split.paused, [&](int32_t parent) {
    return parent < 0 || parent >= half || child_is_stored(parent);
  });
  return split;
}

PartitionConfiguration UnregisteredChild(const AppInfo& info, int32_t index) {
  return {.pid = {info.app_id, index},
          .ballot = kBallotOfUnregistered,
          .max_replica_count = info.max_replica_count};
}

PartitionConfiguration ChildOf(const TableSplit& split, const PartitionConfiguration& parent,
                               Decree decree) {
  PartitionConfiguration child = parent;
  child.pid.index += split.from;
  child.last_drops.clear();
  child.last_committed_decree = decree;
  return child;
}

const char* WhyNotRegistered(const ClusterState& state, const Table& table,
                             const ConfigurationUpdateRequest& request) {
  const PartitionId pid = request.config.pid;
  const Partition& parent = table.partitions[static_cast<size_t>(pid.index)];
  const PartitionConfiguration& now = parent.config;
  const SplitStatus status = SplitStatusOf(table, pid.index);
  if (status == SplitStatus::kPaused) return "its split is paused";
  if (status != SplitStatus::kSplitting) return "it is not being split";
  if (now.MemberCount() < static_cast<size_t>(now.max_replica_count))
    return "a member is missing, and would be missing of the child";
  const auto is_older = [&](Endpoint member) {
    const Node* node = state.FindNode(member);
    return node == nullptr || node->is_older;
  };
  if (is_older(now.primary) ||
      std::any_of(now.secondaries.begin(), now.secondaries.end(), is_older))
    return "a member is of an older version, and makes no child";
  if (!request.child_decree || *request.child_decree < parent.KnownCommitted())
    return "the child ends before what is known to be committed";
  return nullptr;
}

bool IsLastChild(const Table& table, int32_t child) {
  return std::all_of(table.partitions.begin(), table.partitions.end(), [&](const Partition& p) {
    return !p.IsUnregistered() || p.pending || p.config.pid.index == child;
  });
}

void InstallSplit(Table& table, std::optional<TableSplit> split, Instant now) {
  table.split = std::move(split);
  if (table.split) {
    // What was paused takes no time of the others.
    table.split->measured_since = now;
    table.split->registered_since = 0;
  }
  // A split that is taken back leaves only partitions that were there before.
  const size_t before = table.partitions.size();
  table.partitions.resize(static_cast<size_t>(table.info.partition_count));
  for (size_t i = before; i < table.partitions.size(); ++i)
    table.partitions[i].config = UnregisteredChild(table.info, static_cast<int32_t>(i));
  table.is_committed_unstored = true;
}

bool InstallChild(Table& table, PartitionConfiguration child, int64_t older_reports, Instant now) {
  CHECK(table.split) << child.pid;
  Partition& partition = table.partitions[static_cast<size_t>(child.pid.index)];
  const Partition& parent =
      table.partitions[static_cast<size_t>(child.pid.index - table.split->from)];
  CHECK(partition.IsUnregistered()) << "table_split/C2: " << child.pid;
  Install(partition, std::move(child), ConfigType::kRegisterChild, now);
  // Each member made it of what it had durably applied. A process that began since is not known to
  // have it still.
  for (Endpoint member : parent.serving)
    if (partition.config.IsMember(member)) partition.serving.insert(member);
  partition.older_reports = older_reports;
  partition.committed = {.decree = partition.config.last_committed_decree,
                         .older_reports = older_reports};
  table.is_committed_unstored = true;
  ++table.split->registered_since;
  table.split->last_registered = now;
  const bool is_last = RegisteredChildren(table) == table.split->from;
  if (is_last) table.split.reset();
  return is_last;
}

// ---- judgement ----

namespace {

// nullopt: the table is there, and available.
std::optional<SplitJudgement> WhyNoTable(const Table* table) {
  if (table == nullptr) return SplitJudgement{ErrorCode::kAppNotExist, "app not existed"};
  if (table->info.status != AppStatus::kAvailable)
    return SplitJudgement{ErrorCode::kAppDropped, "app dropped"};
  return std::nullopt;
}

const char* StatusText(SplitStatus status) {
  return status == SplitStatus::kPaused ? "split_status::PAUSED" : "split_status::SPLITTING";
}

// `split` with what pause (or restart) makes of it; or why not.
SplitJudgement Pause(const Table& table, const ControlSplitRequest& request) {
  const bool pauses = request.control_type == static_cast<int32_t>(SplitControl::kPause);
  const SplitStatus before = pauses ? SplitStatus::kSplitting : SplitStatus::kPaused;
  const int32_t index = request.parent_pidx;
  TableSplit next = *table.split;
  const auto change = [&](int32_t parent) {
    pauses ? void(next.paused.insert(parent)) : void(next.paused.erase(parent));
  };
  if (index >= next.from)
    return {ErrorCode::kInvalidParameters,
            absl::StrCat("invalid parent partition index(", index, ")")};
  if (index >= 0) {
    const SplitStatus status = SplitStatusOf(table, index);
    if (status == SplitStatus::kNotSplit)
      return {pauses ? ErrorCode::kChildRegistered : ErrorCode::kInvalidState,
              absl::StrCat("partition[", index, "] is not splitting")};
    if (status != before)
      return {ErrorCode::kInvalidState,
              absl::StrCat("partition[", index, "] wrong split_status(", StatusText(status), ")")};
    change(index);
  } else {
    for (int32_t parent = 0; parent < next.from; ++parent)
      if (SplitStatusOf(table, parent) == before) change(parent);
    if (next.paused == table.split->paused) return {};
  }
  return {.next = table.info, .split = std::move(next)};
}

SplitJudgement Cancel(const Table& table, const ControlSplitRequest& request) {
  const int32_t from = table.split->from;
  if (request.old_partition_count != from)
    return {ErrorCode::kInvalidParameters, absl::StrCat("wrong partition_count, should be ", from)};
  if (RegisteredChildren(table) > 0)
    return {ErrorCode::kChildRegistered, "some partitions have already finished split"};
  AppInfo next = table.info;
  next.partition_count = from;
  return {.next = std::move(next)};
}

}  // namespace

SplitJudgement JudgeStartSplit(const ClusterState& state, FunctionLevel level,
                               const StartSplitRequest& request) {
  const Table* table = state.FindTableByName(request.app_name);
  if (auto why = WhyNoTable(table)) return *std::move(why);
  const int32_t from = table->info.partition_count, to = 2 * from;
  if (request.new_partition_count != to)
    return {ErrorCode::kInvalidParameters, absl::StrCat("wrong partition_count, should be ", to)};
  if (table->split)
    return {ErrorCode::kBusy,
            absl::StrCat("app(", request.app_name, ") is already executing partition split")};
  // By their bits clients and servers tell which half of a partition's keys moves.
  if (!std::has_single_bit(static_cast<uint32_t>(from)))
    return {ErrorCode::kInvalidParameters,
            absl::StrCat("it has ", from, " partitions: only a power of two can be doubled")};
  if (to > kPartitionCountMax)
    return {ErrorCode::kInvalidParameters,
            absl::StrCat("a table has at most ", kPartitionCountMax, " partitions")};
  if (table->info.is_bulk_loading) return {ErrorCode::kBusy, "it is being bulk loaded"};
  if (table->info.duplicating) return {ErrorCode::kBusy, "it is being duplicated"};
  if (level <= FunctionLevel::kFreezed) return {ErrorCode::kStateFreezed, "the cluster is freezed"};
  for (const auto& [endpoint, node] : state.nodes)
    if (node.alive && node.is_older)
      return {ErrorCode::kInvalidState,
              absl::StrCat(endpoint.ToString(),
                           " is of an older version, whose servers take no part in splits: upgrade "
                           "all servers first")};
  AppInfo next = table->info;
  next.partition_count = to;
  if (next.init_partition_count <= 0) next.init_partition_count = from;
  // From now on a record may lie in two partitions, and only its owner shows it.
  next.envs[kEnvValidatePartitionHash] = "true";
  next.version = next.version.value_or(0) + 1;
  return {.next = std::move(next), .split = TableSplit{.from = from}};
}

SplitJudgement JudgeControlSplit(const ClusterState& state, const ControlSplitRequest& request) {
  const Table* table = state.FindTableByName(request.app_name);
  if (auto why = WhyNoTable(table)) return *std::move(why);
  if (!table->split)
    return {ErrorCode::kInvalidState, absl::StrCat("app(", request.app_name, ") is not splitting")};
  SplitJudgement judgement{ErrorCode::kInvalidParameters, "unknown kind of control"};
  if (request.control_type == static_cast<int32_t>(SplitControl::kCancel))
    judgement = Cancel(*table, request);
  else if (request.control_type == static_cast<int32_t>(SplitControl::kPause) ||
           request.control_type == static_cast<int32_t>(SplitControl::kRestart))
    judgement = Pause(*table, request);
  if (judgement.next) judgement.next->version = judgement.next->version.value_or(0) + 1;
  return judgement;
}

}  // namespace arion
