// SPDX-License-Identifier: Apache-2.0
#include "meta_judgement/older_everywhere.h"

#include <absl/strings/str_cat.h>

#include <vector>

#include "base/named_list.h"
#include "meta_judgement/succession.h"
#include "meta_state/cluster_warning.h"

namespace arion {
namespace {

constexpr size_t kNamedMax = 5;

}  // namespace

std::optional<ClusterWarning> OlderEverywhere(const ClusterState& state) {
  std::vector<PartitionId> partitions;
  for (const auto& [app_id, table] : state.tables) {
    for (const Partition& partition : table.partitions)
      if (!partition.IsUnregistered() && IsOlderEverywhere(state, partition))
        partitions.push_back(partition.config.pid);
  }
  if (partitions.empty()) return std::nullopt;
  return ClusterWarning{
      .kind = "older_everywhere",
      .count = static_cast<int64_t>(partitions.size()),
      .what = "meta server",
      .problem = absl::StrCat(
          "chooses no primary where all copies that are there end before what was committed (",
          NamedList(partitions, kNamedMax, [](PartitionId pid) { return pid.ToString(); }),
          "): their disks were put back, acknowledged writes are gone with them"),
      .way =
          "bring back a server or disk that holds more; or serve from what there is: "
          "ddd_diagnose shows it, ddd_diagnose -a decides"};
}

}  // namespace arion
