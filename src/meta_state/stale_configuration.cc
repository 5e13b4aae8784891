// SPDX-License-Identifier: Apache-2.0
#include "meta_state/stale_configuration.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/log.h"
#include "meta_state/configuration_change.h"
#include "meta_state/held_replica.h"

namespace arion {
namespace {

PartitionConfiguration WithoutMembers(const PartitionConfiguration& config) {
  PartitionConfiguration next = config;
  next.primary = {};
  next.secondaries.clear();
  next.last_drops.clear();
  return next;
}

// Whether each server has told what it holds, so that nobody who may lead is overlooked: in the
// first grace one that the older state does not list may still come.
bool HaveAllTold(const ClusterState& state, const PartitionConfiguration& config) {
  const auto has_told = [&](Endpoint endpoint) {
    const Node* node = state.FindNode(endpoint);
    return node != nullptr && node->alive && node->collected && !node->IsLoading(config.pid) &&
           (node->replicas.contains(config.pid) || !node->has_unreadable_disks);
  };
  return !state.is_beginning && state.awaited.empty() &&
         std::all_of(
             state.nodes.begin(), state.nodes.end(),
             [&](const auto& node) { return !node.second.alive || has_told(node.first); }) &&
         (!config.primary.IsValid() || has_told(config.primary)) &&
         std::all_of(config.secondaries.begin(), config.secondaries.end(), has_told) &&
         std::all_of(config.last_drops.begin(), config.last_drops.end(), has_told);
}

// Of those that are asked to take part: nobody was told of a later configuration; nor was anything
// written under one (else their disks went back, too).
bool IsInForce(const std::vector<HeldReplica>& found, const PartitionConfiguration& config) {
  const auto has_later = [&](const HeldReplica& replica) {
    return replica.report->last_mutation_ballot.value_or(Ballot(0)) > config.ballot;
  };
  if (std::any_of(found.begin(), found.end(), has_later)) return false;
  const auto knows_no_later = [&](Endpoint endpoint) {
    return std::any_of(found.begin(), found.end(), [&](const HeldReplica& replica) {
      return replica.node == endpoint && replica.report->ballot <= config.ballot;
    });
  };
  if (config.MemberCount() == 0)
    return !config.last_drops.empty() &&
           std::all_of(config.last_drops.begin(), config.last_drops.end(), knows_no_later);
  return (!config.primary.IsValid() || knows_no_later(config.primary)) &&
         std::all_of(config.secondaries.begin(), config.secondaries.end(), knows_no_later);
}

PartitionConfiguration MembersStay(const PartitionConfiguration& config) {
  return config.primary.IsValid() ? PrimaryAmongSecondaries(config) : config;
}

std::vector<HeldReplica> WhatIsHeld(const ClusterState& state, PartitionId pid) {
  std::vector<HeldReplica> found;
  for (const auto& [endpoint, node] : state.nodes)
    if (const ReplicaInfo* report = node.alive ? node.LoadedReplica(pid) : nullptr)
      found.push_back({endpoint, report});
  return found;
}

bool ServesAsStored(const std::vector<HeldReplica>& found, const PartitionConfiguration& config) {
  return std::any_of(found.begin(), found.end(), [&](const HeldReplica& replica) {
    return replica.node == config.primary && replica.report->ballot == config.ballot &&
           replica.report->status == PartitionStatus::kPrimary;
  });
}

}  // namespace

StaleJudgement JudgeStale(const ClusterState& state, const Partition& partition) {
  CHECK(partition.IsBehind());
  const PartitionConfiguration& config = partition.config;
  // The cases of meta/STATE.md 11.1, in that order. The first that applies decides.
  const Ballot ballot = partition.shown.ballot + 1;
  const auto store = [ballot](PartitionConfiguration next, const char* reason) {
    next.ballot = ballot;
    return StaleJudgement{std::move(next), reason};
  };
  std::vector<HeldReplica> found = WhatIsHeld(state, config.pid);
  PartitionConfiguration revived = WithoutMembers(config);
  // Only that primary knows its members. With it as the last that left, the guardian asks it to
  // begin alone, and the others learn from it.
  if (state.IsAlive(partition.shown.primary)) {
    revived.last_drops = {partition.shown.primary};
    return store(std::move(revived), "a primary serves under a larger ballot than is stored");
  }
  if (ServesAsStored(found, config))
    return store(config, "a server that was away knows a larger ballot");
  if (!HaveAllTold(state, config))
    return {.reason =
                "a larger ballot than is stored was shown, and not every server and member "
                "has said what it holds"};
  if (IsInForce(found, config))
    return store(MembersStay(config), "no member knows the larger ballot that another has");
  LeaveTo(found, &revived);
  // The best copy must be of the largest ballot shown: otherwise somebody who is not here may have
  // written later.
  if (found.empty() || !found.back().IsWhole() || found.back().report->ballot < ballot - 1)
    return {.reason = "nobody who has the largest ballot shown holds all of it"};
  return store(std::move(revived), "all servers told; the largest ballot is not the stored one");
}

}  // namespace arion
