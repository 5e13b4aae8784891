// SPDX-License-Identifier: Apache-2.0
#include "pacifica/replica_core.h"

#include <absl/strings/str_cat.h>

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "decrees/log_replay.h"
#include "decrees/possible.h"
#include "pacifica/group_check.h"
#include "pacifica/learner.h"
#include "pacifica/learner_sessions.h"
#include "pacifica/primary.h"
#include "pacifica/promises.h"
#include "pacifica/reconfiguration.h"
#include "pacifica/replica_state.h"
#include "pacifica/role_keeper.h"
#include "pacifica/roll_call.h"
#include "pacifica/secondary.h"

namespace arion {
namespace {

// Of meta_split_status (pacifica/PROTOCOL.md 6).
constexpr int32_t kNoSplit = 0, kSplitPausing = 2, kSplitCanceling = 4;

}  // namespace

using enum PartitionStatus;

// The roles, wired; each event goes to the one it concerns, and what that one can't decide alone is
// decided here.
struct ReplicaCore::Parts {
  explicit Parts(CoreOptions options)
      : s(std::move(options)),
        roll_call(s),
        sessions(s),
        primary(s, sessions),
        secondary(s),
        learner(s, secondary),
        roles(s, roll_call, primary, secondary, learner, sessions),
        reconfiguration(s, roles, primary, learner, sessions),
        group_check(s, primary, sessions) {}

  ReplicaState s;
  RollCall roll_call;
  LearnerSessions sessions;
  Primary primary;
  Secondary secondary;
  Learner learner;
  RoleKeeper roles;
  Reconfiguration reconfiguration;
  GroupCheck group_check;
  Watermarks before;                      // at the end of the last step: what holds between steps
  Ballot office_ballot = kInvalidBallot;  // the ballot of the office group_check knows of

  void Recover(const RecoveredState& recovered);
  void Fail(std::string_view why);
  void Follow(Learner::Verdict verdict);
  void Settle();
  void Refuse(const Event& event);

  void On(const ClientWrite& event) { primary.Write(event); }
  void On(const Logged& event);
  void On(const Applied& event);
  void On(const DurableAdvanced& event);
  void On(const Fenced& event) { Fail(event.why); }
  void On(const PrepareReceived& event);
  void On(const PrepareAcked& event);
  void On(const GroupCheckReceived& event);
  void On(const GroupCheckAnswered& event);
  void On(const AddLearnerReceived& event);
  void On(const RemoveReceived& event);
  void On(const ProposalReceived& event) { reconfiguration.OnProposal(event.request); }
  void On(const ConfigurationUpdateAnswered& event) { reconfiguration.OnAnswer(event); }
  void On(const ConfigurationSynced& event) { reconfiguration.OnSynced(event.entry); }
  void On(const TableChanged& event) { reconfiguration.OnTableChanged(event.app); }
  void On(const MissingInSync& event) { reconfiguration.OnMissing(event); }
  void On(const MetaThawed&) { reconfiguration.OnMetaThawed(); }
  void On(const LeaseLost&);
  void On(const Connected&) { s.connected = true; }
  void On(const LearnReceived& event);
  void On(const Shipped& event) { sessions.OnShipped(event); }
  void On(const LearnCompletionReceived& event);
  void On(const LearnAnswered& event);
  void On(const LearnerWorkDone& event) { Follow(learner.OnWorkDone(event)); }
  void On(const LearnCompletionAnswered& event) { Follow(learner.OnCompletionAnswered(event)); }
  void On(const Tick&);

  void HearMember(const GroupCheckAnswered& event);
  void OnUnheard(Endpoint member);
  bool IsOdd(const PrepareRequest& request) const;
  ErrorCode AdmitPrepare(const PrepareRequest& request);
  void OnSilent(Endpoint node);
};

// ---- starting ----

void ReplicaCore::Parts::Recover(const RecoveredState& recovered) {
  s.ballot = recovered.ballot;
  s.last_stop = recovered.last_stop;
  s.inactivity = recovered.inactivity;
  if (recovered.inactivity == Inactivity::kRemoved) s.standing = Standing::kLearner;
  s.last_applied = s.last_handed = recovered.last_applied;
  s.last_durable = std::min(recovered.last_durable, recovered.last_applied);
  s.list.Reset(recovered.last_applied, recovered.last_applied_ballot);
  LogReplay replay(s.options.pid, recovered.last_applied);
  std::vector<MutationPtr> committed;
  for (const MutationPtr& m : recovered.logged) {
    if (replay.Add(m, &committed).ok()) continue;
    // Rather a removed replica that learns anew than a history with a hole.
    ++s.counters.lost_entries;
    s.inactivity = Inactivity::kRemoved;
    break;
  }
  s.ballot = std::max(s.ballot, replay.max_ballot());
  s.last_mutation_ballot = std::max(recovered.last_mutation_ballot, replay.max_ballot());
  for (const MutationPtr& m : committed) s.list.Put(m, PrepareList::LogState::kLogged, 0);
  const Decree last_committed = replay.last_committed();
  for (const MutationPtr& m : replay.Uncommitted())
    s.list.Put(m, PrepareList::LogState::kLogged, 0);
  s.CommitThrough(last_committed);
  for (Decree d = s.list.first_kept(); d <= s.list.last_prepared(); ++d) {
    const PrepareList::Entry* entry = s.list.Find(d);
    if (entry == nullptr) continue;
    s.last_timestamp_us = std::max(s.last_timestamp_us, entry->mutation->timestamp_us);
  }
  before = s.marks();
}

ReplicaCore::ReplicaCore(CoreOptions options, const RecoveredState& recovered, Instant now)
    : parts_(std::make_unique<Parts>(std::move(options))) {
  parts_->s.now = parts_->s.inactive_since = now;
  parts_->Recover(recovered);
  Check();
}

ReplicaCore::~ReplicaCore() = default;

// ---- one step ----

Effects ReplicaCore::Step(const Event& event, Instant now) {
  Parts& p = *parts_;
  CHECK(now >= p.s.now) << "time falls";
  p.s.now = now;
  if (p.s.role == kError) {
    p.Refuse(event);
  } else {
    std::visit([&p](const auto& e) { p.On(e); }, event);
    p.Settle();
  }
  Check();
  CheckPromises(p.s, p.learner.phase());
  return std::exchange(p.s.effects, Effects{});
}

// What follows from any event: the learner may go on, new work may start, a new office begins its
// group checks.
void ReplicaCore::Parts::Settle() {
  if (s.role == kPotentialSecondary) learner.Proceed();
  reconfiguration.ProceedHandOver();
  if (s.role != kPrimary) {
    if (office_ballot != kInvalidBallot) group_check.End();
    office_ballot = kInvalidBallot;
    return;
  }
  if (roll_call.IsOver() && !primary.IsOpen()) {
    s.is_proven = true;
    primary.Open();
  }
  primary.StartQueued();
  if (office_ballot != s.ballot) {
    office_ballot = s.ballot;
    group_check.Begin();
  }
  group_check.Watch();
}

// ---- roll call ----

void ReplicaCore::Parts::HearMember(const GroupCheckAnswered& event) {
  const GroupCheckResponse& answer = event.response;
  const RollCall::Verdict verdict = roll_call.OnAnswer(event.from, answer);
  if (verdict == RollCall::Verdict::kFine) return;
  if (verdict == RollCall::Verdict::kIsFarBehind) return reconfiguration.RemoveMember(event.from);
  if (verdict == RollCall::Verdict::kIsBehind)
    return primary.PrepareAgainFor(event.from, answer.last_committed_decree_in_prepare_list);
  if (verdict == RollCall::Verdict::kProvesMore) ++s.times_older;
  const std::string why = absl::StrCat(
      "gives way: ", event.from.ToString(), " holds ",
      answer.last_mutation_ballot.value_or(kInvalidBallot).value(), ".",
      answer.last_prepared_decree.value_or(answer.last_committed_decree_in_prepare_list).value(),
      ", of it committed ", answer.last_committed_decree_in_prepare_list.value(),
      "; this copy ends at ", s.last_mutation_ballot.value(), ".", s.list.last_prepared().value());
  const bool leaves = verdict == RollCall::Verdict::kProvesMore || reconfiguration.WasChosenAgain();
  reconfiguration.GiveUpOffice(
      leaves ? Reconfiguration::Yield::kAsLearner : Reconfiguration::Yield::kAsSecondary, why);
}

// Whom the meta server chose by what all the living hold, and who was there all along, goes on
// without; who only came back as what it was leaves the choice to the meta server.
void ReplicaCore::Parts::OnUnheard(Endpoint member) {
  if (s.is_proven || reconfiguration.WasJustChosen()) {
    OnSilent(member);
  } else {
    reconfiguration.GiveUpOffice(Reconfiguration::Yield::kAsSecondary,
                                 "gives way: a member does not say what it holds");
  }
  if (s.role == kPrimary) roll_call.Excuse(member);
}

// An ERROR replica promises nothing any more; who waits is told or forgotten.
void ReplicaCore::Parts::Refuse(const Event& event) {
  if (const auto* write = std::get_if<ClientWrite>(&event)) {
    s.effects.client_replies.push_back({write->token, ErrorCode::kInvalidState, kInvalidDecree});
  } else if (const auto* prepare = std::get_if<PrepareReceived>(&event)) {
    PrepareAck ack;
    ack.pid = s.options.pid;
    ack.err = ErrorCode::kInvalidState;
    ack.ballot = s.ballot;
    s.Reply(prepare->token, std::move(ack));
  } else if (const auto* check = std::get_if<GroupCheckReceived>(&event)) {
    GroupCheckResponse response = learner.Report();
    response.err = ErrorCode::kInvalidState;
    s.Reply(check->token, std::move(response));
  } else if (const auto* learn = std::get_if<LearnReceived>(&event)) {
    LearnResponse response;
    response.err = ErrorCode::kInvalidState;
    s.Reply(learn->token, std::move(response));
  } else if (const auto* completion = std::get_if<LearnCompletionReceived>(&event)) {
    s.Reply(completion->token, LearnNotifyResponse{s.options.pid, ErrorCode::kInvalidState, 0});
  }
}

void ReplicaCore::Parts::Fail(std::string_view why) {
  CHECK(s.role != kError);
  // Also while its own update is in flight or its lease is lost: meta still counts on it.
  const bool was_primary =
      s.configuration.primary == s.options.self && s.configuration.ballot == s.ballot;
  const PartitionConfiguration configuration = s.configuration;
  roles.Fail(why);
  if (was_primary) reconfiguration.TellFault(configuration);
}

void ReplicaCore::Parts::Follow(Learner::Verdict verdict) {
  switch (verdict) {
    case Learner::Verdict::kFine:
      return;
    case Learner::Verdict::kLocalFault:
      return Fail(absl::StrCat("learning: the disk failed: ", learner.failure()));
    case Learner::Verdict::kSessionFailed:
    case Learner::Verdict::kAdoptBallot:  // handled where answers arrive
      if (s.role == kPotentialSecondary)
        roles.BecomeInactive(Inactivity::kRemoved,
                             absl::StrCat("learning failed: ", learner.failure()));
  }
}

// ---- own log and engine ----

void ReplicaCore::Parts::On(const Logged& event) {
  const Decree decree = s.TakeLogged(event.sequence);
  if (event.err != ErrorCode::kOk) return Fail("log write failed");
  if (decree == kInvalidDecree) return;
  if (s.role == kPrimary) {
    primary.OnLogged(decree);
  } else {
    secondary.OnLogged(decree);
  }
}

void ReplicaCore::Parts::On(const Applied& event) {
  if (event.err != ErrorCode::kOk) return Fail("apply failed");
  CHECK_LE(event.decree, s.last_handed) << "applied what was never handed over";
  if (event.decree <= s.last_applied) return;
  s.last_applied = event.decree;
  primary.OnApplied();
}

void ReplicaCore::Parts::On(const DurableAdvanced& event) {
  CHECK_LE(event.decree, s.last_applied) << "durable before it was applied";
  s.last_durable = std::max(s.last_durable, event.decree);
}

// ---- prepares ----

bool ReplicaCore::Parts::IsOdd(const PrepareRequest& request) const {
  if (request.mutation == nullptr) return true;
  const Mutation& m = *request.mutation;
  return request.pid != s.options.pid || request.config.pid != request.pid ||
         m.pid != request.pid || request.config.ballot != m.ballot || !IsPossible(m.ballot) ||
         request.config.committed_ballot > m.ballot || !IsPossible(m.decree) ||
         m.decree < Decree(1) || m.last_committed >= m.decree || m.last_committed < Decree(0);
}

// kOk: the prepare is for the role and session this replica has now.
ErrorCode ReplicaCore::Parts::AdmitPrepare(const PrepareRequest& request) {
  const ReplicaConfiguration& config = request.config;
  if (!s.connected) return ErrorCode::kInactiveState;
  const bool is_awaited = s.AwaitsItsPrimary() && !s.initializing && config.ballot == s.ballot &&
                          config.status == kSecondary;
  if ((config.ballot > s.ballot || is_awaited) &&
      roles.AdoptAssigned(config, "prepare") == TransitionVerdict::kRefuse) {
    return ErrorCode::kInvalidState;
  }
  switch (s.role) {
    case kInactive:
      return s.inactivity == Inactivity::kTransient ? ErrorCode::kInactiveState
                                                    : ErrorCode::kInvalidState;
    case kPotentialSecondary:
      // 0: it has no session, and takes no prepares of one.
      if (learner.signature() == 0 || config.learner_signature != learner.signature()) {
        ++s.counters.stale_messages;
        return ErrorCode::kInvalidState;
      }
      if (learner.phase() == LearnerStatus::kWithoutPrepare) return ErrorCode::kTryAgain;
      break;
    case kSecondary:
      break;
    default:
      return ErrorCode::kInvalidState;
  }
  if (config.status != s.role || config.primary != s.primary) {
    ++s.counters.odd_messages;
    return ErrorCode::kInvalidState;
  }
  return ErrorCode::kOk;
}

void ReplicaCore::Parts::On(const PrepareReceived& event) {
  if (IsOdd(event.request)) {
    ++s.counters.odd_messages;
    PrepareAck ack;
    ack.pid = s.options.pid;
    ack.err = ErrorCode::kInvalidData;
    ack.ballot = s.ballot;
    s.Reply(event.token, std::move(ack));
    return;
  }
  const MutationPtr& mutation = event.request.mutation;
  if (mutation->ballot < s.ballot) {
    ++s.counters.stale_messages;
    s.effects.dropped.push_back(event.token);
    return;
  }
  if (const ErrorCode err = AdmitPrepare(event.request); err != ErrorCode::kOk) {
    secondary.AnswerPrepare(event.token, err, mutation);
    return;
  }
  if (secondary.Prepare(event.token, event.request) == Secondary::Verdict::kLostEntries) {
    ++s.counters.lost_entries;
    ++s.times_older;
    roles.BecomeInactive(Inactivity::kRemoved, "committed decrees are missing here");
  }
}

void ReplicaCore::Parts::On(const PrepareAcked& event) {
  if (s.role != kPrimary) {
    ++s.counters.stale_messages;
    return;
  }
  const PrepareDispatch::Verdict verdict = primary.OnPrepareAnswer(event);
  if (verdict.outcome == PrepareDispatch::Outcome::kUnknown) ++s.counters.stale_messages;
  if (verdict.outcome == PrepareDispatch::Outcome::kAcked)
    roll_call.OnPreparedAgain(verdict.node, verdict.decree);
  const bool is_silent = verdict.outcome == PrepareDispatch::Outcome::kTimedOut;
  if (verdict.outcome != PrepareDispatch::Outcome::kFailed && !is_silent) return;
  if (s.configuration.IsSecondary(verdict.node)) {
    is_silent ? OnSilent(verdict.node) : reconfiguration.RemoveMember(verdict.node);
  } else {
    reconfiguration.EndSession(verdict.node);
  }
}

// One who does not answer is removed. When nobody does, and without them nothing may be written
// anyway, it is rather this server that can't be reached, whatever its beacons say: then it makes
// room for one of the others.
void ReplicaCore::Parts::OnSilent(Endpoint node) {
  const std::vector<Endpoint>& members = s.configuration.secondaries;
  const bool nobody_answers =
      s.MembersMin() > 1 && !reconfiguration.WasJustChosen() &&
      std::all_of(members.begin(), members.end(), [&](Endpoint member) {
        return member == node || primary.IsSilent(member) || group_check.IsSilent(member);
      });
  if (!nobody_answers) return reconfiguration.RemoveMember(node);
  if (reconfiguration.MayGiveWay()) return reconfiguration.GiveWay();
  primary.TakeOffice(Primary::Term::kResumed);  // what is under way is sent anew
}

// ---- group ----

void ReplicaCore::Parts::On(const GroupCheckReceived& event) {
  if (!s.connected) {
    s.Reply(event.token, GroupCheckResponse{});
    return;
  }
  const ReplicaConfiguration& config = event.request.config;
  const auto answer = [&](ErrorCode err) {
    GroupCheckResponse response = learner.Report();
    response.err = err;
    // An older version's primary asks each secondary before a split is paused or given up, and waits.
    const auto split = event.request.meta_split_status.value_or(kNoSplit);
    if (err == ErrorCode::kOk && s.role == kSecondary &&
        (split == kSplitPausing || split == kSplitCanceling))
      response.is_split_stopped = true;  // no secondary here ever begins one
    s.Reply(event.token, std::move(response));
  };
  const Decree committed = event.request.committed();
  if (config.pid != s.options.pid || !IsPossible(config.ballot) ||
      !IsPossible(event.request.last_committed_decree) || !IsPossible(committed) ||
      config.committed_ballot > config.ballot) {
    ++s.counters.odd_messages;
    return answer(ErrorCode::kInvalidData);
  }
  if (config.ballot < s.ballot) return answer(ErrorCode::kVersionOutdated);
  const bool own_update = config.ballot == s.ballot && reconfiguration.IsPending();
  const bool failed = config.status == kPotentialSecondary && s.role == kInactive &&
                      learner.HasFailed(config.learner_signature);
  if (own_update || failed ||
      roles.AdoptAssigned(config, "group check") == TransitionVerdict::kRefuse) {
    return answer(ErrorCode::kInvalidState);
  }
  if (s.role == kSecondary && secondary.LearnCommitted(committed, config.committed_ballot) ==
                                  Secondary::Verdict::kLostEntries) {
    ++s.counters.lost_entries;
    ++s.times_older;
    roles.BecomeInactive(Inactivity::kRemoved, "committed decrees are missing here");
    return answer(ErrorCode::kInvalidState);
  }
  const Decree held = event.request.last_prepared_decree.value_or(kInvalidDecree);
  if (held >= committed) secondary.NotePrimaryHolds(held);
  if (s.role == kPotentialSecondary) learner.OnInvitation(config.learner_signature);
  answer(ErrorCode::kOk);
}

void ReplicaCore::Parts::On(const GroupCheckAnswered& event) {
  // Who does not answer yet may be starting, and may hold more.
  if (s.role == kPrimary && !primary.IsOpen() && !s.is_proven && event.rpc != ErrorCode::kOk &&
      s.configuration.IsSecondary(event.from))
    return;
  switch (group_check.OnAnswer(event)) {
    case GroupCheck::Verdict::kFine:
      if (s.role == kPrimary && event.ballot == s.ballot && event.rpc == ErrorCode::kOk)
        HearMember(event);
      return;
    case GroupCheck::Verdict::kMemberFailed:
      return event.rpc == ErrorCode::kTimeout ? OnSilent(event.from)
                                              : reconfiguration.RemoveMember(event.from);
    case GroupCheck::Verdict::kLearnerFailed:
      return reconfiguration.EndSession(event.from);
    case GroupCheck::Verdict::kLearnerSucceeded:
      reconfiguration.UpgradeLearner(event.from);  // too early: its own report is repeated
      return;
  }
}

void ReplicaCore::Parts::On(const AddLearnerReceived& event) {
  const ReplicaConfiguration& config = event.request.config;
  if (!s.connected || config.ballot < s.ballot) {
    ++s.counters.stale_messages;
    return;
  }
  if (config.pid != s.options.pid || config.status != kPotentialSecondary ||
      !IsPossible(config.ballot)) {
    ++s.counters.odd_messages;
    return;
  }
  if (config.ballot == s.ballot && reconfiguration.IsPending()) return;
  reconfiguration.OnTableChanged(event.request.app);
  if (roles.AdoptAssigned(config, "add learner") == TransitionVerdict::kRefuse) return;
  if (s.role == kPotentialSecondary) learner.OnInvitation(config.learner_signature);
}

void ReplicaCore::Parts::On(const RemoveReceived& event) {
  const ReplicaConfiguration& config = event.config;
  if (config.pid != s.options.pid || config.status != kInactive ||
      config.ballot > Ballot(kNumberMax)) {
    ++s.counters.odd_messages;
    return;
  }
  const bool late = config.ballot < s.ballot || (config.ballot == s.ballot && s.role != kInactive);
  if (late) {
    ++s.counters.stale_messages;
    return;
  }
  roles.RaiseBallot(config.ballot);
  roles.BecomeInactive(Inactivity::kRemoved, "removed");
  primary.Resign();
  sessions.Clear();
}

void ReplicaCore::Parts::On(const LeaseLost&) {
  s.connected = false;
  s.lapsed = true;
  if (s.role == kPrimary || s.role == kSecondary) {
    roles.BecomeInactive(Inactivity::kTransient, "lease lost");
  } else if (s.role == kPotentialSecondary) {
    roles.BecomeInactive(Inactivity::kRemoved, "lease lost");
  }
  primary.RefuseQueued(ErrorCode::kInvalidState);
}

// ---- learning ----

void ReplicaCore::Parts::On(const LearnReceived& event) {
  if (event.request.pid != s.options.pid) {
    ++s.counters.odd_messages;
    LearnResponse response;
    response.err = ErrorCode::kInvalidData;
    s.Reply(event.token, std::move(response));
    return;
  }
  const Endpoint learner = event.request.learner;
  if (s.role == kPrimary && !primary.IsOpen()) {
    LearnResponse response;
    response.err = ErrorCode::kInactiveState;
    response.prepare_start_decree = kInvalidDecree;
    s.Reply(event.token, std::move(response));
    return;
  }
  if (reconfiguration.MayBeMember(learner)) reconfiguration.EndSession(learner);
  switch (sessions.Answer(event)) {
    case LearnerSessions::Consequence::kNone:
      return;
    case LearnerSessions::Consequence::kSendTail:
      return primary.SendTailTo(learner);
    case LearnerSessions::Consequence::kEnd:
      return reconfiguration.EndSession(learner);
    case LearnerSessions::Consequence::kStopPrepares:
      return primary.StopPreparesTo(learner);
  }
}

void ReplicaCore::Parts::On(const LearnCompletionReceived& event) {
  const GroupCheckResponse& report = event.report;
  LearnNotifyResponse response{s.options.pid, ErrorCode::kOk, report.learner_signature};
  const LearnerSessions::Session* session = sessions.Find(report.node);
  if (s.role != kPrimary) {
    const bool may_return = s.role == kInactive && s.inactivity == Inactivity::kTransient;
    response.err = may_return ? ErrorCode::kInactiveState : ErrorCode::kInvalidState;
  } else if (session == nullptr) {
    response.err = ErrorCode::kLearnerNotFound;
  } else if (session->signature != report.learner_signature ||
             session->prepare_start == kInvalidDecree ||
             report.learner_status != LearnerStatus::kSucceeded) {
    response.err = ErrorCode::kInvalidState;
  }
  if (response.err == ErrorCode::kOk && !reconfiguration.UpgradeLearner(report.node)) {
    response.err = ErrorCode::kInactiveState;  // it asks again
  }
  s.Reply(event.token, std::move(response));
}

void ReplicaCore::Parts::On(const LearnAnswered& event) {
  Learner::Verdict verdict = learner.OnAnswer(event);
  if (verdict == Learner::Verdict::kAdoptBallot) {
    const bool adopted =
        roles.AdoptAssigned(event.response.config, "learn answer") == TransitionVerdict::kAccept;
    if (s.role != kPotentialSecondary) return;
    if (!adopted)
      return roles.BecomeInactive(
          Inactivity::kRemoved,
          absl::StrCat("learning failed: ", event.response.config.primary.ToString(),
                       " answered with a configuration of ballot ",
                       event.response.config.ballot.value(), " that can't be taken over"));
    verdict = learner.OnAnswer(event);
  }
  Follow(verdict);
}

void ReplicaCore::Parts::On(const Tick&) {
  primary.OnTick();
  group_check.OnTick();
  reconfiguration.OnTick();
  if (s.role != kPrimary || roll_call.IsOver()) return;
  for (Endpoint member : roll_call.TakeDue()) group_check.Ask(member);
  if (const std::optional<Endpoint> member = roll_call.Overdue()) OnUnheard(*member);
}

// ---- questions ----

Instant ReplicaCore::NextWakeup() const {
  const Parts& p = *parts_;
  if (!p.s.effects.apply.empty())
    return p.s.now;  // what the log of the former incarnation had committed
  return std::min({p.primary.NextWakeup(), p.group_check.NextWakeup(),
                   p.reconfiguration.NextWakeup(), p.roll_call.NextWakeup(),
                   p.learner.NextWakeup()});
}

Watermarks ReplicaCore::marks() const { return parts_->before; }
PartitionStatus ReplicaCore::role() const { return parts_->s.role; }
Ballot ReplicaCore::ballot() const { return parts_->s.ballot; }
Inactivity ReplicaCore::inactivity() const { return parts_->s.inactivity; }
bool ReplicaCore::IsInitializing() const { return parts_->s.initializing; }
bool ReplicaCore::IsReconfiguring() const {
  return parts_->reconfiguration.IsPending() || parts_->reconfiguration.IsHandingOver();
}
Ballot ReplicaCore::last_mutation_ballot() const {
  const ReplicaState& s = parts_->s;
  return s.standing == Standing::kLearner ? kInvalidBallot : s.last_mutation_ballot;
}
int64_t ReplicaCore::TimesOlder() const { return parts_->s.times_older; }
bool ReplicaCore::IsProven() const { return parts_->s.is_proven; }
LastStop ReplicaCore::last_stop() const { return parts_->s.last_stop; }
Endpoint ReplicaCore::primary() const { return parts_->s.primary; }
const AppInfo& ReplicaCore::app() const { return parts_->s.app; }
uint64_t ReplicaCore::app_serial() const { return parts_->s.app_serial; }
const PartitionConfiguration& ReplicaCore::configuration() const { return parts_->s.configuration; }
LearnerStatus ReplicaCore::learner_status() const { return parts_->learner.phase(); }
const ReplicaCore::Counters& ReplicaCore::counters() const { return parts_->s.counters; }

std::vector<Endpoint> ReplicaCore::learners() const {
  std::vector<Endpoint> nodes;
  for (const auto& [node, session] : parts_->sessions.all()) nodes.push_back(node);
  return nodes;
}

ErrorCode ReplicaCore::ReadGate(ReadKind kind) const {
  const ReplicaState& s = parts_->s;
  if (kind == ReadKind::kBackup && s.role == kSecondary) return ErrorCode::kOk;
  if (s.role != kPrimary || !parts_->primary.IsOpen() || s.last_applied < s.read_barrier)
    return ErrorCode::kInvalidState;
  return ErrorCode::kOk;
}

ErrorCode ReplicaCore::WriteGate() const {
  const Reconfiguration& reconfiguration = parts_->reconfiguration;
  if (reconfiguration.IsHandingOver() || reconfiguration.LacksMember())
    return ErrorCode::kInvalidState;
  return parts_->primary.WriteGate();
}

Decree ReplicaCore::LearnStart(const LearnRequest& request) const {
  return parts_->sessions.StartOf(request);
}

Decree ReplicaCore::FirstLogDecreeNeeded() const { return parts_->sessions.FirstLogDecreeNeeded(); }

std::optional<Decree> ReplicaCore::KnownToAllMembers() const {
  return parts_->primary.KnownToAllMembers();
}

void ReplicaCore::Check() const {
  Parts& p = *parts_;
  const Watermarks marks = p.s.marks();
  CheckLadder(marks);
  CheckRise(p.before, marks);
  CHECK(p.before.ballot == marks.ballot || p.s.effects.persist_ballot == marks.ballot)
      << "invariants/R13";
  p.before = marks;
  p.s.Check();
  p.s.list.Check();
  p.primary.Check();
  p.secondary.Check();
  p.learner.Check();
  p.reconfiguration.Check();
  p.group_check.Check();
  p.roll_call.Check();
  CHECK(p.sessions.all().empty() || marks.role == kPrimary || marks.role == kInactive)
      << "learners of a primary that has resigned";
  if (marks.role == kPrimary) {
    CHECK_EQ(p.s.configuration.primary, p.s.options.self);
    CHECK_EQ(p.s.configuration.ballot, p.s.ballot);
    for (const auto& [node, session] : p.sessions.all()) {
      CHECK(!p.s.configuration.IsMember(node)) << "invariants/R6";
    }
  }
}

}  // namespace arion
