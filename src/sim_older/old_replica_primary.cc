// The primary's side: two-phase commit, group checks, configurations.
// SPDX-License-Identifier: Apache-2.0
#include <absl/strings/str_cat.h>

#include <algorithm>
#include <set>
#include <utility>

#include "base/log.h"
#include "base/status.h"
#include "rpc/thrift_codec.h"
#include "sim_older/old_replica.h"
#include "sim_older/old_replica_after.h"

namespace arion::sim {

using enum PartitionStatus;

namespace {

constexpr absl::Duration kRpcTimeout = absl::Seconds(5);
constexpr absl::Duration kPrepareRetryDelay = absl::Milliseconds(5);
constexpr absl::Duration kPrepareTimeMin = absl::Milliseconds(7);
constexpr absl::Duration kUpdateRetryDelay = absl::Seconds(1);

MutationPtr EmptyWrite(PartitionId pid) {
  Mutation m{.pid = pid};
  m.updates.push_back(Update{.code = WriteCode::kEmpty});
  return std::make_shared<const Mutation>(std::move(m));
}

bool IsEmptyWrite(const Mutation& m) {
  return m.updates.size() == 1 && m.updates.front().code == WriteCode::kEmpty;
}

}  // namespace

// ---- the term ----

void OldReplica::LeavePrimary() {
  ++office_;
  for (auto& [decree, entry] : list_.entries()) entry.secondaries.clear(), entry.learners.clear();
}

// Whoever waits for what another primary may or may not commit is never answered.
void OldReplica::ForgetClients() {
  queue_.clear();
  for (auto& [decree, entry] : list_.entries()) entry.clients.clear();
}

void OldReplica::TakeOffice() {
  ++office_;
  update_.reset();
  is_initializing_ = false;
  // Signatures rise with the ballot, so that no session of a former term is taken for one of this.
  const auto first = static_cast<int64_t>(static_cast<uint64_t>(ballot().value()) << 32 | 1);
  last_signature_ = std::max(last_signature_, first);
  std::erase_if(sessions_, [this](const auto& s) { return config_.IsMember(s.first); });
  // Under a forced ballot it has none, and answers before it has committed again what it
  // acknowledged. Where it is assigned, alone or told by a config sync the real one has none
  // either: no meta server can help it then.
  if (!is_forced_) read_barrier_ = list_.max();
  CheckGroup();
  PrepareAgain();
  StartQueued();
}

// Whatever it was, under this ballot and without its time.
void OldReplica::PrepareAgain() {
  // What is started below appends to the list.
  const Decree last = list_.max();
  for (Decree d = list_.committed() + 1; d <= last; ++d) {
    Entry* entry = list_.Find(d);
    Mutation again = entry == nullptr ? *EmptyWrite(pid()) : *entry->mutation;
    again.decree = d;
    again.timestamp_us = 0;
    std::vector<Client> clients;
    if (entry != nullptr) clients = std::move(entry->clients);
    Start(std::make_shared<const Mutation>(std::move(again)), std::move(clients));
  }
  CommitReady();
}

int32_t OldReplica::MembersMin() const {
  return std::min(host_.options.replica_count_min, std::max(1, config_.max_replica_count));
}

ReplicaConfiguration OldReplica::ConfigFor(PartitionStatus role, int64_t signature) const {
  return {.pid = pid(),
          .ballot = ballot(),
          .primary = host_.self(),
          .status = role,
          .learner_signature = signature};
}

// ---- two-phase commit ----

void OldReplica::StartQueued() {
  const auto members = static_cast<int32_t>(config_.MemberCount());
  if (members < MembersMin()) {
    // They were never logged, so an error is a true answer.
    for (Draft& draft : queue_)
      for (Client& client : draft.clients) client.responder.Reply(ErrorCode::kNotEnoughMember);
    queue_.clear();
  }
  while (!queue_.empty() && list_.max() - list_.committed() < host_.options.in_flight_max) {
    Draft draft = std::move(queue_.front());
    queue_.pop_front();
    Mutation m{.pid = pid(), .decree = list_.max() + 1};
    m.timestamp_us = last_timestamp_us_ =
        std::max(last_timestamp_us_ + 1, host_.env.clock().WallMicros());
    m.updates = std::move(draft.updates);
    Start(std::make_shared<const Mutation>(std::move(m)), std::move(draft.clients));
  }
}

void OldReplica::Start(MutationPtr mutation, std::vector<Client> clients) {
  Mutation m = *mutation;
  m.ballot = ballot();
  // Tells the others what they may commit; so a commit needs no message of its own.
  m.last_committed = list_.committed();
  m.log_offset = -1;
  auto ordered = std::make_shared<const Mutation>(std::move(m));
  if (Fails("pacifica/PROTOCOL.md 3.2",
            list_.Put({.mutation = ordered, .clients = std::move(clients)})))
    return;
  SendToAll(*list_.Find(ordered->decree));
  Append(std::move(ordered));
}

void OldReplica::SendToAll(Entry& entry) {
  const Instant now = host_.env.clock().Now();
  for (Endpoint secondary : config_.secondaries) {
    entry.secondaries.insert(secondary);
    SendPrepare(secondary, kSecondary, entry.mutation, now);
  }
  for (const auto& [learner, session] : sessions_) {
    // A learner gets prepares only from the decree on that it was told; what lies before comes with
    // what it learns.
    if (session.prepare_start == kInvalidDecree || session.prepare_start > entry.mutation->decree)
      continue;
    entry.learners.insert(learner);
    SendPrepare(learner, kPotentialSecondary, entry.mutation, now);
  }
}

void OldReplica::SendPrepare(Endpoint to, PartitionStatus role, const MutationPtr& mutation,
                             Instant first) {
  const bool is_learner = role == kPotentialSecondary;
  const auto session = sessions_.find(to);
  if (is_learner && session == sessions_.end()) return;
  const absl::Duration timeout =
      is_learner ? host_.options.learner_prepare_timeout : host_.options.prepare_timeout;
  PrepareRequest request{pid(), ConfigFor(role, is_learner ? session->second.signature : 0),
                         mutation};
  host_.Call(to, kRpcPrepare, EncodePrepare(request), pid(),
             first + timeout - host_.env.clock().Now(),
             [weak = weak_from_this(), to, role, mutation, first,
              sends = sends_](const RpcResult& result) {
               const auto self = weak.lock();
               if (self != nullptr && self->sends_ == sends)
                 self->OnPrepareAnswer(to, role, mutation, first, result);
             });
}

void OldReplica::OnPrepareAnswer(Endpoint to, PartitionStatus role, const MutationPtr& mutation,
                                 Instant first, const RpcResult& result) {
  Entry* entry = list_.Find(mutation->decree);
  // An answer from a former term, or to what is committed already, changes nothing.
  if (role_ != kPrimary || mutation->ballot < ballot() || entry == nullptr ||
      mutation->decree <= list_.committed())
    return;
  ErrorCode err = result.error;
  if (err == ErrorCode::kOk) {
    const absl::StatusOr<PrepareAck> ack = DecodeWrapped<PrepareAck>(result.body);
    if (!ack.ok()) return Abort("replica/README.md A2", View(ack.status().message()));
    err = ack->err;
    if (err == ErrorCode::kOk &&
        (ack->ballot != mutation->ballot || ack->decree != mutation->decree))
      return Abort("replica/README.md A7",
                   absl::StrCat(to.ToString(), " acknowledged ", ack->ballot.value(), ".",
                                ack->decree.value(), " for ", mutation->ballot.value(), ".",
                                mutation->decree.value()));
  }
  if (err == ErrorCode::kOk) {
    if (role == kSecondary && !config_.IsSecondary(to))
      return Abort("replica/README.md A7",
                   absl::StrCat(to.ToString(), " acknowledged, and is no member"));
    (role == kSecondary ? entry->secondaries : entry->learners).erase(to);
    return CommitReady();
  }
  const absl::Duration timeout = role == kPotentialSecondary ? host_.options.learner_prepare_timeout
                                                             : host_.options.prepare_timeout;
  // A member between two roles may take the prepare in a moment. Every other refusal counts as a
  // failure.
  const bool may_try_again = err == ErrorCode::kInactiveState || err == ErrorCode::kTryAgain;
  if (may_try_again && host_.env.clock().Now() + kPrepareTimeMin < first + timeout)
    return After(kPrepareRetryDelay, [to, role, mutation, first, sends = sends_](OldReplica& r) {
      if (r.sends_ == sends) r.SendPrepare(to, role, mutation, first);
    });
  OnRemoteFailure(to, role);
}

void OldReplica::OnRemoteFailure(Endpoint node, PartitionStatus role) {
  if (role != kSecondary) return ForgetLearner(node);
  if (!config_.IsSecondary(node))
    return Abort("replica/README.md A21",
                 absl::StrCat(node.ToString(), " failed, and is no member"));
  PartitionConfiguration wanted = config_;
  // The member is removed by the meta server; until that is stored nothing commits, because the
  // prepare still waits for it.
  std::erase(wanted.secondaries, node);
  UpdateConfiguration(ConfigType::kDowngradeToInactive, node, std::move(wanted));
}

void OldReplica::ForgetLearner(Endpoint node) {
  sessions_.erase(node);
  for (auto& [decree, entry] : list_.entries()) entry.learners.erase(node);
  CommitReady();
}

// ---- group checks ----

void OldReplica::CheckGroup() {
  for (Endpoint node : config_.secondaries) SendGroupCheck(node, kSecondary, 0);
  for (const auto& [node, session] : sessions_)
    SendGroupCheck(node, kPotentialSecondary, session.signature);
  // It moves the committed point of the others; one behind another would only go on for ever.
  Entry* last = list_.Find(list_.max());
  const bool has_rested = list_.max() == prepared_at_check_ && list_.max() == list_.committed();
  if (has_rested && last != nullptr && !IsEmptyWrite(*last->mutation)) {
    Draft draft;
    draft.updates.push_back(Update{.code = WriteCode::kEmpty});
    queue_.push_back(std::move(draft));
    StartQueued();
  }
  prepared_at_check_ = list_.max();
  After(host_.options.group_check_interval, [office = office_](OldReplica& r) {
    if (r.office_ == office && r.role_ == kPrimary) r.CheckGroup();
  });
}

void OldReplica::SendGroupCheck(Endpoint to, PartitionStatus role, int64_t signature) {
  GroupCheckRequest request{.app = stored_.app, .node = to, .config = ConfigFor(role, signature)};
  request.last_committed_decree = list_.committed();
  request.confirmed_decree = -1;
  host_.Call(to, kRpcGroupCheck, EncodeWrapped(request), pid(), kRpcTimeout,
             [weak = weak_from_this(), to, role, ballot = ballot()](const RpcResult& result) {
               if (const auto self = weak.lock()) self->OnGroupAnswer(to, role, ballot, result);
             });
}

void OldReplica::OnGroupAnswer(Endpoint from, PartitionStatus role, Ballot ballot,
                               const RpcResult& result) {
  const bool is_known = role == kSecondary ? config_.IsSecondary(from) : sessions_.contains(from);
  if (role_ != kPrimary || ballot != this->ballot() || !is_known) return;
  if (result.error != ErrorCode::kOk) return OnRemoteFailure(from, role);
  const absl::StatusOr<GroupCheckResponse> answer = DecodeWrapped<GroupCheckResponse>(result.body);
  if (!answer.ok()) return Abort("replica/README.md A2", View(answer.status().message()));
  if (answer->err != ErrorCode::kOk) return OnRemoteFailure(from, role);
  // The signature tells whether it is this session that succeeded.
  if (role == kPotentialSecondary && answer->learner_status == LearnerStatus::kSucceeded &&
      answer->learner_signature == sessions_[from].signature)
    UpgradeLearner(from);
}

void OldReplica::UpgradeLearner(Endpoint node) {
  PartitionConfiguration wanted = config_;
  wanted.secondaries.push_back(node);
  UpdateConfiguration(ConfigType::kUpgradeToSecondary, node, std::move(wanted));
}

// ---- configurations ----

void OldReplica::OnProposal(const ConfigurationUpdateRequest& request) {
  const PartitionConfiguration& config = request.config;
  if (!host_.is_connected || config.ballot < ballot() || IsUpdating() || role_ == kError) return;
  const auto type = static_cast<int32_t>(request.type);
  if (type < 1 || type > 8 || request.type == ConfigType::kUpgradeToSecondary)
    return Abort("replica/README.md A11", absl::StrCat("a proposal of type ", type));
  if (config.ballot > ballot() && !Adopt(config)) return;
  const bool is_for_self =
      request.type == ConfigType::kAssignPrimary || request.type == ConfigType::kUpgradeToPrimary;
  if (is_for_self) {
    if (request.node != host_.self())
      return Abort("replica/README.md A11",
                   absl::StrCat("to lead, told instead of ", request.node.ToString()));
    const bool may_lead = request.type == ConfigType::kUpgradeToPrimary
                              ? role_ == kSecondary
                              : role_ != kPotentialSecondary;
    if (role_ == kPrimary || !may_lead) return;
    PartitionConfiguration wanted = config;
    wanted.primary = host_.self();
    std::erase(wanted.secondaries, host_.self());
    return UpdateConfiguration(request.type, host_.self(), std::move(wanted));
  }
  if (role_ != kPrimary) return;
  if (config.primary != config_.primary || config.secondaries != config_.secondaries)
    return Abort("replica/README.md A11",
                 "the members of a proposal are others, or in another order");
  PartitionConfiguration wanted = config_;
  switch (request.type) {
    case ConfigType::kAddSecondary:
    case ConfigType::kAddSecondaryForLoadBalance:
      return AddSecondary(request);
    case ConfigType::kDowngradeToSecondary:
      if (request.node != host_.self())
        return Abort("replica/README.md A11", "another one is to step down");
      wanted.primary = Endpoint{};
      wanted.secondaries.push_back(host_.self());
      break;
    default:
      if (wanted.primary == request.node) wanted.primary = Endpoint{};
      std::erase(wanted.secondaries, request.node);
  }
  UpdateConfiguration(request.type, request.node, std::move(wanted));
}

void OldReplica::AddSecondary(const ConfigurationUpdateRequest& request) {
  if (config_.IsMember(request.node))
    return Abort("replica/README.md A11", "who is to be added is a member");
  // Learners count as well: each invitation is to become a member.
  const auto others = static_cast<int32_t>(config_.secondaries.size() + sessions_.size());
  const int32_t factor = config_.max_replica_count;
  const int32_t most = request.type == ConfigType::kAddSecondary ? factor - 1 : factor;
  if (!sessions_.contains(request.node) && others >= most) return;
  Session& session = sessions_[request.node];
  // An invitation that is repeated goes on with its session.
  if (session.signature == 0) session.signature = ++last_signature_;
  GroupCheckRequest add{.app = stored_.app,
                        .node = request.node,
                        .config = ConfigFor(kPotentialSecondary, session.signature)};
  add.last_committed_decree = list_.committed();
  host_.SendOneWay(request.node, kRpcAddLearner, EncodeWrapped(add), pid());
}

void OldReplica::UpdateConfiguration(ConfigType type, Endpoint node,
                                     PartitionConfiguration wanted) {
  wanted.ballot = ballot() + 1;
  wanted.last_committed_decree = list_.committed();
  BecomeInactive(true);
  // It serves nothing until the meta server has answered: either configuration may hold.
  update_ = {next_serial_++, {.info = stored_.app, .config = std::move(wanted), .type = type}};
  update_->request.node = node;
  SendUpdate();
}

void OldReplica::SendUpdate() {
  host_.Call(host_.options.meta_server, kRpcUpdateConfiguration, EncodeWrapped(update_->request),
             {}, kRpcTimeout,
             [weak = weak_from_this(), serial = update_->serial](const RpcResult& result) {
               const auto self = weak.lock();
               if (self != nullptr && self->update_ && self->update_->serial == serial)
                 self->OnUpdateAnswer(serial, result);
             });
}

void OldReplica::OnUpdateAnswer(uint64_t serial, const RpcResult& result) {
  // It has another role meanwhile: what it asked for is of the past.
  if (role_ != kInactive) return update_.reset();
  ConfigurationUpdateResponse answer{.err = result.error};
  if (result.error == ErrorCode::kOk) {
    const auto decoded = DecodeWrapped<ConfigurationUpdateResponse>(result.body);
    if (!decoded.ok()) return Abort("replica/README.md A2", View(decoded.status().message()));
    answer = *decoded;
  }
  if (!host_.is_connected ||
      (answer.err != ErrorCode::kOk && answer.err != ErrorCode::kInvalidVersion))
    return After(kUpdateRetryDelay, [serial](OldReplica& r) {
      if (r.update_ && r.update_->serial == serial) r.SendUpdate();
    });
  const ConfigurationUpdateRequest request = std::move(update_->request);
  update_.reset();
  const PartitionConfiguration& truth = answer.config;
  // The answer was overtaken by what a newer message said.
  if (truth.ballot < ballot()) return;
  if (answer.err == ErrorCode::kOk &&
      (truth.primary != request.config.primary || truth.secondaries != request.config.secondaries ||
       truth.max_replica_count != request.config.max_replica_count))
    Abort("replica/README.md A12", "an update is accepted with other members, or in another order");
  is_forced_ = request.type == ConfigType::kPrimaryForceUpdateBallot &&
               !truth.secondaries.empty() && !host_.options.waits_when_forced;
  Adopt(truth);
  is_forced_ = false;
  const bool removed_other =
      request.type == ConfigType::kRemove && request.node != host_.self() && role_ == kPrimary;
  if (answer.err == ErrorCode::kOk && removed_other)
    host_.SendOneWay(request.node, kRpcRemoveReplica, EncodeWrapped(ConfigFor(kInactive, 0)),
                     pid());
}

void OldReplica::AskRemoval(const PartitionConfiguration& config) {
  ConfigurationUpdateRequest request{.info = stored_.app, .config = config};
  // As every update: refused where the configuration has changed meanwhile.
  request.config.ballot = config.ballot + 1;
  if (config.primary == host_.self()) request.config.primary = Endpoint{};
  std::erase(request.config.secondaries, host_.self());
  request.type = ConfigType::kDowngradeToInactive;
  request.node = host_.self();
  host_.Call(host_.options.meta_server, kRpcUpdateConfiguration, EncodeWrapped(request), {},
             kRpcTimeout, [](const RpcResult&) {});
}

}  // namespace arion::sim
