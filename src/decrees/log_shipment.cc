// SPDX-License-Identifier: Apache-2.0
#include "decrees/log_shipment.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/log.h"
#include "base/status.h"
#include "messages/replication_messages.h"

namespace arion {

std::vector<MutationPtr> NewestVersions(absl::Span<const MutationPtr> mutations, Decree first,
                                        Decree last) {
  CHECK_GE(first, Decree(1)) << "decrees begin at 1";
  std::map<Decree, MutationPtr> newest;
  for (const MutationPtr& m : mutations) {
    if (m->decree < first || m->decree > last) continue;
    MutationPtr& kept = newest[m->decree];
    // Of equal ballots the later one: an older version's log may hold a mutation twice.
    if (kept == nullptr || m->ballot >= kept->ballot) kept = m;
  }
  // Behind a missing decree nothing counts: the learner would apply it over a hole.
  std::vector<MutationPtr> versions;
  for (Decree d = first; d <= last; ++d) {
    auto it = newest.find(d);
    if (it == newest.end()) break;
    versions.push_back(it->second);
  }
  return versions;
}

std::vector<MutationPtr> ProvenHistory(Decree first, Decree committed, LogPiece piece,
                                       absl::Span<const MutationPtr> mutations) {
  CHECK_GE(first, Decree(1));
  CHECK_GE(committed, Decree(0));
  // A piece that is cut proves only what its own mutations say to be committed.
  Decree proven = piece == LogPiece::kReachesEnd ? committed : Decree(0);
  for (const MutationPtr& m : mutations)
    proven = std::max(proven, std::min(m->last_committed, committed));
  std::vector<MutationPtr> history = NewestVersions(mutations, first, proven);
  CHECK(history.empty() || history.back()->decree <= committed)
      << "what is not committed counts as history";
  return history;
}

LearnState MakeLogShipment(Decree first, absl::Span<const MutationPtr> history) {
  LearnState state;
  state.learn_start_decree = first;
  state.to_decree_included = first - 1;
  for (const MutationPtr& m : history) {
    // Without its place in this log, which says nothing to the learner.
    AppendMutation(*m, -1, &state.meta.bytes);
    CHECK_EQ(m->decree, state.to_decree_included + 1) << "a hole";
    state.to_decree_included = m->decree;
  }
  return state;
}

absl::StatusOr<std::vector<MutationPtr>> ParseMutations(PartitionId pid, std::string_view bytes) {
  std::vector<MutationPtr> mutations;
  while (!bytes.empty()) {
    absl::StatusOr<Mutation> m = TakeMutation(&bytes);
    if (!m.ok()) return m.status();
    if (m->pid != pid)
      return absl::DataLossError(absl::StrCat("a mutation of ", m->pid.ToString()));
    // Where it lay in the sender's log says nothing here.
    m->log_offset = -1;
    mutations.push_back(std::make_shared<const Mutation>(*std::move(m)));
  }
  return mutations;
}

}  // namespace arion
