// SPDX-License-Identifier: Apache-2.0
#include "pacifica/replica_state.h"

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "messages/write_members.h"

namespace arion {

ReplicaState::ReplicaState(CoreOptions options_in)
    : options(std::move(options_in)),
      app(options.app),
      list(options.prepare_list_span_max, Decree(0)) {
  CHECK_GT(options.mutations_in_flight_max, 0);
  CHECK_GE(options.prepare_list_span_max, options.mutations_in_flight_max);
  CHECK(options.self.IsValid());
  configuration.pid = options.pid;
  configuration.max_replica_count = app.max_replica_count;
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

void ReplicaState::Check() const {
  const bool has_role = role != PartitionStatus::kInactive && role != PartitionStatus::kError;
  CHECK(connected || !has_role) << "invariants/R12";
  CHECK(!initializing || !has_role) << "a role before any configuration";
  CHECK(!effects.persist_ballot || *effects.persist_ballot == ballot) << "invariants/R13";
  CHECK_EQ(last_handed, list.last_committed()) << "invariants/R14";
  CHECK_LE(last_handed_ballot, ballot) << "invariants/R15";
  CHECK_LE(last_mutation_ballot, ballot) << "invariants/R15";
  CHECK(role != PartitionStatus::kPrimary || primary == options.self);
}

PrepareList::PutVerdict ReplicaState::Append(MutationPtr mutation) {
  CHECK_EQ(mutation->pid, options.pid) << "its log would be another replica's";
  const PrepareList::PutVerdict verdict =
      list.Put(mutation, PrepareList::LogState::kPending, next_sequence);
  if (verdict == PrepareList::PutVerdict::kStored) Log(std::move(mutation));
  return verdict;
}

void ReplicaState::Log(MutationPtr mutation) {
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
  return list.MarkLogged(decree, sequence) ? decree : kInvalidDecree;
}

void ReplicaState::Hand(MutationPtr mutation) {
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
  standing = Standing::kLearner;  // on disk with what led here: HandOver, RestartLog, LearnerWork
}

void ReplicaState::HandOver(const std::vector<MutationPtr>& mutations) {
  MarkAsLearner();
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
  last_applied = last_handed = decree;
  last_durable = std::min(last_durable, decree);
  last_mutation_ballot = Ballot(0);
  RestartList(decree, Ballot(0));
}

ReplicaConfiguration ReplicaState::ConfigurationFor(PartitionStatus receiver_role,
                                                    int64_t learner_signature) const {
  ReplicaConfiguration config;
  config.pid = options.pid;
  config.ballot = ballot;
  config.primary = options.self;
  config.status = receiver_role;
  config.learner_signature = learner_signature;
  return config;
}

}  // namespace arion
