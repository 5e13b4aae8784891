// SPDX-License-Identifier: Apache-2.0
#include "meta_state/table_environments.h"

#include <set>
#include <utility>

#include "base/status.h"
#include "messages/index_definition.h"
#include "messages/table_environments.h"
#include "meta_state/cluster_state.h"

namespace arion {
namespace {

// Environments travel with every config sync and table description.
constexpr size_t kEnvironmentsMax = 200;
constexpr size_t kEnvironmentBytesMax = 64 << 10;  // of a key with its value

EnvironmentJudgement Refuse(ErrorCode error, std::string hint) {
  return {.response = {error, std::move(hint)}};
}

// Of the table as it is, and of what is to be set.
size_t CountIndexes(const AppInfo& info, const std::vector<std::string>& keys) {
  std::set<std::string_view> indexes;
  for (const std::string& key : keys)
    if (IndexNameOf(key).has_value()) indexes.insert(key);
  for (const auto& [key, value] : info.envs)
    if (IndexNameOf(key).has_value()) indexes.insert(key);
  return indexes.size();
}

// All keys are checked before the result counts: a request is carried out whole or not at all.
EnvironmentJudgement JudgeSet(AppInfo next, const UpdateAppEnvRequest& request) {
  const auto keys = request.keys.value_or(std::vector<std::string>());
  const auto values = request.values.value_or(std::vector<std::string>());
  if (keys.empty() || keys.size() != values.size()) {
    return Refuse(ErrorCode::kInvalidParameters,
                  absl::StrCat(keys.size(), " keys and ", values.size(), " values"));
  }
  // First: what is far too much is not read.
  if (const size_t indexes = CountIndexes(next, keys); indexes > kIndexesMax) {
    return Refuse(ErrorCode::kInvalidParameters,
                  absl::StrCat("the table would have ", indexes, " indexes; at most ", kIndexesMax,
                               ". drop_index removes one"));
  }
  for (size_t i = 0; i < keys.size(); ++i) {
    const std::string name = absl::StrCat("app_env '", keys[i].substr(0, 100), "'");
    const absl::Status checked = CheckTableEnvironment(keys[i], values[i]);
    // Two kinds of refusal: a value that the key can't have, and a key that Arion does not act on.
    if (absl::IsInvalidArgument(checked)) {
      return Refuse(
          ErrorCode::kInvalidParameters,
          absl::StrCat(name, " can't be '", values[i].substr(0, 100), "': ", checked.message()));
    }
    if (!checked.ok()) {
      return Refuse(ErrorCode::kInvalidParameters,
                    absl::StrCat(name, " is not supported: ", checked.message()));
    }
    if (keys[i].size() + values[i].size() > kEnvironmentBytesMax) {
      return Refuse(ErrorCode::kInvalidParameters, absl::StrCat(name, " is too long"));
    }
    next.envs[keys[i]] = values[i];
  }
  // Counted at the end: keys that are there already add nothing.
  if (next.envs.size() > kEnvironmentsMax) {
    return Refuse(ErrorCode::kInvalidParameters,
                  absl::StrCat("a table has at most ", kEnvironmentsMax, " app_envs"));
  }
  return {.next = std::move(next)};
}

// Keys that are not there are no error, so that a repeated request succeeds.
EnvironmentJudgement Deleted(AppInfo next, const std::vector<std::string>& keys) {
  std::string hint;
  for (const std::string& key : keys) {
    if (next.envs.erase(key) > 0) absl::StrAppend(&hint, "\n    ", key);
  }
  if (hint.empty()) return {.response = {ErrorCode::kOk, "no key needs to be deleted"}};
  return {.response = {ErrorCode::kOk, absl::StrCat("deleted keys:", hint)},
          .next = std::move(next)};
}

}  // namespace

EnvironmentJudgement JudgeEnvironments(const Table* table, const UpdateAppEnvRequest& request) {
  if (table == nullptr) return Refuse(ErrorCode::kAppNotExist, "app cannot be found");
  switch (table->info.status) {
    case AppStatus::kAvailable:
      break;
    case AppStatus::kCreating:
    case AppStatus::kRecalling:
      return Refuse(ErrorCode::kBusyCreating, "app is being created or recalled");
    case AppStatus::kDropping:
      return Refuse(ErrorCode::kBusyDropping, "app is being dropped");
    default:
      return Refuse(ErrorCode::kAppDropped, "app is not available");
  }
  AppInfo next = table->info;
  next.version = next.version.value_or(0) + 1;
  switch (request.op) {
    case EnvOperation::kSet:
      return JudgeSet(std::move(next), request);
    case EnvOperation::kDelete:
      if (!request.keys || request.keys->empty()) {
        return Refuse(ErrorCode::kInvalidParameters, "no keys are named");
      }
      return Deleted(std::move(next), *request.keys);
    case EnvOperation::kClear: {
      if (!request.clear_prefix) {
        return Refuse(ErrorCode::kInvalidParameters, "no prefix is named");
      }
      const std::string prefix =
          // As Pegasus does: a prefix is a whole word before a dot, and an empty one means all.
          request.clear_prefix->empty() ? "" : absl::StrCat(*request.clear_prefix, ".");
      std::vector<std::string> keys;
      for (const auto& [key, value] : next.envs) {
        if (key.starts_with(prefix) && key.size() > prefix.size()) keys.push_back(key);
      }
      return Deleted(std::move(next), keys);
    }
    default:
      return Refuse(ErrorCode::kInvalidParameters, "the operation is none of set, del, clear");
  }
}

EnvironmentJudgement JudgeStartCompaction(const Table* table,
                                          const StartManualCompactRequest& request,
                                          int64_t now_seconds) {
  if (table == nullptr) return Refuse(ErrorCode::kAppNotExist, "there is no such table");
  if (table->info.status != AppStatus::kAvailable)
    return Refuse(ErrorCode::kAppDropped, "the table is not available");
  const auto disabled = table->info.envs.find(kEnvCompactDisabled);
  if (disabled != table->info.envs.end() && ParseBool(disabled->second).value_or(false))
    return Refuse(ErrorCode::kOperationDisabled,
                  absl::StrCat("the table's app_env ", kEnvCompactDisabled, " is true"));
  // As text, by the same check that the environment itself gets.
  const std::string level = std::to_string(request.target_level.value_or(-1));
  if (!ParseTargetLevel(level).ok())
    return Refuse(ErrorCode::kInvalidParameters,
                  absl::StrCat("target_level ", level, ": write -1, or a level from 1 on"));
  const int32_t running_max = request.max_running_count.value_or(0);
  const int64_t trigger = request.trigger_time.value_or(now_seconds);
  if (running_max < 0 || trigger < 0)
    return Refuse(ErrorCode::kInvalidParameters, "a negative count or time");
  AppInfo next = table->info;
  next.version = next.version.value_or(0) + 1;
  // The time also tells this request from an earlier one: replicas compare it with when their last
  // compaction ended.
  next.envs[kEnvCompactOnce] = std::to_string(trigger);
  next.envs[kEnvCompactOnceLevel] = level;
  next.envs[kEnvCompactOnceBottommost] = request.bottommost.value_or(false) ? "force" : "skip";
  if (running_max > 0) next.envs[kEnvCompactRunningMax] = std::to_string(running_max);
  return {.response = {ErrorCode::kOk, "succeed"}, .next = std::move(next)};
}

}  // namespace arion
