// SPDX-License-Identifier: Apache-2.0
#include "meta_state/foreign_tables.h"

#include <absl/strings/str_cat.h>

namespace arion {
namespace {

bool IsAnother(const AppInfo& ours, const AppInfo& its) {
  if (ours.create_second > 0 && its.create_second > 0)
    return ours.create_second != its.create_second;
  // Some versions tell no time of creation. Then the name must do.
  return ours.app_name != its.app_name;
}

}  // namespace

std::string WhyForeign(const ClusterState& state, const std::vector<AppInfo>& its_tables) {
  for (const AppInfo& its : its_tables) {
    const Table* table = state.FindTable(its.app_id);
    // One table that is another's is enough: a server is of one cluster.
    if (table == nullptr || !IsAnother(table->info, its)) continue;
    return absl::StrCat("its table ", its.app_id, " is \"", its.app_name, "\", made at ",
                        its.create_second, ", here it is \"", table->info.app_name, "\", made at ",
                        table->info.create_second);
  }
  return "";
}

}  // namespace arion
