// SPDX-License-Identifier: Apache-2.0
#include "tools/shell/dead_partition.h"

#include <tuple>

namespace arion::shell {

const DddNode* BestCandidate(const DddPartition& partition) {
  const DddNode* best = nullptr;
  const auto rank = [](const DddNode& node) {
    return node.is_ballot_of_data.value_or(false)
               ? std::tuple(node.ballot, node.last_prepared_decree, node.last_committed_decree)
               : std::tuple(node.ballot, node.last_committed_decree, node.last_prepared_decree);
  };
  for (const DddNode& node : partition.dropped) {
    if (!node.is_alive) continue;
    // It lives and has not said yet what it has, which may be more than all others have.
    if (!node.is_collected) return nullptr;
    if (node.ballot < Ballot(0)) continue;
    if (best == nullptr || rank(node) >= rank(*best)) best = &node;  // the later one wins a tie
  }
  return best;
}

}  // namespace arion::shell
