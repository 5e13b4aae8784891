// SPDX-License-Identifier: Apache-2.0
#include "meta_state/table_duplication.h"

#include <absl/strings/numbers.h>
#include <absl/strings/str_cat.h>
#include <rapidjson/document.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <algorithm>
#include <utility>

#include "base/status.h"
#include "messages/table_environments.h"
#include "meta_state/store_change.h"
#include "meta_state/stored_json.h"

namespace arion {
namespace {

constexpr absl::Duration kStoreInterval = absl::Seconds(5);
// A decree beyond this comes from a damaged or hostile message.
constexpr int64_t kDecreeMax = int64_t{1} << 61;
constexpr size_t kTroubleBytesMax = 1000;
constexpr size_t kRemoteNameBytesMax = 128;

std::string KeyOf(int32_t app_id, int32_t dupid) {
  return absl::StrCat("/apps/", app_id, "/duplication/", dupid);
}
std::string KeyOf(PartitionId pid, int32_t dupid) {
  return absl::StrCat(KeyOf(pid.app_id, dupid), "/", pid.index);
}

std::string JsonOf(const DuplicationInfo& info, std::string_view other) {
  rapidjson::StringBuffer buffer;
  rapidjson::Writer json(buffer);
  const auto write = [&json](const char* key, std::string_view text) {
    json.Key(key);
    json.String(text.data(), static_cast<rapidjson::SizeType>(text.size()));
  };
  json.StartObject();
  write("remote", info.remote);
  write("status", DuplicationStatusName(info.status));
  json.Key("create_timestamp_ms");
  json.Int64(info.created_ms);
  write("fail_mode", DuplicationFailModeName(info.fail_mode));
  if (!info.remote_app_name.empty()) write("remote_app_name", info.remote_app_name);
  if (info.remote_replica_count > 0) {
    json.Key("remote_replica_count");
    json.Int(info.remote_replica_count);
  }
  json.EndObject();
  std::string text(buffer.GetString(), buffer.GetSize());
  text.insert(text.size() - 1, other);
  return text;
}

// The value of which that is the name; nullopt: none of these.
template <class Enum>
std::optional<Enum> FromName(std::string_view text, std::string_view (*name)(Enum), Enum last) {
  for (int32_t i = 0; i <= static_cast<int32_t>(last); ++i)
    if (name(static_cast<Enum>(i)) == text) return static_cast<Enum>(i);
  return std::nullopt;
}

// What is understood; the rest is named in not_understood.
Duplication ParseDuplication(const std::string& text) {
  Duplication duplication;
  DuplicationInfo& info = duplication.info;
  rapidjson::Document json;
  json.Parse(text.data(), text.size());
  if (json.HasParseError() || !json.IsObject()) {
    duplication.not_understood = "it is no JSON object";
    return duplication;
  }
  const auto doubt = [&](const char* key) {
    if (duplication.not_understood.empty()) duplication.not_understood = key;
  };
  const auto read_text = [&](const char* key, bool is_needed) -> std::string {
    const auto found = json.FindMember(key);
    if (found == json.MemberEnd() && !is_needed) return "";
    if (found == json.MemberEnd() || !found->value.IsString()) return doubt(key), "";
    return {found->value.GetString(), found->value.GetStringLength()};
  };
  info.remote = read_text("remote", true);
  if (info.remote.empty()) doubt("remote");
  info.remote_app_name = read_text("remote_app_name", false);
  if (const auto status =
          FromName(read_text("status", true), DuplicationStatusName, DuplicationStatus::kRemoved))
    info.status = *status;
  else
    doubt("status");
  if (const auto mode = FromName(read_text("fail_mode", true), DuplicationFailModeName,
                                 DuplicationFailMode::kFast))
    info.fail_mode = *mode;
  else
    doubt("fail_mode");
  const auto created = json.FindMember("create_timestamp_ms");
  if (created != json.MemberEnd() && created->value.IsInt64())
    info.created_ms = created->value.GetInt64();
  if (const auto count = json.FindMember("remote_replica_count"); count != json.MemberEnd()) {
    if (count->value.IsInt() && count->value.GetInt() >= 0)
      info.remote_replica_count = count->value.GetInt();
    else
      doubt("remote_replica_count");
  }
  duplication.other_members =
      OtherMembers(text, {"remote", "status", "create_timestamp_ms", "fail_mode", "remote_app_name",
                          "remote_replica_count"});
  return duplication;
}

void LoadProgress(const std::map<std::string, std::string>& entries, PartitionId pid, int32_t dupid,
                  Duplication& duplication) {
  const auto found = entries.find(KeyOf(pid, dupid));
  if (found == entries.end()) return;
  DuplicationProgress& progress = duplication.partitions[static_cast<size_t>(pid.index)];
  int64_t decree = 0;
  if (!absl::SimpleAtoi(found->second, &decree) || decree < -1 || decree > kDecreeMax) {
    if (duplication.not_understood.empty())
      duplication.not_understood = absl::StrCat("progress of partition ", pid.index);
    return;
  }
  progress.stored = progress.confirmed = Decree(decree);
}

}  // namespace

std::vector<StoreChange> ChangesOf(const Table& table, const DuplicationChange& change) {
  const int32_t app_id = table.info.app_id;
  if (change.next) {
    const auto found = table.duplications.find(change.dupid);
    const bool is_new = found == table.duplications.end();
    return {{KeyOf(app_id, change.dupid),
             JsonOf(*change.next, is_new ? std::string_view() : found->second.other_members)}};
  }
  std::vector<StoreChange> changes = {{KeyOf(app_id, change.dupid), std::nullopt}};
  for (int32_t i = 0; i < table.info.partition_count; ++i)
    changes.push_back({KeyOf({app_id, i}, change.dupid), std::nullopt});
  return changes;
}

StoreChange ChangeOf(const ProgressChange& change) {
  return {KeyOf(change.pid, change.dupid), absl::StrCat(change.decree.value())};
}

void LoadDuplications(const std::map<std::string, std::string>& entries, Table* table) {
  const int32_t app_id = table->info.app_id;
  const std::string prefix = absl::StrCat("/apps/", app_id, "/duplication/");
  for (auto at = entries.lower_bound(prefix); at != entries.end() && at->first.starts_with(prefix);
       ++at) {
    int32_t dupid = 0;
    if (!absl::SimpleAtoi(absl::string_view(at->first).substr(prefix.size()), &dupid)) continue;
    // Another spelling of the number is no key of ours.
    if (at->first != KeyOf(app_id, dupid)) continue;
    Duplication duplication = ParseDuplication(at->second);
    // Its removal was interrupted.
    if (duplication.info.status == DuplicationStatus::kRemoved) continue;
    duplication.partitions.resize(table->partitions.size());
    for (int32_t i = 0; i < table->info.partition_count; ++i)
      LoadProgress(entries, {app_id, i}, dupid, duplication);
    // What it was is not known: nothing is sent, and nothing is let go.
    if (!duplication.not_understood.empty()) duplication.info.status = DuplicationStatus::kPause;
    table->duplications.emplace(dupid, std::move(duplication));
  }
  if (!table->duplications.empty()) table->info.duplicating = true;
}

void InstallDuplications(Table& table, const std::vector<DuplicationChange>& changes) {
  for (const DuplicationChange& change : changes) {
    if (!change.next) {
      table.duplications.erase(change.dupid);
      continue;
    }
    Duplication& duplication = table.duplications[change.dupid];
    duplication.info = *change.next;
    duplication.partitions.resize(table.partitions.size());
    duplication.not_understood.clear();
    duplication.trouble.clear();
  }
}

const std::string& RemoteNameOf(const Table& table, const DuplicationInfo& info) {
  return info.remote_app_name.empty() ? table.info.app_name : info.remote_app_name;
}

// ---- what tools ask for ----

namespace {

DuplicationJudgement Refused(ErrorCode error, std::string hint) {
  return {.error = error, .hint = std::move(hint)};
}

// nullptr: there is none that is available.
const Table* AvailableTable(const ClusterState& state, const std::string& name) {
  const Table* table = state.FindTableByName(name);
  return table != nullptr && table->info.status == AppStatus::kAvailable ? table : nullptr;
}

bool MayBecome(DuplicationStatus from, DuplicationStatus to) {
  using S = DuplicationStatus;
  switch (to) {
    case S::kPrepare:
      return from == S::kInit;
    case S::kApp:
      return from == S::kPrepare;
    case S::kLog:
      return from == S::kInit || from == S::kApp || from == S::kPause;
    case S::kPause:
      return from == S::kLog;
    case S::kRemoved:
      return true;
    case S::kInit:
      break;
  }
  return false;
}

// To be stored: what the table is with that change.
DuplicationJudgement ToStore(const Table& table, DuplicationChange change) {
  AppInfo next = table.info;
  next.version = next.version.value_or(0) + 1;
  const bool is_last = table.duplications.size() == 1 && !change.next;
  next.duplicating = !is_last;
  return {.app_id = table.info.app_id, .next = std::move(next), .change = std::move(change)};
}

std::string NoIdOf(const std::string& cluster) {
  return absl::StrCat("get_duplication_cluster_id(", cluster,
                      ") failed, error: it is not in [duplication-group]");
}

}  // namespace

DuplicationJudgement JudgeAddDuplication(const ClusterState& state, const KnownClusters& clusters,
                                         const AddDuplicationRequest& request, int64_t unix_ms) {
  const std::string& remote = request.remote_cluster_name;
  const auto invalid = [](std::string hint) {
    return Refused(ErrorCode::kInvalidParameters, std::move(hint));
  };
  if (remote == clusters.own) return invalid("illegal operation: adding duplication to itself");
  for (const std::string& cluster : {remote, clusters.own})
    if (!clusters.ids.contains(cluster)) return invalid(NoIdOf(cluster));
  if (!clusters.reachable.contains(remote))
    return invalid(
        absl::StrCat("failed to find cluster[", remote, "] address in config [pegasus.clusters]"));
  const int32_t replica_count = request.remote_replica_count.value_or(0);
  if (replica_count < 0) return invalid("remote_replica_count is below 0");
  const Table* table = AvailableTable(state, request.app_name);
  if (table == nullptr) return Refused(ErrorCode::kAppNotExist, "app not existed");
  const int32_t app_id = table->info.app_id;
  for (const auto& [dupid, duplication] : table->duplications) {
    if (duplication.info.remote != remote) continue;
    // Clients of 2.5.0 don't know the code that says it.
    const bool knows = request.remote_app_name || request.remote_replica_count;
    return {.error = knows ? ErrorCode::kDupExist : ErrorCode::kOk,
            .hint = "it is duplicated there already",
            .app_id = app_id,
            .change = {dupid, duplication.info}};
  }
  std::string remote_name = request.remote_app_name.value_or("");
  if (remote_name.empty()) remote_name = request.app_name;
  if (remote_name.size() > kRemoteNameBytesMax) return invalid("remote_app_name is too long");
  for (const auto& [other_id, other] : state.tables)
    for (const auto& [dupid, duplication] : other.duplications)
      if (duplication.info.remote == remote && RemoteNameOf(other, duplication.info) == remote_name)
        return invalid(absl::StrCat("table ", other.info.app_name,
                                    " is duplicated to that table of that cluster"));
  if (table->split)
    return Refused(ErrorCode::kSplitting, "it is being split: add it when that has ended");
  // Ids are the times at which they were made, as far as these are free.
  int32_t dupid = static_cast<int32_t>(std::clamp<int64_t>(unix_ms / 1000, 1, INT32_MAX - 1000));
  while (table->duplications.contains(dupid)) ++dupid;
  const bool with_checkpoint = request.is_duplicating_checkpoint.value_or(true);
  return ToStore(*table,
                 {.dupid = dupid,
                  .next = DuplicationInfo{.remote = remote,
                                          .remote_app_name = std::move(remote_name),
                                          .remote_replica_count = replica_count,
                                          .status = with_checkpoint ? DuplicationStatus::kPrepare
                                                                    : DuplicationStatus::kLog,
                                          .created_ms = unix_ms}});
}

DuplicationJudgement JudgeModifyDuplication(const ClusterState& state,
                                            const ModifyDuplicationRequest& request) {
  const Table* table = AvailableTable(state, request.app_name);
  if (table == nullptr) return Refused(ErrorCode::kAppNotExist, "app not existed");
  const auto found = table->duplications.find(request.dupid);
  if (found == table->duplications.end())
    return Refused(ErrorCode::kObjectNotFound,
                   absl::StrCat("the table has no duplication ", request.dupid));
  const Duplication& duplication = found->second;
  DuplicationInfo next = duplication.info;
  if (request.status) next.status = static_cast<DuplicationStatus>(*request.status);
  if (request.fail_mode) next.fail_mode = static_cast<DuplicationFailMode>(*request.fail_mode);
  if (next.status != duplication.info.status && !MayBecome(duplication.info.status, next.status))
    return Refused(ErrorCode::kInvalidParameters,
                   absl::StrCat("it is ", Text(DuplicationStatusName(duplication.info.status)),
                                ", which can't become ", Text(DuplicationStatusName(next.status))));
  if (next.fail_mode < DuplicationFailMode::kSlow || next.fail_mode > DuplicationFailMode::kFast)
    return Refused(ErrorCode::kInvalidParameters, "unknown fail mode");
  if (next.status == DuplicationStatus::kRemoved) return ToStore(*table, {request.dupid, {}});
  // What is asked for may be what is shown of a stored form that was not understood.
  const bool says_what_it_is = request.status && !duplication.not_understood.empty();
  if (next == duplication.info && !says_what_it_is) return {.app_id = table->info.app_id};
  if (!says_what_it_is && !duplication.not_understood.empty())
    return Refused(ErrorCode::kInvalidParameters,
                   "its stored form is not understood: pause it, start it or remove it first");
  return ToStore(*table, {request.dupid, std::move(next)});
}

DuplicationJudgement JudgeDuplicationStep(const ClusterState& state, int32_t app_id, int32_t dupid,
                                          DuplicationStatus from, DuplicationStatus to) {
  const Table* table = state.FindTable(app_id);
  const auto refuse = [] { return Refused(ErrorCode::kInvalidState, "it has changed meanwhile"); };
  if (table == nullptr || table->info.status != AppStatus::kAvailable) return refuse();
  const auto found = table->duplications.find(dupid);
  if (found == table->duplications.end() || found->second.info.status != from) return refuse();
  DuplicationInfo next = found->second.info;
  next.status = to;
  return ToStore(*table, {dupid, std::move(next)});
}

std::vector<DuplicationChange> RemovalOfAll(const Table& table) {
  std::vector<DuplicationChange> changes;
  for (const auto& [dupid, duplication] : table.duplications) changes.push_back({dupid, {}});
  return changes;
}

// ---- what primaries say ----

namespace {

Table* LedTable(ClusterState& state, PartitionId pid, Endpoint node) {
  const Partition* partition = state.FindPartition(pid);
  if (partition == nullptr || partition->config.primary != node) return nullptr;
  Table* table = state.FindTable(pid.app_id);
  return table->info.status == AppStatus::kAvailable ? table : nullptr;
}

// False: its decree can't be.
bool Take(DuplicationProgress& progress, const DuplicationConfirmEntry& said) {
  const int64_t committed = said.last_committed_decree.value_or(kDecreeMax);
  if (said.confirmed_decree < -1 || said.confirmed_decree > kDecreeMax ||
      said.confirmed_decree > committed)
    return false;
  progress.confirmed = std::max(progress.confirmed, Decree(said.confirmed_decree));
  if (said.last_committed_decree && committed <= kDecreeMax) progress.committed = Decree(committed);
  progress.is_checkpoint_prepared = said.checkpoint_prepared.value_or(false);
  progress.trouble = said.trouble.value_or("").substr(0, kTroubleBytesMax);
  progress.oldest_unconfirmed_us = said.oldest_unconfirmed_us;
  progress.unconfirmed_bytes = said.unconfirmed_bytes;
  return true;
}

// table_duplication/D3: what an earlier one of the same server sent is not what this one has. (One
// of 2.5.0 says no ballot.)
bool IsOfThisTerm(const DuplicationConfirmEntry& said, const PartitionConfiguration& config) {
  return !said.ballot || *said.ballot == config.ballot;
}

// Whether its sender says anything of it: one that has not begun does not.
bool HasBegun(const DuplicationSyncRequest& request, const PartitionConfiguration& config,
              int32_t dupid) {
  const auto said = request.confirm_list.find(config.pid);
  return said != request.confirm_list.end() && std::any_of(said->second.begin(), said->second.end(),
                                                           [&](const DuplicationConfirmEntry& one) {
                                                             return one.dupid == dupid &&
                                                                    IsOfThisTerm(one, config);
                                                           });
}

}  // namespace

bool LeadsSome(const Table& table, Endpoint node) {
  return std::any_of(table.partitions.begin(), table.partitions.end(),
                     [&](const Partition& one) { return one.config.primary == node; });
}

RefusedConfirms NoteConfirms(ClusterState& state, const DuplicationSyncRequest& request) {
  RefusedConfirms refused;
  for (const auto& [pid, entries] : request.confirm_list) {
    Table* table = LedTable(state, pid, request.node);
    for (const DuplicationConfirmEntry& said : entries) {
      if (table == nullptr) {
        ++refused.of_others;
        continue;
      }
      const auto found = table->duplications.find(said.dupid);
      if (found == table->duplications.end()) continue;  // removed since
      if (!IsOfThisTerm(said, state.FindPartition(pid)->config)) continue;
      const bool is_possible = Take(found->second.partitions[static_cast<size_t>(pid.index)], said);
      refused.impossible += is_possible ? 0 : 1;
    }
  }
  return refused;
}

std::vector<ProgressChange> TakeDueProgress(ClusterState& state,
                                            const DuplicationSyncRequest& request, Instant now,
                                            absl::FunctionRef<bool(int32_t)> is_under_way) {
  std::vector<ProgressChange> due;
  for (auto& [app_id, table] : state.tables) {
    if (is_under_way(app_id)) continue;
    for (auto& [dupid, duplication] : table.duplications) {
      for (const Partition& partition : table.partitions) {
        const PartitionId pid = partition.config.pid;
        DuplicationProgress& progress = duplication.partitions[static_cast<size_t>(pid.index)];
        if (partition.config.primary != request.node || progress.is_being_stored ||
            progress.confirmed <= progress.stored)
          continue;
        if (now < progress.store_at && HasBegun(request, partition.config, dupid)) continue;
        progress.is_being_stored = true;
        progress.store_at = now + kStoreInterval;
        due.push_back({pid, dupid, progress.confirmed});
      }
    }
  }
  return due;
}

void NoteStored(ClusterState& state, const std::vector<ProgressChange>& changes, bool is_stored) {
  for (const ProgressChange& change : changes) {
    Table* table = state.FindTable(change.pid.app_id);
    const auto found = table->duplications.find(change.dupid);
    if (found == table->duplications.end()) continue;  // removed since
    DuplicationProgress& progress = found->second.partitions[static_cast<size_t>(change.pid.index)];
    progress.is_being_stored = false;
    if (is_stored) progress.stored = std::max(progress.stored, change.decree);
  }
}

DuplicationSyncResponse AnswerDuplicationSync(const ClusterState& state,
                                              const DuplicationSyncRequest& request) {
  DuplicationSyncResponse response;
  for (const auto& [app_id, table] : state.tables) {
    if (table.duplications.empty() || table.info.status != AppStatus::kAvailable ||
        !LeadsSome(table, request.node))
      continue;
    for (const auto& [dupid, duplication] : table.duplications) {
      if (duplication.info.status == DuplicationStatus::kInit) continue;
      DuplicationEntry entry = EntryOf(dupid, duplication);
      entry.progress.emplace();
      int32_t index = 0;
      for (const DuplicationProgress& progress : duplication.partitions) {
        const PartitionId pid{app_id, index++};
        // table_duplication/D3; of a partition that another leads more may be said yet.
        const auto& config = table.partitions[static_cast<size_t>(pid.index)].config;
        if (config.primary != request.node) continue;
        if (progress.confirmed <= progress.stored || HasBegun(request, config, dupid))
          (*entry.progress)[pid.index] = progress.stored.value();
      }
      response.dup_map[app_id][dupid] = std::move(entry);
    }
  }
  return response;
}

DuplicationEntry EntryOf(int32_t dupid, const Duplication& duplication) {
  const DuplicationInfo& info = duplication.info;
  DuplicationEntry entry{.dupid = dupid,
                         .status = static_cast<int32_t>(info.status),
                         .remote = info.remote,
                         .create_ts = info.created_ms,
                         .fail_mode = static_cast<int32_t>(info.fail_mode)};
  if (!info.remote_app_name.empty()) entry.remote_app_name = info.remote_app_name;
  if (info.remote_replica_count > 0) entry.remote_replica_count = info.remote_replica_count;
  return entry;
}

// ---- what the other cluster is asked for ----

bool IsCheckpointPrepared(const Duplication& duplication) {
  return std::all_of(duplication.partitions.begin(), duplication.partitions.end(),
                     [](const DuplicationProgress& one) { return one.is_checkpoint_prepared; });
}

CreateAppRequest RemoteTableOf(const Table& table, const DuplicationInfo& info,
                               const std::string& own_cluster, const std::string& own_metas) {
  CreateAppRequest request{
      .app_name = RemoteNameOf(table, info),
      .options = {.partition_count = table.info.partition_count,
                  .replica_count = info.remote_replica_count > 0 ? info.remote_replica_count
                                                                 : table.info.max_replica_count,
                  .app_type = table.info.app_type,
                  .is_stateful = true,
                  .envs = table.info.envs}};
  auto& envs = request.options.envs;
  envs[kEnvMasterCluster] = own_cluster;
  envs[kEnvMasterMetas] = own_metas;
  envs.erase(kEnvMasterAppName);
  if (request.app_name != table.info.app_name) envs[kEnvMasterAppName] = table.info.app_name;
  return request;
}

std::string WhyNotOurTable(const AppInfo& there, const CreateAppRequest& wanted,
                           const DuplicationInfo& info) {
  const auto master = there.envs.find(kEnvMasterCluster);
  if (master == there.envs.end() ||
      master->second != wanted.options.envs.find(kEnvMasterCluster)->second)
    return "a table of that name is there, which was not made for this duplication: drop or rename "
           "it there";
  // One that an earlier duplication left behind lacks what was written since.
  if (there.create_second < info.created_ms / 1000)
    return "a table of that name is there, made for a former duplication: drop it there";
  if (there.partition_count != wanted.options.partition_count)
    return absl::StrCat("the table there has ", there.partition_count, " partitions, not ",
                        wanted.options.partition_count);
  return "";
}

std::string WhyNotReady(const QueryConfigResponse& there, const Table& table) {
  if (there.err != ErrorCode::kOk)
    return absl::StrCat("the table there: ", Text(ErrorCodeName(there.err)));
  const int32_t count = table.info.partition_count;
  std::set<int32_t> seen;
  for (const PartitionConfiguration& partition : there.partitions) {
    if (!partition.primary.IsValid())
      return absl::StrCat("partition ", partition.pid.index, " there has no primary yet");
    if (partition.max_replica_count > 1 && partition.secondaries.empty())
      return absl::StrCat("partition ", partition.pid.index, " there has no secondary yet");
    if (partition.pid.index >= 0 && partition.pid.index < count) seen.insert(partition.pid.index);
  }
  if (there.partition_count != count || there.partitions.size() != static_cast<size_t>(count) ||
      seen.size() != there.partitions.size())
    return absl::StrCat("the table there has ", there.partition_count, " partitions, not ", count);
  return "";
}

}  // namespace arion
