// SPDX-License-Identifier: Apache-2.0
#include "meta/configuration_requests.h"

#include <string>
#include <vector>

#include "base/counter.h"
#include "base/log.h"
#include "env/die_at.h"
#include "meta/learner_proof.h"
#include "meta/meta_options.h"
#include "meta/request_codec.h"
#include "meta/request_handlers.h"
#include "meta/store_guard.h"
#include "meta_judgement/succession.h"
#include "meta_state/configuration_change.h"
#include "meta_state/failure_detector.h"
#include "meta_state/replica_reports.h"
#include "meta_state/report_numbers.h"
#include "meta_state/table_split.h"

namespace arion {
namespace {

std::string Describe(const PartitionConfiguration& config) {
  std::string text = absl::StrCat("[", config.pid.ToString(), " ", config.ballot.value(),
                                  "] primary ", config.primary.ToString(), " secondaries");
  for (Endpoint node : config.secondaries) absl::StrAppend(&text, " ", node.ToString());
  return text;
}

}  // namespace

void ConfigurationRequests::AddTo(RequestHandlers& handlers) {
  handlers.Add(kRpcUpdateConfiguration, this, &ConfigurationRequests::OnUpdate);
}

void ConfigurationRequests::OnUpdate(InboundRequest& request) {
  auto update = RequestCodec::Decode<ConfigurationUpdateRequest>(request);
  if (!update) return;
  UpdateJudgement judgement =
      JudgeUpdate(uses_.state, LevelOf(uses_.state, uses_.options), *update);
  Partition* partition = uses_.state.FindPartition(update->config.pid);
  ConfigurationUpdateResponse response = AnswerFor(ErrorCode::kOk, update->config.pid);
  if (judgement.verdict == UpdateVerdict::kApply && AwaitsOtherCopies(*partition, update->type)) {
    // The sender asks again in a moment, under the same ballot.
    response.err = ErrorCode::kBusy;
    return uses_.codec.Answer(request, response);
  }
  if (judgement.verdict == UpdateVerdict::kApply) {
    const LearnerProof::Answer proof = uses_.learners.Judge(*update);
    if (proof == LearnerProof::Answer::kAsked)
      return held_.Hold(update->config.pid, std::move(request));
    if (proof == LearnerProof::Answer::kUnknown)
      judgement = {.verdict = UpdateVerdict::kOutdated,
                   .reason = "the learner may lack what its primary has"};
  }
  switch (judgement.verdict) {
    case UpdateVerdict::kApply:
      if (uses_.store.is_failed()) {
        response.err = ErrorCode::kFileOperationFailed;
        judgement.reason = "the state can't be stored";
        break;
      }
      if (update->holds_less.value_or(false)) NoteHoldsLess(*partition, update->node);
      return Store(*partition, std::move(judgement.next),
                   {.cause = update->type,
                    .node = update->node,
                    .request = std::move(request),
                    .child = std::move(judgement.child)});
    case UpdateVerdict::kGivesWay:
      NoteGivesWay(*partition, update->node, Now() + uses_.options.grace);
      events_.plan();
      [[fallthrough]];
    case UpdateVerdict::kPending:
      return held_.Hold(update->config.pid, std::move(request));
    case UpdateVerdict::kRepeat:
      break;
    case UpdateVerdict::kOutdated:
      response.err = ErrorCode::kInvalidVersion;
      break;
    case UpdateVerdict::kUnknown:
      response.err = ErrorCode::kObjectNotFound;
      break;
    case UpdateVerdict::kFreezed:
      response.err = ErrorCode::kStateFreezed;
      break;
  }
  if (response.err != ErrorCode::kOk) {
    LOG_EVERY_N(INFO, 20) << "meta: [" << update->config.pid << " " << update->config.ballot
                          << "] update from " << request.header.from
                          << " refused: " << judgement.reason;
  }
  uses_.codec.Answer(request, response);
}

// With the count that goes with that configuration (table_split/C1).
ConfigurationUpdateResponse ConfigurationRequests::AnswerFor(ErrorCode error,
                                                             PartitionId pid) const {
  ConfigurationUpdateResponse answer{.err = error};
  if (const Partition* partition = uses_.state.FindPartition(pid)) {
    answer.config = partition->config;
    answer.partition_count = InfoFor(*uses_.state.FindTable(pid.app_id), pid.index).partition_count;
  }
  return answer;
}

// nullptr: it registers none.
Partition* ConfigurationRequests::ChildOf(const Asked& asked) {
  return asked.child ? uses_.state.FindPartition(asked.child->pid) : nullptr;
}

void ConfigurationRequests::JudgeHeld(PartitionId pid) {
  // From the start: what was stored meanwhile may have made it a repeat, or outdated.
  for (InboundRequest& request : held_.Take(pid)) OnUpdate(request);
}

// A primary whose disk may be an older copy begins to lead, or gives way, when everybody was heard
// who may hold more, for a grace at most. Where this meta server began just now, its state may be
// an older copy, too: then its group may not be the last one, and everybody is who was known. Later
// the members answer for themselves (pacifica/roll_call.h), and for an only one the copies of
// former members do.
bool ConfigurationRequests::AwaitsOtherCopies(const Partition& partition, ConfigType type) const {
  const PartitionConfiguration& config = partition.config;
  // Neither may one be current that is proven: it may have left since, and been opened again because
  // the state that was put back still names it.
  const bool resumes_at_start =
      type == ConfigType::kPrimaryForceUpdateBallot && Now() < start_ends_;
  if (!resumes_at_start && !IsUnprovenPrimary(uses_.state, partition)) return false;
  if (!config.secondaries.empty())
    return Now() < start_ends_ && !uses_.state.HaveAllTold(config.pid);
  if (type != ConfigType::kPrimaryForceUpdateBallot) return false;
  const OutsideCopies copies = OutsideCopiesOf(uses_.state, config);
  return copies.more.IsValid() ||
         (!copies.have_all_told && Now() < partition.primary_deadline.value_or(start_ends_));
}

// meta_server/M1: the store first, then memory, then the answer.
void ConfigurationRequests::Store(Partition& partition, PartitionConfiguration next, Asked asked) {
  CHECK(!partition.pending) << "configuration_requests/C1: " << Describe(next);
  CHECK(next.ballot == partition.config.ballot + 1 ||
        (partition.IsBehind() && next.ballot == partition.shown.ballot + 1))
      << Describe(next);  // meta_server/M2
  partition.pending = next;
  // Which process asked: it may be another one by the time this is stored.
  if (asked.node.IsValid()) asked.incarnation = uses_.state.nodes[asked.node].incarnation;
  std::vector<MetaStore::Change> batch = {uses_.state.ChangeOf(next)};
  if (Partition* child = ChildOf(asked)) {
    child->pending = asked.child;
    batch.push_back(uses_.state.ChangeOf(*asked.child));
    if (IsLastChild(*uses_.state.FindTable(next.pid.app_id), asked.child->pid.index))
      batch.push_back(ChangeOfSplit(next.pid.app_id, std::nullopt));
  }
  if (asked.cause == ConfigType::kAssignPrimary && partition.committed.decree > Decree(0))
    batch.push_back(
        ClusterState::ChangeOfCommitted(*uses_.state.FindTable(next.pid.app_id), next.pid.index));
  uses_.store.Commit(
      std::move(batch), StoreNeed::kToServe,
      [this, next = std::move(next), asked = std::move(asked)](const absl::Status& stored) mutable {
        const PartitionId pid = next.pid;
        if (!stored.ok()) return GiveUp(pid, std::move(asked));
        InstallStored(std::move(next), asked);
        if (!asked.request) return;
        uses_.codec.Answer(*asked.request, AnswerFor(ErrorCode::kOk, pid));
      });
}

void ConfigurationRequests::InstallStored(PartitionConfiguration next, const Asked& asked) {
  const PartitionId pid = next.pid;
  Partition& partition = *uses_.state.FindPartition(pid);
  CHECK(partition.pending == next)
      << "meta_server/M1: " << Describe(next) << " is not what was stored";
  Install(partition, std::move(next), asked.cause, Now());
  // Reports that were asked for until now may have been written under the former configuration.
  partition.older_reports = uses_.numbers.last();
  uses_.changes.Add(1);
  LOG(INFO) << "meta: " << Describe(partition.config);
  if (asked.child) {
    DieAt("split.child_stored");
    Table& table = *uses_.state.FindTable(pid.app_id);
    LOG(INFO) << "meta: split off " << Describe(*asked.child);
    if (InstallChild(table, *asked.child, uses_.numbers.last(), Now())) events_.split(table);
  }
  if (partition.intent) partition.intent->times_sent = 0;  // now with another ballot
  // While it was being stored the asker's process was replaced. What Install says of it (serving)
  // is not true of the new one.
  if (asked.node.IsValid() && uses_.state.nodes[asked.node].incarnation != asked.incarnation) {
    const Instant deadline = uses_.detector.FormerServiceEnd(asked.node) + uses_.options.grace;
    NoteRestart(partition, asked.node, deadline);
    if (Partition* child = ChildOf(asked)) NoteRestart(*child, asked.node, deadline);
  }
  Settle(pid);
}

// What could not be written is as if the change had not been tried; after a failed sync it stays
// pending.
void ConfigurationRequests::GiveUp(PartitionId pid, Asked asked) {
  if (uses_.store.is_failed()) return;
  Partition& partition = *uses_.state.FindPartition(pid);
  partition.pending.reset();
  if (Partition* child = ChildOf(asked)) child->pending.reset();
  if (asked.request)
    uses_.codec.Answer(*asked.request, AnswerFor(ErrorCode::kFileOperationFailed, pid));
  uses_.store.RetryLater();
  Settle(pid);
}

void ConfigurationRequests::Settle(PartitionId pid) {
  // A change of the whole table comes first: it waits for all partitions, and would else wait for
  // ever.
  events_.settled(pid.app_id);
  JudgeHeld(pid);
  events_.plan();
}

}  // namespace arion
