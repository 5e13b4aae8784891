// SPDX-License-Identifier: Apache-2.0
#include "meta_judgement/slow_servers.h"

#include <algorithm>

namespace arion {
namespace {

constexpr absl::Duration kSlowDiskPatience =
    absl::Seconds(2);  // before anything leaves a slow disk

}  // namespace

bool SlowServers::IsOnSlowDisk(Endpoint endpoint, PartitionId pid) {
  const Node* node = state_.FindNode(endpoint);
  if (node == nullptr || !node->alive || !node->IsSlowFor(pid) || MostAreSlow()) return false;
  const Instant since = node->slow_since + kSlowDiskPatience;
  // Nothing else may happen before: the look must come by itself.
  if (now_ < since) next_look_ = std::min(next_look_, since);
  return now_ >= since;
}

bool SlowServers::AcknowledgesSlowly(Endpoint endpoint, Endpoint primary) const {
  const Node* node = state_.FindNode(endpoint);
  const Node* asks = state_.FindNode(primary);
  return node != nullptr && asks != nullptr && asks->alive && node->slow_disks.empty() &&
         asks->slow_members.contains(endpoint) && !MostAreSlow();
}

bool SlowServers::IsSlowToMost(Endpoint endpoint) const {
  const Node* node = state_.FindNode(endpoint);
  const size_t reports = state_.SlownessReports(endpoint);
  return node != nullptr && node->slow_disks.empty() && reports >= 2 &&
         2 * reports > state_.AliveCount() - 1 && !MostAreSlow();
}

bool SlowServers::MayTakeCopy(Endpoint endpoint, const PartitionConfiguration& config) const {
  const Node* node = state_.FindNode(endpoint);
  return node != nullptr && (!node->IsSlowFor(config.pid) || MostAreSlow()) &&
         !AcknowledgesSlowly(endpoint, config.primary);
}

bool SlowServers::HasWrongClock(Endpoint endpoint) const {
  const Node* node = state_.FindNode(endpoint);
  return node != nullptr && node->has_wrong_clock;
}

std::vector<Endpoint> SlowServers::FastOf(std::vector<Endpoint> nodes, PartitionId pid) {
  std::erase_if(nodes, [&](Endpoint node) {
    return IsOnSlowDisk(node, pid) || IsSlowToMost(node) || HasWrongClock(node) ||
           state_.IsStopping(node);
  });
  return nodes;
}

bool SlowServers::MostAreSlow() const {
  const auto is_slow = [this](const auto& entry) {
    return entry.second.alive &&
           (!entry.second.slow_disks.empty() || state_.SlownessReports(entry.first) > 0);
  };
  const auto slow = std::count_if(state_.nodes.begin(), state_.nodes.end(), is_slow);
  return 2 * static_cast<size_t>(slow) > state_.AliveCount();
}

}  // namespace arion
