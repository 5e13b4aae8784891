// SPDX-License-Identifier: Apache-2.0
#include "meta_judgement/copy_giving.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

namespace arion {
namespace {

// Of its fullest disk: what is left above the bound, in parts of a thousand. nullopt: none is
// nearly full.
std::optional<int64_t> ShareLeft(const Node& node) {
  std::optional<int64_t> least;
  for (const DiskReport& disk : node.disks) {
    if (!node.nearly_full.contains(disk.tag)) continue;
    const int64_t left = disk.available_bytes - disk.available_bytes_min;
    // In whole numbers: an exact order keeps the plan of an unchanged state the same.
    const int64_t share = left / std::max<int64_t>(disk.total_bytes / 1000, 1);
    if (!least || share < *least) least = share;
  }
  return least;
}

// A copy is on its way out, or in.
bool HasGuests(const ClusterState& state, Endpoint endpoint, const Node& node) {
  return std::any_of(node.replicas.begin(), node.replicas.end(), [&](const auto& entry) {
    const Partition* partition = state.FindPartition(entry.first);
    // Its directory lingers after it left, and holds its space until it is removed.
    return node.GivesAway(entry.first) &&
           (partition == nullptr || !partition->config.IsMember(endpoint));
  });
}

}  // namespace

CopyGiving::CopyGiving(const ClusterState& state) : state_(state) {
  std::vector<std::pair<int64_t, Endpoint>> fullest;
  for (const auto& [endpoint, node] : state.nodes)
    if (const std::optional<int64_t> share = ShareLeft(node); share && node.alive)
      fullest.emplace_back(*share, endpoint);
  if (fullest.empty()) return;
  // Servers of which a copy is being given: the next one waits.
  std::set<Endpoint> busy;
  for (const auto& [app_id, table] : state.tables)
    for (const Partition& partition : table.partitions)
      if (IsGiving(partition)) busy.insert(GiverOf(partition.config));
  std::sort(fullest.begin(), fullest.end());
  if (fullest.size() > kAtOnce) fullest.resize(kAtOnce);
  for (const auto& [share, endpoint] : fullest)
    if (!busy.contains(endpoint) && !HasGuests(state, endpoint, *state.FindNode(endpoint)))
      givers_.insert(endpoint);
}

Endpoint CopyGiving::GiverOf(const PartitionConfiguration& config) const {
  std::optional<std::pair<int64_t, Endpoint>> fullest;
  for (Endpoint member : config.secondaries) {
    const Node* node = state_.FindNode(member);
    if (node == nullptr || !node->alive || !node->GivesAway(config.pid)) continue;
    const std::pair<int64_t, Endpoint> candidate{ShareLeft(*node).value_or(0), member};
    if (!fullest || candidate < *fullest) fullest = candidate;
  }
  return fullest ? fullest->second : Endpoint{};
}

bool CopyGiving::IsGiving(const Partition& partition) const {
  const PartitionConfiguration& config = partition.config;
  const bool is_one_more =
      config.secondaries.size() >= static_cast<size_t>(std::max(config.max_replica_count, 1));
  const bool is_being_made =
      partition.intent && partition.intent->type == ConfigType::kAddSecondaryForLoadBalance;
  return (is_one_more || is_being_made) && GiverOf(config).IsValid();
}

bool CopyGiving::MayGive(const Partition& partition) const {
  const Endpoint giver = GiverOf(partition.config);
  return giver.IsValid() && (givers_.contains(giver) || IsGiving(partition));
}

}  // namespace arion
