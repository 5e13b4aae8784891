// HeldReplica: what a server holds of a partition whose members are not known any more, and which
// of several servers should lead it. Pure.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <tuple>
#include <vector>

#include "meta_state/cluster_state.h"

namespace arion {

// One server's copy. `report` is what it said, and lives elsewhere.
struct HeldReplica {
  Endpoint node;
  const ReplicaInfo* report;

  // False: a learner's copy. (Its state says -1.) However far it is, it may lack what was
  // acknowledged.
  bool IsWhole() const {
    return report->status != PartitionStatus::kPotentialSecondary &&
           report->last_mutation_ballot.value_or(report->ballot) >= Ballot(0);
  }
  // Orders copies, the best last. By the ballot and decree of the last mutation, where the server
  // can tell them: one that was told of a later configuration has a larger ballot than its data,
  // and one that restarted knows of fewer commits than it holds. Of equal copies the one that was
  // told of the latest configuration is better: it is known to lack nothing of that. Else (older
  // servers; 0: a checkpoint without a log) as those servers compared.
  auto Rank() const {
    const Decree committed = report->last_committed_decree;
    const Decree prepared = report->last_prepared_decree;
    return TellsBallot() ? std::tuple(IsWhole(), HeldBallot(), prepared, report->ballot, committed)
                         : std::tuple(IsWhole(), HeldBallot(), committed, report->ballot, prepared);
  }
  // Whether the server tells the ballot of its last mutation; a ballot of 0 says nothing of it.
  bool TellsBallot() const { return report->last_mutation_ballot.value_or(Ballot(0)) > Ballot(0); }
  // That ballot, or the one it was last told.
  Ballot HeldBallot() const {
    return TellsBallot() ? *report->last_mutation_ballot : report->ballot;
  }
};

// Moves a copy that certainly holds everything to the end, as the best, however the ranks are. Such
// a copy knows to be committed all that any other holds, and was told of the latest configuration.
// There may be none.
inline void PutWholeOneLast(std::vector<HeldReplica>& found) {
  const auto holds_all = [&](const HeldReplica& one) {
    return one.IsWhole() && std::all_of(found.begin(), found.end(), [&](const HeldReplica& other) {
             return other.report->ballot <= one.report->ballot &&
                    (!other.IsWhole() ||
                     other.report->last_prepared_decree <= one.report->last_committed_decree);
           });
  };
  const auto last = std::find_if(found.rbegin(), found.rend(), holds_all);
  if (last != found.rend()) std::rotate(last.base() - 1, last.base(), found.end());
}

// Makes the copies `last_drops` of a partition without members, the best one last, under the
// largest ballot of any (kBallotMax at most); the guardian revives it. Sorts `found` in the same
// way.
inline void LeaveTo(std::vector<HeldReplica>& found, PartitionConfiguration* config) {
  std::stable_sort(found.begin(), found.end(),
                   [](const HeldReplica& a, const HeldReplica& b) { return a.Rank() < b.Rank(); });
  PutWholeOneLast(found);
  for (const HeldReplica& replica : found) {
    if (replica.report->ballot <= kBallotMax)
      config->ballot = std::max(config->ballot, replica.report->ballot);
    if (replica.IsWhole())
      config->last_committed_decree =
          std::max(config->last_committed_decree, replica.report->last_committed_decree);
    config->last_drops.push_back(replica.node);
  }
  if (config->last_drops.size() > kLastDropsMax)
    config->last_drops.erase(config->last_drops.begin(), config->last_drops.end() - kLastDropsMax);
}

}  // namespace arion
