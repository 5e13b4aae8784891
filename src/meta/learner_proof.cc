// SPDX-License-Identifier: Apache-2.0
#include "meta/learner_proof.h"

#include "base/log.h"
#include "messages/tool_messages.h"
#include "meta/owner_life.h"
#include "meta/request_codec.h"
#include "meta_state/cluster_state.h"

namespace arion {
namespace {

constexpr absl::Duration kQuestionTimeout = absl::Milliseconds(500);
constexpr absl::Duration kPause = absl::Milliseconds(10);

}  // namespace

LearnerProof::Answer LearnerProof::Judge(const ConfigurationUpdateRequest& update) {
  const PartitionConfiguration& wanted = update.config;
  const Node* primary = uses_.state.FindNode(wanted.primary);
  const bool is_of_older =
      update.type == ConfigType::kUpgradeToSecondary && primary != nullptr && primary->is_older;
  if (!is_of_older || IsAllCommitted(update)) return Answer::kHoldsAll;
  const auto found = questions_.find(wanted.pid);
  // Under another ballot, of another primary or about another learner it is another question: what
  // was answered so far says nothing of it.
  const bool is_open = found != questions_.end() && found->second.ballot == wanted.ballot &&
                       found->second.primary == wanted.primary &&
                       found->second.learner == update.node;
  if (!is_open) {
    questions_[wanted.pid] = {.serial = ++last_serial_,
                              .ballot = wanted.ballot,
                              .primary = wanted.primary,
                              .learner = update.node,
                              .since = uses_.clock.Now()};
    Ask(wanted.pid, wanted.primary);
    Ask(wanted.pid, update.node);
    return Answer::kAsked;
  }
  const bool is_answered = found->second.IsAnswered();
  if (!is_answered && uses_.clock.Now() < found->second.since + kPatience) return Answer::kAsked;
  LOG_IF(WARNING, !is_answered) << "meta: [" << wanted.pid << " " << wanted.ballot << "] "
                                << update.node << " does not hold yet what its primary, of an "
                                << "older version, has prepared: it stays a learner";
  questions_.erase(found);
  return is_answered ? Answer::kHoldsAll : Answer::kUnknown;
}

// What it reports as primary includes all that it began its office with.
bool LearnerProof::IsAllCommitted(const ConfigurationUpdateRequest& update) const {
  const Node& primary = *uses_.state.FindNode(update.config.primary);
  const ReplicaInfo* report =
      primary.collected ? primary.LoadedReplica(update.config.pid) : nullptr;
  return report != nullptr && report->status == PartitionStatus::kPrimary &&
         report->last_prepared_decree <= update.config.last_committed_decree;
}

void LearnerProof::Ask(PartitionId pid, Endpoint server) {
  uses_.transport.Call(server,
                       {.name = kRpcQueryReplicaInfo,
                        .body = uses_.codec.Encode(QueryReplicaInfoRequest{.node = server}),
                        .timeout = kQuestionTimeout},
                       uses_.strand,
                       uses_.life.While([this, pid, server,
                                         serial = questions_[pid].serial](const RpcResult& result) {
                         const auto found = questions_.find(pid);
                         // An answer to a question that another one replaced is passed over.
                         if (found != questions_.end() && found->second.serial == serial)
                           OnAnswer(pid, server, result);
                       }));
}

void LearnerProof::OnAnswer(PartitionId pid, Endpoint server, const RpcResult& result) {
  Question& question = questions_[pid];
  const auto answer = DecodeWrapped<QueryReplicaInfoResponse>(result.body);
  if (result.error == ErrorCode::kOk && answer.ok() && answer->err == ErrorCode::kOk) {
    for (const ReplicaInfo& replica : answer->replicas)
      if (replica.pid == pid)
        (server == question.primary ? question.primarys : question.learners) =
            replica.last_prepared_decree;
  }
  const bool is_over = uses_.clock.Now() >= question.since + kPatience;
  if (question.IsAnswered() || is_over) {
    const uint64_t serial = question.serial;
    on_known_(pid);
    // What was told is of this moment, whatever became of the update.
    const auto left = questions_.find(pid);
    if (left != questions_.end() && left->second.serial == serial) questions_.erase(left);
    return;
  }
  // The primary's stays as it is, once it is known.
  if (server == question.primary && question.primarys) return;
  uses_.strand->PostAfter(kPause, uses_.life.While([this, pid, server, serial = question.serial] {
    const auto found = questions_.find(pid);
    if (found != questions_.end() && found->second.serial == serial) Ask(pid, server);
  }));
}

}  // namespace arion
