// Changes of configurations: asked for by primaries or planned, judged, stored, installed.
// SPDX-License-Identifier: Apache-2.0
#include <string>
#include <utility>
#include <vector>

#include "base/log.h"
#include "meta/meta_server_state.h"
#include "meta_judgement/succession.h"
#include "meta_state/configuration_change.h"
#include "meta_state/replica_reports.h"

namespace arion {
namespace {

std::string Describe(const PartitionConfiguration& config) {
  std::string text = absl::StrCat("[", config.pid.ToString(), " ", config.ballot.value(),
                                  "] primary ", config.primary.ToString(), " secondaries");
  for (Endpoint node : config.secondaries) absl::StrAppend(&text, " ", node.ToString());
  return text;
}

}  // namespace

void MetaServer::State::OnUpdate(InboundRequest& request) {
  auto update = codec_.Decode<ConfigurationUpdateRequest>(request);
  if (!update) return;
  UpdateJudgement judgement = JudgeUpdate(state_, Level(), *update);
  Partition* partition = state_.FindPartition(update->config.pid);
  ConfigurationUpdateResponse response;
  if (partition != nullptr) response.config = partition->config;
  if (judgement.verdict == UpdateVerdict::kApply && AwaitsOtherCopies(*partition, update->type)) {
    response.err = ErrorCode::kBusy;
    return codec_.Answer(request, response);
  }
  switch (judgement.verdict) {
    case UpdateVerdict::kApply:
      if (store_.is_failed()) {
        response.err = ErrorCode::kFileOperationFailed;
        judgement.reason = "the state can't be stored";
        break;
      }
      if (update->holds_less.value_or(false)) NoteHoldsLess(*partition, update->node);
      StoreConfiguration(*partition, std::move(judgement.next), update->type, update->node,
                         std::move(request));
      return;
    case UpdateVerdict::kGivesWay:
      NoteGivesWay(*partition, update->node, Now() + options_.grace);
      SchedulePlan();
      [[fallthrough]];
    case UpdateVerdict::kPending:
      return HoldUpdate(update->config.pid, std::move(request));
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
  codec_.Answer(request, response);
}

// Who asks while a change is being stored would else hear nothing, and wait for its call to end.
void MetaServer::State::HoldUpdate(PartitionId pid, InboundRequest request) {
  constexpr size_t kHeldMax = 8;
  std::vector<InboundRequest>& held = held_updates_[pid];
  if (held.size() < kHeldMax) held.push_back(std::move(request));
}

void MetaServer::State::JudgeHeldUpdates(PartitionId pid) {
  const auto found = held_updates_.find(pid);
  if (found == held_updates_.end()) return;
  std::vector<InboundRequest> held = std::move(found->second);
  held_updates_.erase(found);
  for (InboundRequest& request : held) OnUpdate(request);
}

// A primary whose disk may be an older copy begins to lead, or gives way, when everybody was heard who
// may hold more, for a grace at most. Where this meta server began just now, its state may be an older
// copy, too: then its group may not be the last one, and everybody is who was known. Later the members
// answer for themselves (pacifica/roll_call.h), and for an only one the copies of former members do.
bool MetaServer::State::AwaitsOtherCopies(const Partition& partition, ConfigType type) const {
  const PartitionConfiguration& config = partition.config;
  if (!IsUnprovenPrimary(state_, partition)) return false;
  const Instant start_ends = began_at_ + options_.grace;
  if (!config.secondaries.empty()) return Now() < start_ends && !state_.HaveAllTold(config.pid);
  if (type != ConfigType::kPrimaryForceUpdateBallot) return false;
  const OutsideCopies copies = OutsideCopiesOf(state_, config);
  return copies.more.IsValid() ||
         (!copies.have_all_told && Now() < partition.primary_deadline.value_or(start_ends));
}

// meta_server/M1: the store first, then memory, then the answer.
void MetaServer::State::StoreConfiguration(Partition& partition, PartitionConfiguration next,
                                           ConfigType cause, Endpoint node,
                                           std::optional<InboundRequest> request) {
  CHECK(!partition.pending) << Describe(next);
  CHECK(next.ballot == partition.config.ballot + 1 ||
        (partition.IsBehind() && next.ballot == partition.shown.ballot + 1))
      << Describe(next);  // meta_server/M2
  partition.pending = next;
  int64_t incarnation = node.IsValid() ? state_.nodes[node].incarnation : 0;
  std::vector<MetaStore::Change> batch = {state_.ChangeOf(next)};
  if (cause == ConfigType::kAssignPrimary && partition.committed.decree > Decree(0))
    batch.push_back(
        ClusterState::ChangeOfCommitted(*state_.FindTable(next.pid.app_id), next.pid.index));
  store_.Commit(std::move(batch), StoreNeed::kToServe,
                [this, next = std::move(next), cause, node, incarnation,
                 request = std::move(request)](const absl::Status& stored) mutable {
                  PartitionId pid = next.pid;
                  if (!stored.ok()) return GiveUpStoring(pid, std::move(request));
                  InstallStored(std::move(next), cause, node, incarnation);
                  if (!request) return;
                  codec_.Answer(*request, ConfigurationUpdateResponse{
                                              .config = state_.FindPartition(pid)->config});
                });
}

void MetaServer::State::InstallStored(PartitionConfiguration next, ConfigType cause, Endpoint node,
                                      int64_t incarnation) {
  Partition& partition = *state_.FindPartition(next.pid);
  CHECK(partition.pending == next)
      << "meta_server/M1: " << Describe(next) << " is not what was stored";
  const PartitionId pid = next.pid;
  int32_t app_id = pid.app_id;
  Install(partition, std::move(next), cause, Now());
  partition.older_reports = last_report_number_;
  stats_.configuration_changes.Add(1);
  LOG(INFO) << "meta: " << Describe(partition.config);
  if (partition.intent) partition.intent->times_sent = 0;  // now with another ballot
  if (node.IsValid() && state_.nodes[node].incarnation != incarnation) {
    NoteRestart(partition, node, detector_.FormerServiceEnd(node) + options_.grace);
  }
  table_changes_.Continue(app_id);
  JudgeHeldUpdates(pid);
  SchedulePlan();
}

// What could not be written is as if the change had not been tried; after a failed sync it stays
// pending.
void MetaServer::State::GiveUpStoring(PartitionId pid, std::optional<InboundRequest> request) {
  if (store_.is_failed()) return;
  Partition& partition = *state_.FindPartition(pid);
  partition.pending.reset();
  if (request)
    codec_.Answer(*request, ConfigurationUpdateResponse{.err = ErrorCode::kFileOperationFailed,
                                                        .config = partition.config});
  store_.RetryLater();
  table_changes_.Continue(pid.app_id);
  JudgeHeldUpdates(pid);
  SchedulePlan();
}

}  // namespace arion
