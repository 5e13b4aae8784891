// SPDX-License-Identifier: Apache-2.0
#include "pacifica/replica_state.h"

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "decrees/log_replay.h"
#include "messages/write_members.h"
#include "pacifica/invariants.h"

namespace arion {

ReplicaState::ReplicaState(CoreOptions options_in)
    : options(std::move(options_in)),
      app(options.app),
      list(options.prepare_list_span_max, Decree(0)) {
  CHECK_GT(options.mutations_in_flight_max, 0);
  CHECK_GE(options.prepare_list_span_max, options.mutations_in_flight_max);
  CHECK(options.self.IsValid());
  CHECK_GT(options.mutation_bytes_max, 0u);
  CHECK_GT(options.prepare_timeout, absl::ZeroDuration());
  CHECK_GT(options.group_check_interval, absl::ZeroDuration());
  configuration.pid = options.pid;
  configuration.max_replica_count = app.max_replica_count;
}

// What an own log says at start: the mutations that it proves committed are handed to the engine
// with the first step, the rest becomes the prepare list.
void ReplicaState::Recover(const RecoveredState& recovered) {
  CHECK(initializing && list.last_prepared() == Decree(0)) << "recovered twice";
  CHECK_GE(recovered.ballot, Ballot(0));
  CHECK_GE(recovered.last_durable, Decree(0));
  ballot = recovered.ballot;
  last_stop = recovered.last_stop;
  inactivity = recovered.inactivity;
  is_foreign = recovered.is_foreign;
  if (recovered.inactivity == Inactivity::kRemoved) standing = Standing::kLearner;
  last_applied = last_handed = recovered.last_applied;
  last_durable = std::min(recovered.last_durable, recovered.last_applied);
  list.Reset(recovered.last_applied, recovered.last_applied_ballot);
  LogReplay replay(options.pid, recovered.last_applied);
  std::vector<MutationPtr> committed;
  for (const MutationPtr& m : recovered.logged) {
    if (replay.Add(m, &committed).ok()) continue;
    // A removed replica that learns anew is better than a history with a hole.
    ++counters.lost_entries;
    inactivity = Inactivity::kRemoved;
    break;
  }
  ballot = std::max(ballot, replay.max_ballot());
  last_mutation_ballot = std::max(recovered.last_mutation_ballot, replay.max_ballot());
  for (const MutationPtr& m : committed) list.Put(m, PrepareList::LogState::kLogged, 0);
  const Decree last_committed = replay.last_committed();
  for (const MutationPtr& m : replay.Uncommitted()) list.Put(m, PrepareList::LogState::kLogged, 0);
  CommitThrough(last_committed);
  // A later mutation never gets a smaller timestamp than one of this list (Primary::Order).
  for (Decree d = list.first_kept(); d <= list.last_prepared(); ++d) {
    const PrepareList::Entry* entry = list.Find(d);
    if (entry == nullptr) continue;
    last_timestamp_us = std::max(last_timestamp_us, entry->mutation->timestamp_us);
  }
  CHECK_EQ(list.last_committed(), last_committed) << "invariants/R14: replay and list disagree";
}

int32_t ReplicaState::MembersMin() const {
  return WriteMembersMin(options.replica_count_min, configuration.max_replica_count);
}

Watermarks ReplicaState::marks() const {
  return {.role = role,
          .ballot = ballot,
          .last_durable = last_durable,
          .last_applied = last_applied,
          .last_committed = list.last_committed(),
          .last_logged = list.last_logged(),
          .last_prepared = list.last_prepared(),
          .learner_restarts = learner_restarts};
}

// Only what is about several fields at once. What a part holds by itself is in that part's Check.
void ReplicaState::Check() const {
  const bool has_role = role != PartitionStatus::kInactive && role != PartitionStatus::kError;
  CHECK(connected || !has_role) << "invariants/R12";
  CHECK(!initializing || !has_role) << "a role before any configuration";
  CHECK(!effects.persist_ballot || *effects.persist_ballot == ballot) << "invariants/R13";
  CHECK_EQ(last_handed, list.last_committed()) << "invariants/R14";
  CHECK_LE(last_handed_ballot, ballot) << "invariants/R15";
  CHECK_LE(last_mutation_ballot, ballot) << "invariants/R15";
  CHECK(role != PartitionStatus::kPrimary || primary == options.self);
  CHECK_EQ(configuration.pid, options.pid) << "another partition's configuration";
  CHECK_LE(office_ballot, ballot) << "invariants/R15: in office under a ballot that is yet to come";
  CHECK(appends.empty() || appends.rbegin()->first < next_sequence)
      << "an append that was never asked for";
  CHECK(role != PartitionStatus::kPrimary || inherited <= list.last_prepared())
      << "invariants/R3: what the term began with was given up";
  CHECK(inactive_since <= now) << "time ran backwards";
}

// What the list does not store is not logged either.
PrepareList::PutVerdict ReplicaState::Append(MutationPtr mutation) {
  CHECK(mutation != nullptr);
  CHECK_EQ(mutation->pid, options.pid) << "its log would be another replica's";
  const PrepareList::PutVerdict verdict =
      list.Put(mutation, PrepareList::LogState::kPending, next_sequence);
  if (verdict == PrepareList::PutVerdict::kStored) Log(std::move(mutation));
  return verdict;
}

void ReplicaState::Log(MutationPtr mutation) {
  CHECK_LE(mutation->ballot, ballot) << "invariants/R15: logged under a ballot that is not adopted";
  const uint64_t sequence = next_sequence++;
  appends.emplace(sequence, mutation->decree);
  last_mutation_ballot = std::max(last_mutation_ballot, mutation->ballot);
  last_timestamp_us = std::max(last_timestamp_us, mutation->timestamp_us);
  effects.append.push_back({sequence, std::move(mutation)});
}

Decree ReplicaState::TakeLogged(uint64_t sequence) {
  auto it = appends.find(sequence);
  if (it == appends.end()) return kInvalidDecree;
  const Decree decree = it->second;
  appends.erase(it);
  // The list may hold a newer version of the decree by now, whose append is still under way.
  return list.MarkLogged(decree, sequence) ? decree : kInvalidDecree;
}

void ReplicaState::Hand(MutationPtr mutation) {
  CHECK(mutation != nullptr);
  CHECK_EQ(mutation->decree, last_handed + 1) << "the engine gets every decree once, in order";
  CHECK_GE(mutation->ballot, last_handed_ballot)
      << "invariants/R7: the ballot of a committed decree falls";
  last_handed = mutation->decree;
  last_handed_ballot = mutation->ballot;
  effects.apply.push_back(std::move(mutation));
}

void ReplicaState::CommitThrough(Decree through) {
  for (MutationPtr& m : list.CommitThrough(through)) Hand(std::move(m));
}

// Durable with this step's first effects, before anything that learning changes.
void ReplicaState::MarkAsLearner() {
  if (standing == Standing::kLearner) return;
  standing = Standing::kLearner;
  effects.persist_standing = Standing::kLearner;
}

void ReplicaState::RestartList(Decree committed, Ballot ballot) {
  CHECK_EQ(committed, last_handed) << "invariants/R14: the list begins where the engine will stand";
  list.Reset(committed, ballot);
  last_handed_ballot = Ballot(0);
  ++learner_restarts;
  is_foreign = false;
  // It is on disk already, or goes there with what led here: HandOver, RestartLog, LearnerWork.
  standing = Standing::kLearner;
}

void ReplicaState::HandOver(const std::vector<MutationPtr>& mutations) {
  CHECK(!mutations.empty()) << "nothing was learned";
  MarkAsLearner();
  // Another's history begins: its ballots are not compared with those of what was here.
  last_handed_ballot = Ballot(0);
  for (const MutationPtr& m : mutations) {
    last_mutation_ballot = std::max(last_mutation_ballot, m->ballot);
    last_timestamp_us = std::max(last_timestamp_us, m->timestamp_us);
    Hand(m);
  }
  RestartList(last_handed, last_handed_ballot);
}

void ReplicaState::JumpTo(Decree decree) {
  CHECK(!AppliesPending()) << "the engine is replaced while mutations are on their way to it";
  CHECK_GE(decree, Decree(0));
  last_applied = last_handed = decree;
  last_durable = std::min(last_durable, decree);
  // A checkpoint does not tell the ballot of its last mutation.
  last_mutation_ballot = Ballot(0);
  RestartList(decree, Ballot(0));
}

ReplicaConfiguration ReplicaState::ConfigurationFor(PartitionStatus receiver_role,
                                                    int64_t learner_signature) const {
  CHECK(receiver_role != PartitionStatus::kPrimary) << "a primary tells nobody to be primary";
  ReplicaConfiguration config;
  config.pid = options.pid;
  config.ballot = ballot;
  config.primary = options.self;
  config.status = receiver_role;
  config.learner_signature = learner_signature;
  return config;
}

}  // namespace arion
