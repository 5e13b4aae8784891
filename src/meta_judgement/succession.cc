// SPDX-License-Identifier: Apache-2.0
#include "meta_judgement/succession.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "base/log.h"
#include "meta_state/held_replica.h"

namespace arion {
namespace {

bool IsShort(const Partition& partition, const ReplicaInfo& report) {
  return report.durability == static_cast<int8_t>(Durability::kFsync) &&
         report.last_prepared_decree < partition.KnownCommitted();
}

}  // namespace

bool Succession::IsIntact(const Partition& partition, Endpoint node) const {
  return partition.config.IsSecondary(node) && state_.IsAlive(node) &&
         partition.serving.contains(node);
}

std::vector<Endpoint> Succession::Intact(const Partition& partition) const {
  std::vector<Endpoint> intact;
  for (Endpoint node : partition.config.secondaries) {
    if (IsIntact(partition, node)) intact.push_back(node);
  }
  return intact;
}

bool Succession::HaveAliveMembersReported(const Partition& partition) const {
  const PartitionConfiguration& config = partition.config;
  auto has_reported = [&](Endpoint endpoint) {
    const Node* node = state_.FindNode(endpoint);
    if (node == nullptr || !node->alive || partition.serving.contains(endpoint)) return true;
    if (!node->collected || node->IsLoading(config.pid)) return false;
    return node->replicas.contains(config.pid) || !node->has_unreadable_disks;
  };
  return std::all_of(config.secondaries.begin(), config.secondaries.end(), has_reported) &&
         (!config.primary.IsValid() || has_reported(config.primary));
}

bool Succession::IsStillTime(const Partition& partition) {
  // Counted from when nobody led any more: a partition without a primary serves nobody, so waiting
  // has an end.
  const Instant deadline = partition.headless_since.value_or(now_) + grace_;
  if (now_ >= deadline) return false;
  next_look_ = std::min(next_look_, deadline);
  return true;
}

// ---- of secondaries ----

Succession::Choice Succession::OfSecondaries(const Partition& partition) {
  const Endpoint longest = LongestSecondary(partition);
  const bool may_tell_more = !HaveAliveMembersReported(partition) ||
                             (MayBeOlder(partition, longest) && MayAnotherComeBack(partition));
  if (may_tell_more && IsStillTime(partition)) return {};
  if (HoldsMore(partition, partition.former_primary, longest))
    return {.leader = partition.former_primary};
  if (longest.IsValid() && partition.short_copies.contains(longest))  // succession/P2
    return {.reason =
                "the copies of all members that are there end before what was committed: "
                "their disks were put back; an administrator must name who leads"};
  if (longest.IsValid()) return {.leader = longest};
  return {.reason = IsForsaken(state_, partition)
                        ? "the secondaries are dead or have lost their replicas; who left last "
                          "may hold everything"
                        : "no secondary is alive with its replica loaded"};
}

// Nothing has shown since its process began that its disk is not an earlier copy of itself.
bool Succession::MayBeOlder(const Partition& partition, Endpoint node) const {
  const ReplicaInfo* report = LoadedOf(partition, node);
  return report != nullptr && report->is_unproven.value_or(false);
}

// Of those who held everything when nobody led any more, or, where what is stored may be older than
// that, of all that were known.
bool Succession::MayAnotherComeBack(const Partition& partition) const {
  if (!state_.awaited.empty()) return true;
  const auto may_come = [&](Endpoint endpoint) {
    const Node* node = state_.FindNode(endpoint);
    return node == nullptr || !node->alive || !node->collected ||
           node->IsLoading(partition.config.pid);
  };
  return std::any_of(partition.config.secondaries.begin(), partition.config.secondaries.end(),
                     may_come) ||
         (partition.former_primary.IsValid() && may_come(partition.former_primary));
}

// By the last mutation's ballot and decree; where one can't tell the ballot, by decree alone:
// nobody has led since the former primary did.
bool Succession::HoldsMore(const Partition& partition, Endpoint former, Endpoint longest) const {
  const ReplicaInfo* own = LoadedOf(partition, longest);
  const ReplicaInfo* report = LoadedOf(partition, former);
  if (own == nullptr || report == nullptr || partition.config.IsSecondary(former)) return false;
  const HeldReplica ours{longest, own}, theirs{former, report};
  if (report->status != PartitionStatus::kInactive || !theirs.IsWhole()) return false;
  if (report->last_prepared_decree <= own->last_committed_decree) return false;  // it is known
  const bool both_tell = ours.TellsBallot() && theirs.TellsBallot();
  const auto rank = [&](const HeldReplica& held) {
    return std::tuple(both_tell ? held.HeldBallot() : Ballot(0), held.report->last_prepared_decree);
  };
  return rank(theirs) > rank(ours);
}

const ReplicaInfo* Succession::LoadedOf(const Partition& partition, Endpoint endpoint) const {
  const Node* node = state_.FindNode(endpoint);
  const bool has_told = node != nullptr && node->alive && node->collected;
  return has_told ? node->LoadedReplica(partition.config.pid) : nullptr;
}

// By the last mutation's ballot and decree. A copy without that ballot (0: nothing is in its log,
// it holds a checkpoint; or an older server beside others) has followed the group until it was cut
// off. It leads where it reaches further than the best of the others. A learner's state (-1) leads
// only where there is nothing else.
Endpoint Succession::LongestSecondary(const Partition& partition) const {
  using Candidate = std::pair<Endpoint, const ReplicaInfo*>;
  std::vector<Candidate> found;
  for (Endpoint endpoint : partition.config.secondaries) {
    const Node* node = state_.FindNode(endpoint);
    if (node == nullptr || !node->alive) continue;
    if (const ReplicaInfo* report = node->LoadedReplica(partition.config.pid))
      found.emplace_back(endpoint, report);
  }
  // Where no server tells the ballot of its last mutation, the replica's ballot is all there is,
  // and equally rough for all.
  const bool all_are_older =
      std::none_of(found.begin(), found.end(), [](const Candidate& candidate) {
        return candidate.second->last_mutation_ballot.has_value();
      });
  const auto ballot_of = [&](const Candidate& candidate) {
    const ReplicaInfo& report = *candidate.second;
    return report.last_mutation_ballot.value_or(all_are_older ? report.ballot : Ballot(0));
  };
  const auto rank = [&](const Candidate& candidate) {
    return std::tuple(ballot_of(candidate), candidate.second->last_prepared_decree,
                      candidate.first == partition.former_primary);
  };
  // Two kinds that can't be compared by ballot: the best of each is found first, then the two are
  // compared by how far they reach.
  std::optional<Candidate> tells, tells_not;
  for (const Candidate& candidate : found) {
    std::optional<Candidate>& best = ballot_of(candidate) == Ballot(0) ? tells_not : tells;
    if (!best || rank(*best) < rank(candidate)) best = candidate;
  }
  if (!tells || !tells_not) return tells ? tells->first : tells_not ? tells_not->first : Endpoint{};
  const bool reaches_further =
      ballot_of(*tells) < Ballot(0) ||
      tells_not->second->last_prepared_decree > tells->second->last_prepared_decree;
  return reaches_further ? tells_not->first : tells->first;
}

// ---- of those who left ----

Succession::Choice Succession::OfLastDrops(const Partition& partition) {
  if (!state_.awaited.empty() && IsStillTime(partition)) return {};
  const Endpoint leader = LastOne(partition);
  if (leader.IsValid()) return {.leader = leader};
  return {.reason = WhyNobody(partition)};
}

Succession::Candidate Succession::CandidateOf(PartitionId pid, Endpoint endpoint) const {
  Candidate candidate{.endpoint = endpoint};
  const Node* node = state_.FindNode(endpoint);
  if (node == nullptr || !node->alive || !node->collected) return candidate;
  const ReplicaInfo* report = node->LoadedReplica(pid);
  if (report == nullptr) {
    // It is known to have nothing, unless a disk that can't be read may hold it.
    candidate.is_known = !node->IsLoading(pid) && !node->has_unreadable_disks;
    return candidate;
  }
  return {.endpoint = endpoint,
          .is_known = true,
          .has_replica = true,
          .is_durable = report->durability == static_cast<int8_t>(Durability::kFsync),
          .is_unclean = report->unclean.value_or(false),
          .tells_ballot = report->last_mutation_ballot.has_value(),
          .ballot = report->ballot,
          .mutation_ballot = report->last_mutation_ballot.value_or(report->ballot),
          .committed = report->last_committed_decree,
          .prepared = report->last_prepared_decree};
}

Endpoint Succession::LastOne(const Partition& partition) {
  const PartitionConfiguration& config = partition.config;
  Candidate last = CandidateOf(config.pid, config.last_drops.back());
  if (config.last_drops.size() == 1) {
    // succession/P2
    const bool is_short = last.is_durable && last.prepared < partition.KnownCommitted();
    return last.has_replica && !is_short ? last.endpoint : Endpoint{};
  }
  Candidate earlier = CandidateOf(config.pid, config.last_drops[config.last_drops.size() - 2]);
  if (last.has_replica && last.is_durable) return LongestDurable(partition, earlier, last);
  if (!last.has_replica || !earlier.is_known) return {};  // succession/P3
  // A restarted server has forgotten how much of what it holds was committed.
  const Decree known =
      std::max({partition.KnownCommitted(), earlier.committed, last.committed, earlier.prepared});
  if (last.prepared >= known && last.mutation_ballot >= earlier.mutation_ballot)
    return last.endpoint;
  const auto ballot_of = [](const Candidate& c) {
    return c.mutation_ballot > Ballot(0) ? c.mutation_ballot : c.ballot;
  };
  const Ballot theirs = ballot_of(earlier), ours = ballot_of(last);
  // What follows is for logs that are not durable. Either one may have lost its end, so the two
  // must not contradict each other.
  const bool agree = (theirs >= ours && earlier.committed >= last.committed) ||
                     (theirs <= ours && earlier.committed <= last.committed);
  Decree prepared = std::max(earlier.prepared, last.prepared);
  if (!agree || prepared < config.last_committed_decree ||
      prepared < std::max(earlier.committed, last.committed)) {
    return {};
  }
  const auto rank = [&](const Candidate& c) {
    return std::tuple(ballot_of(c), c.committed, c.prepared);
  };
  if (rank(earlier) <= rank(last)) return last.endpoint;
  const bool is_whole = earlier.mutation_ballot >= Ballot(0);  // no learner's
  return is_whole ? earlier.endpoint : Endpoint{};
}

// Where logs are durable, the last member alone holds everything acknowledged, and the rules of
// an unclean restart apply: the other one counts when it has more (what the last one's damaged
// end may lack), and is waited for one grace at most. Committed decrees say nothing here: what a
// restarted member knows of them falls back.
Endpoint Succession::LongestDurable(const Partition& partition, const Candidate& earlier,
                                    const Candidate& last) {
  const Candidate* longest = &last;
  const auto rank = [](const Candidate& c) { return std::tuple(c.mutation_ballot, c.prepared); };
  // A learner's state says -1: however long, it may lack what the last member acknowledged. An older
  // server's ballot may be one under which it only was to learn.
  const bool is_sure =
      earlier.has_replica && earlier.tells_ballot && earlier.mutation_ballot >= Ballot(0);
  // Where no mutation is in its log (0), the last one has the rank of the ballot that it was told
  // last: it acknowledged nothing under a larger one. Most often it holds a checkpoint and has no
  // end that could be damaged; but its disk may also be as it was before its first mutation.
  const bool has_none = last.mutation_ballot == Ballot(0);
  const std::tuple end(has_none ? last.ballot : last.mutation_ballot, last.prepared);
  if (is_sure && rank(earlier) > end) longest = &earlier;
  const bool may_come = !earlier.is_known && state_.IsAlive(earlier.endpoint);
  if (may_come && last.is_unclean && IsStillTime(partition)) return {};
  return longest->prepared < partition.KnownCommitted() ? Endpoint{} : longest->endpoint;
}

// For people: why LastOne found nobody it may choose by itself.
const char* Succession::WhyNobody(const Partition& partition) const {
  const PartitionId pid = partition.config.pid;
  const Node* node = state_.FindNode(partition.config.last_drops.back());
  if (node == nullptr || !node->alive) return "the member that left last is dead";
  if (!node->collected) return "the member that left last has not reported its replicas yet";
  if (node->IsLoading(pid)) return "the member that left last is still loading its replica";
  if (node->LoadedReplica(pid) != nullptr)
    return "the last members' logs end before what was committed, or contradict each other, or "
           "one of them has not reported";
  if (node->has_unreadable_disks) return "the member that left last has a disk that can't be read";
  return "the member that left last has lost its replica";
}

bool IsUnprovenPrimary(const ClusterState& state, const Partition& partition) {
  const PartitionConfiguration& config = partition.config;
  const Node* node = state.FindNode(config.primary);
  if (node == nullptr || !node->alive || partition.serving.contains(config.primary)) return false;
  const ReplicaInfo* report = node->LoadedReplica(config.pid);
  return report != nullptr && report->status == PartitionStatus::kInactive &&
         report->is_unproven.value_or(false);
}

OutsideCopies OutsideCopiesOf(const ClusterState& state, const PartitionConfiguration& config) {
  CHECK(config.primary.IsValid() && config.secondaries.empty());
  OutsideCopies copies{.have_all_told = state.HaveAllTold(config.pid)};
  const Node* home = state.FindNode(config.primary);
  const ReplicaInfo* own = home == nullptr ? nullptr : home->LoadedReplica(config.pid);
  const auto rank = [](const ReplicaInfo& report) {
    return std::tuple(*report.last_mutation_ballot, report.last_prepared_decree);
  };
  // Only copies whose servers tell the ballot of the last mutation are compared: others prove
  // nothing.
  const ReplicaInfo* best = own;
  for (const auto& [endpoint, node] : state.nodes) {
    if (!node.alive || endpoint == config.primary) continue;
    const ReplicaInfo* report = node.LoadedReplica(config.pid);
    if (own == nullptr || report == nullptr) continue;
    const HeldReplica ours{config.primary, own}, theirs{endpoint, report};
    if (!ours.TellsBallot() || !theirs.TellsBallot() || !theirs.IsWhole()) continue;
    const bool is_known = report->last_prepared_decree <= own->last_committed_decree;
    if (is_known || rank(*report) <= rank(*best)) continue;
    best = report;
    copies.more = endpoint;
    copies.more_is_committed = report->last_committed_decree > own->last_prepared_decree;
  }
  return copies;
}

bool IsOlderEverywhere(const ClusterState& state, const Partition& partition) {
  const PartitionConfiguration& config = partition.config;
  if (config.primary.IsValid() || partition.IsDropped()) return false;
  // Those whose copies could decide: the members, or who left last where there is none.
  std::vector<Endpoint> holders = config.secondaries;
  if (holders.empty() && !config.last_drops.empty()) holders = {config.last_drops.back()};
  bool is_one_there = false;
  for (Endpoint endpoint : holders) {
    const Node* node = state.FindNode(endpoint);
    if (node == nullptr || !node->alive) continue;
    if (!node->collected || node->IsLoading(config.pid)) return false;  // not known yet
    const ReplicaInfo* report = node->LoadedReplica(config.pid);
    if (report == nullptr) continue;
    if (!IsShort(partition, *report)) return false;
    is_one_there = true;
  }
  return is_one_there;
}

bool IsForsaken(const ClusterState& state, const Partition& partition) {
  const PartitionConfiguration& config = partition.config;
  const auto may_follow = [&](Endpoint endpoint) {
    const Node* node = state.FindNode(endpoint);
    if (node == nullptr || !node->alive) return false;
    // It may still report a copy.
    if (!node->collected) return true;
    return node->replicas.contains(config.pid) && !partition.short_copies.contains(endpoint);
  };
  return !config.primary.IsValid() &&
         std::none_of(config.secondaries.begin(), config.secondaries.end(), may_follow);
}

}  // namespace arion
