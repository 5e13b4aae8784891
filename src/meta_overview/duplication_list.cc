// SPDX-License-Identifier: Apache-2.0
#include "meta_overview/duplication_list.h"

#include <absl/strings/str_cat.h>

#include <utility>

#include "meta_overview/meta_queries.h"
#include "meta_state/table_duplication.h"

namespace arion {
namespace {

std::string TroubleOf(const Duplication& duplication) {
  if (duplication.not_understood.empty()) return duplication.trouble;
  return absl::StrCat("its stored form is not understood (", duplication.not_understood,
                      "): it is treated as paused");
}

DuplicationEntry ShownEntry(int32_t dupid, const Duplication& duplication) {
  DuplicationEntry entry = EntryOf(dupid, duplication);
  entry.partition_states.emplace();
  entry.troubles.emplace();
  entry.oldest_unconfirmed_us.emplace();
  entry.unconfirmed_bytes.emplace();
  int32_t index = 0;
  for (const DuplicationProgress& one : duplication.partitions) {
    (*entry.partition_states)[index] = {.confirmed_decree = one.stored.value(),
                                        .last_committed_decree = one.committed.value()};
    if (!one.trouble.empty()) (*entry.troubles)[index] = one.trouble;
    if (one.oldest_unconfirmed_us)
      (*entry.oldest_unconfirmed_us)[index] = *one.oldest_unconfirmed_us;
    if (one.unconfirmed_bytes) (*entry.unconfirmed_bytes)[index] = *one.unconfirmed_bytes;
    ++index;
  }
  if (std::string trouble = TroubleOf(duplication); !trouble.empty())
    entry.trouble = std::move(trouble);
  return entry;
}

}  // namespace

QueryDuplicationResponse AnswerQueryDuplication(const ClusterState& state,
                                                const std::string& name) {
  const Table* table = state.FindTableByName(name);
  if (table == nullptr || table->info.status != AppStatus::kAvailable)
    return {.err = ErrorCode::kAppNotExist};
  QueryDuplicationResponse response{.appid = table->info.app_id};
  for (const auto& [dupid, duplication] : table->duplications)
    response.entry_list.push_back(ShownEntry(dupid, duplication));
  return response;
}

ListDuplicationsResponse AnswerListDuplications(const ClusterState& state,
                                                const ListDuplicationsRequest& request) {
  const ListAppsResponse fitting =
      AnswerListApps(state, {.status = AppStatus::kAvailable,
                             .app_name_pattern = request.app_name_pattern,
                             .match_type = request.match_type});
  ListDuplicationsResponse response{.err = fitting.err,
                                    .hint_message = fitting.hint_message.value_or("")};
  for (const AppInfo& info : fitting.infos) {
    TableDuplications& shown = response.app_states[info.app_name];
    shown = {
        .appid = info.app_id, .app_name = info.app_name, .partition_count = info.partition_count};
    for (const auto& [dupid, duplication] : state.FindTable(info.app_id)->duplications)
      shown.duplications[dupid] = ShownEntry(dupid, duplication);
  }
  return response;
}

}  // namespace arion
