// Roles, log, engine and the secondary's side.
// SPDX-License-Identifier: Apache-2.0
#include "sim_older/old_replica.h"

#include <absl/strings/str_cat.h>

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "base/status.h"
#include "data_api/mutation_operations.h"
#include "data_api/table_settings.h"
#include "data_api/write_operations.h"
#include "env/clock.h"
#include "recovery/replica_opener.h"
#include "rpc/thrift_codec.h"
#include "sim/sim_random.h"
#include "sim_older/old_replica_after.h"

namespace arion::sim {

using enum PartitionStatus;

OldReplica::OldReplica(OldHost& host, OldStored& stored)
    : host_(host), stored_(stored), list_(host.options.list_span_max) {
  inactive_since_ = host_.env.clock().Now();
  config_.pid = stored.pid;
  // From anywhere, so that an id of a former life finds no scan of this one.
  next_scan_ = static_cast<int64_t>(host_.random.Below(uint64_t{1} << 62));
}

OldReplica::~OldReplica() = default;

void OldReplica::Abort(std::string_view rule, std::string_view what) const {
  host_.violate(
      absl::StrCat(Text(rule), ": [", pid().ToString(), " ", ballot().value(), "] ", Text(what)));
}

bool OldReplica::Fails(std::string_view rule, const OldPrepareList::Fault& fault) const {
  if (fault) Abort(rule, *fault);
  return fault.has_value();
}

// ---- starting and ending ----

absl::Status OldReplica::Open() {
  ASSIGN_OR_RETURN(engine_, host_.engines.Open(DataPathOf(stored_.directory)));
  applied_ = durable_ = engine_->last_applied();
  // The engine lacks what .init-info says is durable: a learner ended while it exchanged its files.
  // Such a copy is refused.
  if (applied_ < stored_.durable) {
    Close();
    return absl::DataLossError("ERR_INCOMPLETE_DATA");
  }
  // A new file: what a torn block left stays behind it, as in 2.5.0.
  stored_.log.Reopen();
  const Ballot before = ballot();
  Replay();
  if (ballot() > before) StoreInfo();
  LOG(INFO) << "[" << pid() << "] 2.5.0: opened, ballot " << ballot() << ", applied " << applied_
            << ", committed " << list_.committed() << ", prepared " << list_.max();
  ScheduleCheckpoint();
  return absl::OkStatus();
}

void OldReplica::Replay() {
  list_.Reset(applied_);
  for (const MutationPtr& m : stored_.log.Mutations()) {
    // The log may know a larger ballot than .init-info, which is written when the role changes.
    stored_.ballot = std::max(stored_.ballot, m->ballot);
    last_timestamp_us_ = std::max(last_timestamp_us_, m->timestamp_us);
    if (m->decree <= list_.committed()) continue;
    // Of two mutations with one decree that of the larger ballot counts, wherever it stands in the
    // log.
    const Entry* old = list_.Find(m->decree);
    if (old != nullptr && old->mutation->ballot > m->ballot) continue;
    // The log does not reach back so far: the engine has what lies before.
    if (m->last_committed > list_.max()) {
      list_.Reset(m->last_committed);
    } else if (!CommitHard("pacifica/PROTOCOL.md 10.2", m->last_committed)) {
      return;
    }
    if (Fails("pacifica/PROTOCOL.md 10.2", list_.Put({.mutation = m, .is_logged = true}))) return;
  }
  // What the engine holds is committed, also where the log ends before it.
  list_.CommitSoft(applied_, [](Entry&) {});
  if (list_.committed() < applied_) list_.Truncate(applied_);
}

void OldReplica::Close() {
  role_ = kError;
  // Raises what pending callbacks compare, so none of them acts on a closed replica.
  ++office_, ++sends_;
  EndLearning();
  update_.reset();
  scans_.clear();
  sessions_.clear();
  waiting_.clear();
  ForgetClients();
  if (engine_ != nullptr) (void)engine_->Close();
  engine_ = nullptr;
}

ReplicaInfo OldReplica::Info() const {
  return {.pid = pid(),
          .ballot = ballot(),
          .status = role_,
          .last_committed_decree = list_.committed(),
          .last_prepared_decree = list_.max(),
          .last_durable_decree = durable_,
          .app_type = stored_.app.app_type,
          .disk_tag = "data1",
          .manual_compact_status = 0};
}

// Who learned has more to be incomplete by than its checkpoint.
void OldReplica::StoreInfo() const {
  if (host_.store != nullptr) host_.store->StoreInfo(stored_, std::max(stored_.durable, durable_));
}

// ---- roles ----

bool OldReplica::MayKeepBallot(PartitionStatus to) const {
  if (to == role_) return true;
  if (role_ == kInactive)
    return to == kPotentialSecondary || (is_transient_ && (to == kSecondary || to == kPrimary));
  return role_ == kPotentialSecondary && to == kSecondary;
}

bool OldReplica::MayBecome(PartitionStatus to, Ballot ballot) {
  // Ballots only rise. Under the same ballot a role may change only on the way into the
  // configuration or back to it.
  if (role_ == kError || ballot < this->ballot()) return false;
  if (ballot == this->ballot() && !MayKeepBallot(to)) return false;
  if (role_ == kPrimary && to == kPotentialSecondary) {
    Abort("pacifica/PROTOCOL.md 1.4", "a primary is to learn");
    return false;
  }
  if (role_ == kPotentialSecondary && to == kPrimary) {
    Abort("pacifica/PROTOCOL.md 1.4", "a learner is to lead");
    return false;
  }
  return role_ != kInactive || is_transient_ || (to != kPrimary && to != kSecondary);
}

bool OldReplica::ChangeRole(PartitionStatus to, Ballot ballot, Endpoint primary) {
  if (!MayBecome(to, ballot)) return false;
  const bool is_ballot_new = ballot > this->ballot();
  if (to == role_ && !is_ballot_new) return true;
  LOG(INFO) << "[" << pid() << "] 2.5.0: " << PartitionStatusName(role_) << " to "
            << PartitionStatusName(to) << ", ballot " << ballot;
  const PartitionStatus from = std::exchange(role_, to);
  stored_.ballot = ballot;
  if (is_ballot_new) StoreInfo();
  primary_ = primary;
  ++sends_;
  // What belongs to the former role ends before the next one begins; its timers and answers compare
  // `sends_`.
  if (from == kPrimary) LeavePrimary();
  if (to != kPrimary && (to != kInactive || is_ballot_new)) ForgetClients();
  if (from == kPotentialSecondary && to != from) {
    // What it has is committed, all of it; the rest are prepares it was sent.
    if (to == kSecondary) list_.Truncate(applied_);
    EndLearning();
  }
  if (to == kPotentialSecondary && from != to) phase_ = LearnerStatus::kWithoutPrepare;
  if (to == kInactive) {
    inactive_since_ = host_.env.clock().Now();
    is_transient_ = !is_ballot_new;
  }
  if (primary != host_.self() && to != kInactive) sessions_.clear();
  if (to == kPrimary) TakeOffice();
  return true;
}

bool OldReplica::Adopt(const ReplicaConfiguration& config) {
  return ChangeRole(config.status, config.ballot, config.primary);
}

bool OldReplica::Adopt(const PartitionConfiguration& config) {
  const PartitionStatus to = config.RoleOf(host_.self());
  if (!MayBecome(to, config.ballot)) return false;
  config_ = config;
  return ChangeRole(to, config.ballot, config.primary);
}

void OldReplica::BecomeInactive(bool is_transient) {
  if (role_ == kError) return;
  const PartitionStatus from = std::exchange(role_, kInactive);
  is_transient_ = is_transient;
  if (from == kInactive) return;
  LOG(INFO) << "[" << pid() << "] 2.5.0: " << PartitionStatusName(from) << " to inactive"
            << (is_transient ? " for a while" : "");
  ++sends_;
  inactive_since_ = host_.env.clock().Now();
  if (from == kPrimary) LeavePrimary();
  if (!is_transient) ForgetClients();
  if (from == kPotentialSecondary) EndLearning();
}

void OldReplica::OnDisconnected() {
  if (role_ == kInactive || role_ == kError) return;
  BecomeInactive(role_ == kPrimary || role_ == kSecondary);
}

void OldReplica::OnSynced(const ConfigurationUpdateRequest& entry) {
  // An answer that was overtaken.
  if (entry.config.ballot < ballot() || role_ == kError) return;
  if (const auto deny = entry.info.envs.find("replica.deny_client_request");
      deny != entry.info.envs.end() &&
      std::count(deny->second.begin(), deny->second.end(), '*') != 1)
    Abort("replica/README.md A20", deny->second);
  stored_.app = entry.info;
  // A field of Arion's: 2.5.0 would not keep it.
  stored_.app.version.reset();
  if (host_.store != nullptr) host_.store->StoreApp(stored_);
  // An update that is under way says more.
  if (role_ == kPrimary || (IsUpdating() && entry.config.ballot == ballot())) return;
  const bool leads = entry.config.primary == host_.self();
  if (is_initializing_ && leads && role_ == kInactive && is_transient_) {
    if (!IsUpdating()) {
      stored_.ballot = std::max(stored_.ballot, entry.config.ballot);
      StoreInfo();
      UpdateConfiguration(ConfigType::kPrimaryForceUpdateBallot, host_.self(), entry.config);
    }
    return;
  }
  is_initializing_ = false;
  if (role_ != kPotentialSecondary || entry.config.ballot > ballot() ||
      entry.config.RoleOf(host_.self()) == kSecondary)
    Adopt(entry.config);
  if (role_ == kInactive && !is_transient_ && (leads || !entry.config.primary.IsValid()))
    AskRemoval(entry.config);
}

bool OldReplica::OnMissing() {
  if (role_ == kPotentialSecondary || IsUpdating()) return false;
  return role_ != kInactive ||
         host_.env.clock().Now() - inactive_since_ >= host_.options.closed_replica_linger;
}

// ---- log ----

void OldReplica::Append(MutationPtr mutation) {
  unwritten_.push_back(std::move(mutation));
  // One block at a time: what comes meanwhile shares the next one.
  if (writing_ == 0) WriteLog();
}

void OldReplica::WriteLog() {
  if (unwritten_.empty()) return;
  if (stored_.log.bytes().size() >= host_.options.log_file_bytes) stored_.log.SwitchFile();
  writing_ = unwritten_.size();
  stored_.log.BeginBlock({unwritten_.begin(), unwritten_.end()});
  After(absl::Microseconds(host_.random.Between(50, 3000)), [write = ++log_writes_](OldReplica& r) {
    if (r.log_writes_ != write) return;  // the log began anew
    r.stored_.log.EndBlock();
    // Copied, because the next block begins before all of these are told.
    const std::vector<MutationPtr> written(
        r.unwritten_.begin(), r.unwritten_.begin() + static_cast<ptrdiff_t>(r.writing_));
    r.unwritten_.erase(r.unwritten_.begin(),
                       r.unwritten_.begin() + static_cast<ptrdiff_t>(r.writing_));
    r.writing_ = 0;
    r.WriteLog();
    for (const MutationPtr& m : written) r.OnLogged(m);
  });
}

void OldReplica::OnLogged(const MutationPtr& mutation) {
  Entry* entry = list_.Find(mutation->decree);
  // Another mutation may have taken its decree meanwhile, under a larger ballot.
  if (entry != nullptr && entry->mutation->ballot == mutation->ballot) entry->is_logged = true;
  const auto [first, last] = waiting_.equal_range({mutation->ballot, mutation->decree});
  std::vector<Responder> responders;
  for (auto it = first; it != last; ++it) responders.push_back(std::move(it->second));
  waiting_.erase(first, last);
  if (role_ == kPrimary) return CommitReady();
  // Under a larger ballot it is in the log, and never acknowledged.
  if (mutation->ballot < ballot() || role_ == kInactive || role_ == kError) return;
  for (Responder& responder : responders)
    responder.Reply(ErrorCode::kOk, EncodeWrapped(PrepareAck{
                                        .pid = pid(),
                                        .ballot = mutation->ballot,
                                        .decree = mutation->decree,
                                        .last_committed_decree_in_app = applied_,
                                        .last_committed_decree_in_prepare_list = list_.committed(),
                                        .receive_timestamp = 0,
                                        .response_timestamp = 0}));
  CommitHard("replica/README.md A6", mutation->last_committed);
}

// ---- engine ----

bool OldReplica::CommitHard(std::string_view rule, Decree through) {
  return !Fails(rule, list_.CommitHard(through, [this](Entry& entry) { Apply(entry); }));
}

void OldReplica::CommitReady() {
  list_.CommitReady([this](Entry& entry) { Apply(entry); });
  if (role_ == kPrimary) StartQueued();
}

void OldReplica::Apply(Entry& entry) {
  const Decree decree = entry.mutation->decree;
  // A learner's engine is filled by what it learns; what is committed meanwhile stays in the list.
  if (role_ == kPotentialSecondary && phase_ != LearnerStatus::kWithPrepareTransient &&
      phase_ != LearnerStatus::kSucceeded)
    return;
  if (role_ == kError || decree <= applied_) return;
  if (decree != applied_ + 1) {
    if (role_ != kInactive)
      Abort("pacifica/PROTOCOL.md 3.6",
            absl::StrCat("decree ", decree.value(), " applied behind ", applied_.value()));
    return;
  }
  ApplyNow(entry);
}

void OldReplica::ApplyNow(Entry& entry) {
  const Mutation& m = *entry.mutation;
  std::vector<std::string> answers;
  for (size_t i = 0; i < entry.clients.size(); ++i) {
    absl::StatusOr<WriteOperation> operation =
        WriteOperation::Decode(m.updates[i].code, m.updates[i].data);
    WriteOutcome outcome;
    if (!operation.ok() || !operation->IsAcceptable()) {
      outcome.error = StorageError::kInvalidArgument;
    } else {
      const uint32_t now = ExpiryNow(host_.env.clock());
      std::optional<Record> record;
      if (operation->NeedsRecord()) {
        absl::StatusOr<Record> found = engine_->Get(operation->record_key(), now, ReadTier::kAll);
        if (found.ok()) record = *std::move(found);
      }
      outcome = (*std::move(operation)).Decide(record, TableSettings{}, now);
    }
    answers.push_back(EncodeAnswer(entry.clients[i].code, outcome, pid(), m.decree, server_name()));
  }
  const absl::StatusOr<MutationOperations> operations =
      MutationOperations::Decode(m, *engine_, ReadTier::kAll);
  if (!operations.ok())
    return Abort("pacifica/PROTOCOL.md 3.6",
                 absl::StrCat("nothing to apply: ", operations.status().ToString()));
  const absl::Status status = engine_->Apply(m.decree, m.timestamp_us, operations->ops());
  if (!status.ok()) return Abort("pacifica/PROTOCOL.md 3.6", status.ToString());
  applied_ = m.decree;
  // Without its lease another server may lead already: then nobody is answered.
  const bool may_answer = role_ == kPrimary && host_.HoldsLease();
  for (size_t i = 0; i < entry.clients.size() && may_answer; ++i)
    entry.clients[i].responder.Reply(ErrorCode::kOk, std::move(answers[i]));
  entry.clients.clear();
}

void OldReplica::Flush(Decree decree) {
  if (durable_ >= decree || engine_ == nullptr) return;
  const absl::StatusOr<Decree> at = engine_->Checkpoint();
  if (at.ok()) durable_ = *at;
}

void OldReplica::ScheduleCheckpoint() {
  After(host_.options.checkpoint_interval, [](OldReplica& r) {
    r.Checkpoint();
    r.ScheduleCheckpoint();
  });
}

void OldReplica::Checkpoint() {
  if (engine_ == nullptr || (role_ != kPrimary && role_ != kSecondary)) return;
  Flush(list_.committed());
  if (writing_ == 0) stored_.log.Collect(durable_);
}

// ---- as a secondary, or a learner that is sent prepares ----

void OldReplica::OnPrepare(const PrepareRequest& request, Responder responder) {
  const MutationPtr& m = request.mutation;
  const auto answer = [&](ErrorCode err) {
    responder.Reply(ErrorCode::kOk, EncodeWrapped(PrepareAck{
                                        .pid = pid(),
                                        .err = err,
                                        .ballot = err == ErrorCode::kOk ? m->ballot : ballot(),
                                        .decree = m->decree,
                                        .last_committed_decree_in_app = applied_,
                                        .last_committed_decree_in_prepare_list = list_.committed(),
                                        .receive_timestamp = 0,
                                        .response_timestamp = 0}));
  };
  if (m->ballot < ballot()) return;
  if (m->ballot > ballot() && !Adopt(request.config)) return answer(ErrorCode::kInvalidState);
  if (role_ == kInactive || role_ == kError)
    return answer(role_ == kInactive && is_transient_ ? ErrorCode::kInactiveState
                                                      : ErrorCode::kInvalidState);
  if (role_ == kPotentialSecondary) {
    if (request.config.learner_signature != signature_) {
      FailLearning("a prepare of another session");
      return answer(ErrorCode::kInvalidState);
    }
    // Prepares may overtake the answer that announces them: the primary sends it again.
    if (phase_ == LearnerStatus::kWithoutPrepare) return answer(ErrorCode::kTryAgain);
    if (phase_ != LearnerStatus::kWithPrepare && phase_ != LearnerStatus::kSucceeded)
      return answer(ErrorCode::kInvalidState);
  }
  if (request.config.status != role_)
    return Abort("replica/README.md A6",
                 absl::StrCat("a prepare for a ", Text(PartitionStatusName(request.config.status)),
                              " to a ", Text(PartitionStatusName(role_))));
  if (m->decree <= list_.committed()) return answer(ErrorCode::kOk);
  Entry* entry = list_.Find(m->decree);
  if (entry != nullptr && entry->mutation->ballot == m->ballot) {
    // It was sent again: acknowledged at once, or as soon as the log has it.
    if (entry->is_logged) return answer(ErrorCode::kOk);
    waiting_.emplace(std::pair(m->ballot, m->decree), std::move(responder));
    return;
  }
  if (!CommitHard("replica/README.md A6", m->last_committed) ||
      Fails("replica/README.md A6", list_.Put({.mutation = m})))
    return;
  if (m->decree > list_.committed() + host_.options.list_span_max)
    return Abort(
        "replica/README.md A6",
        absl::StrCat("decree ", m->decree.value(), " is far ahead of ", list_.committed().value()));
  waiting_.emplace(std::pair(m->ballot, m->decree), std::move(responder));
  Append(m);
}

GroupCheckResponse OldReplica::Report() const {
  return {.pid = pid(),
          .last_committed_decree_in_app = applied_,
          .last_committed_decree_in_prepare_list = list_.committed(),
          .learner_status = role_ == kPotentialSecondary ? phase_ : LearnerStatus::kInvalid,
          .learner_signature = role_ == kPotentialSecondary ? signature_ : 0,
          .node = host_.self()};
}

void OldReplica::OnGroupCheck(const GroupCheckRequest& request, Responder responder) {
  const ReplicaConfiguration& config = request.config;
  const auto refuse = [&](ErrorCode err) {
    GroupCheckResponse response = Report();
    response.err = err;
    responder.Reply(ErrorCode::kOk, EncodeWrapped(response));
  };
  if (config.ballot < ballot()) return refuse(ErrorCode::kVersionOutdated);
  if ((config.ballot > ballot() || MayKeepBallot(config.status)) && !Adopt(config))
    return refuse(ErrorCode::kInvalidState);
  switch (role_) {
    case kInactive:
      break;
    case kSecondary:
      if (!CommitHard("replica/README.md A8", request.last_committed_decree)) return;
      break;
    case kPotentialSecondary:
      Learn(config.learner_signature);
      break;
    case kError:
      return refuse(ErrorCode::kInvalidState);
    default:
      return Abort("replica/README.md A8", "a group check to a primary");
  }
  refuse(ErrorCode::kOk);
}

void OldReplica::OnAddLearner(const GroupCheckRequest& request) {
  const ReplicaConfiguration& config = request.config;
  if (config.status != kPotentialSecondary)
    return Abort("replica/README.md A9", "add learner, of another role");
  if (config.ballot < ballot()) return;
  if (config.ballot == ballot() && !MayKeepBallot(config.status)) return;
  if (Adopt(config)) Learn(config.learner_signature);
}

void OldReplica::OnRemove(const ReplicaConfiguration& config) {
  if (config.status != kInactive) return Abort("replica/README.md A9", "remove, of another role");
  if (config.ballot < ballot() || (config.ballot == ballot() && role_ == kPotentialSecondary))
    return;
  if (config.ballot == ballot()) return BecomeInactive(false);
  ChangeRole(kInactive, config.ballot, config.primary);
}

}  // namespace arion::sim
