// SPDX-License-Identifier: Apache-2.0
#include "meta_judgement/full_disks.h"

#include <algorithm>

#include "messages/write_members.h"

namespace arion {
namespace {

constexpr absl::Duration kFullDiskPatience =
    absl::Seconds(2);  // before anything leaves a full disk

}  // namespace

bool FullDisks::HasRoom(Endpoint endpoint, PartitionId pid) const {
  const Node* node = state_.FindNode(endpoint);
  return node != nullptr && !node->IsFullFor(pid);
}

std::vector<Endpoint> FullDisks::WithRoom(std::vector<Endpoint> nodes, PartitionId pid) const {
  std::erase_if(nodes, [&](Endpoint node) { return !HasRoom(node, pid); });
  return nodes;
}

bool FullDisks::IsTight(Endpoint endpoint, PartitionId pid) const {
  const Node* node = state_.FindNode(endpoint);
  return node != nullptr && IsAvoided(*node, pid, room_);
}

bool FullDisks::HasMuchRoom(Endpoint endpoint, PartitionId pid) const {
  const Node* node = state_.FindNode(endpoint);
  return node != nullptr && !node->disks.empty() && !node->IsTightFor(pid);
}

bool FullDisks::MustLeave(Endpoint endpoint, PartitionId pid) {
  const Node* node = state_.FindNode(endpoint);
  if (node == nullptr || !node->alive || !node->IsFullFor(pid)) return false;
  const Instant since = node->full_since + kFullDiskPatience;
  if (now_ < since) next_look_ = std::min(next_look_, since);
  return now_ >= since;
}

bool FullDisks::HasEnoughWithRoom(const PartitionConfiguration& config) const {
  const int32_t factor = std::max(config.max_replica_count, 1);
  // Two, where the table has two, even if one is enough for writes: a copy alone is lost with its
  // disk.
  const int32_t needed = std::max(WriteMembersMin(write_members_min_, factor), std::min(factor, 2));
  const auto counts = [&](Endpoint e) { return state_.IsAlive(e) && HasRoom(e, config.pid); };
  const auto members = std::count_if(config.secondaries.begin(), config.secondaries.end(), counts) +
                       (counts(config.primary) ? 1 : 0);
  return members >= needed;
}

}  // namespace arion
