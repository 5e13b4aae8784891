// SPDX-License-Identifier: Apache-2.0
#include "meta_judgement/proposal_patience.h"

#include <algorithm>

#include "messages/table_environments.h"

namespace arion {
namespace {

// From the first time that something was proposed; and who opens its replica is at work.
constexpr absl::Duration kUpgradePatience = absl::Seconds(6);  // nobody leads meanwhile
constexpr absl::Duration kAssignPatience = absl::Seconds(15);
constexpr absl::Duration kProposalPatience = absl::Minutes(1);  // two config syncs of older servers
constexpr absl::Duration kOpeningPatience = absl::Minutes(5);
constexpr absl::Duration kAnswerPatience = absl::Seconds(3);  // after the last time

bool TakesReplica(ConfigType type) {
  return type == ConfigType::kAssignPrimary || type == ConfigType::kAddSecondary ||
         type == ConfigType::kAddSecondaryForLoadBalance;
}

}  // namespace

bool ProposalPatience::GivesUp(const Partition& partition, const Intent& intent) {
  if (!intent.first_sent) return false;
  if (intent.type == ConfigType::kUpgradeToPrimary)
    return HasPassed(*intent.first_sent + kUpgradePatience);
  // Whoever learns is at work, however long it takes. Its failure shows in a report
  // (NoteNoLearner).
  if (intent.times_sent == 0 || intent.learner_seen) return false;
  const Node* node = state_.FindNode(intent.node);
  // So is who copies what its partition begins with; where that ends in vain, it loads no more.
  if (node != nullptr && node->IsLoading(partition.config.pid) && IsFollower(partition))
    return false;
  const bool is_new =
      intent.type == ConfigType::kAssignPrimary && partition.config.last_drops.empty();
  const absl::Duration patience = node != nullptr && node->IsLoading(partition.config.pid)
                                      ? kOpeningPatience
                                  : is_new ? kAssignPatience
                                           : kProposalPatience;
  // Both bounds: a proposal of which times_sent began anew gets time to be answered, too.
  if (!HasPassed(std::max(*intent.first_sent + patience, intent.last_sent + kAnswerPatience)))
    return false;
  // A removal or a step down says nothing against the server's disks.
  if (TakesReplica(intent.type)) ignored_ = intent.node;
  return true;
}

bool ProposalPatience::IsFollower(const Partition& partition) const {
  const Table* table = state_.FindTable(partition.config.pid.app_id);
  return table != nullptr && partition.config.ballot == Ballot(0) &&
         table->info.envs.contains(kEnvMasterMetas);
}

bool ProposalPatience::HasPassed(Instant when) {
  if (now_ < when) next_look_ = std::min(next_look_, when);
  return now_ >= when;
}

Instant ProposalPatience::PassedOverUntil(const Partition& partition, Endpoint node) const {
  if (node == ignored_) return Instant::InfiniteFuture();
  const auto found = partition.passed_over.find(node);
  return found == partition.passed_over.end() ? now_ : found->second;
}

Endpoint ProposalPatience::FirstPassedOver(const Partition& partition,
                                           const PlacementPlanner::Filter& may) const {
  Endpoint first;
  for (const auto& [endpoint, node] : state_.nodes) {
    if (!node.alive || !node.collected || !may(endpoint)) continue;
    if (!first.IsValid() ||
        PassedOverUntil(partition, endpoint) < PassedOverUntil(partition, first))
      first = endpoint;
  }
  return first;
}

}  // namespace arion
