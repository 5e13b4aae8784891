// SPDX-License-Identifier: Apache-2.0
#include "pacifica/replica_core.h"

#include <absl/strings/str_cat.h>

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "decrees/possible.h"
#include "pacifica/group_answers.h"
#include "pacifica/group_check.h"
#include "pacifica/invariants.h"
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

// Values of meta_split_status, which only older versions send (pacifica/PROTOCOL.md 6).
constexpr int32_t kNoSplit = 0, kSplitPausing = 2, kSplitCanceling = 4;

}  // namespace

using enum PartitionStatus;

// The roles, wired. Each event goes to the role that it concerns. What a role cannot decide alone,
// because it knows only its own part, is decided here or in GroupAnswers.
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
        group_check(s, primary, sessions),
        group_answers(s, roll_call, primary, reconfiguration, group_check) {}

  ReplicaState s;
  RollCall roll_call;
  LearnerSessions sessions;
  Primary primary;
  Secondary secondary;
  Learner learner;
  RoleKeeper roles;
  Reconfiguration reconfiguration;
  GroupCheck group_check;
  GroupAnswers group_answers;
  // At the end of the last step: what holds between steps.
  Watermarks before;
  // The ballot of the office that group_check knows of; invalid: it knows of none.
  Ballot office_ballot = kInvalidBallot;

  void Fail(std::string_view why);
  void Follow(Learner::Verdict verdict);
  void Settle();
  void Refuse(const Event& event);

  void On(const ClientWrite& event) {
    return reconfiguration.IsSealed() ? Refuse(event) : primary.Write(event);
  }
  void On(const Logged& event);
  void On(const Applied& event);
  void On(const DurableAdvanced& event);
  void On(const Fenced& event) { Fail(event.why); }
  void On(const PrepareReceived& event);
  void On(const PrepareAcked& event) { group_answers.OnPrepareAcked(event); }
  void On(const GroupCheckReceived& event);
  void On(const GroupCheckAnswered& event) { group_answers.OnGroupCheckAnswered(event); }
  void On(const AddLearnerReceived& event);
  void On(const RemoveReceived& event);
  void On(const ProposalReceived& event) { reconfiguration.OnProposal(event.request); }
  void On(const ConfigurationUpdateAnswered& event) { reconfiguration.OnAnswer(event); }
  void On(const ConfigurationSynced& event) { reconfiguration.OnSynced(event.entry); }
  void On(const TableChanged& event) { reconfiguration.OnTableChanged(event.app); }
  void On(const MissingInSync& event) { reconfiguration.OnMissing(event); }
  void On(const MetaThawed&) { reconfiguration.OnMetaThawed(); }
  void On(const SplitTurn& event) {
    if (reconfiguration.OnSplitTurn(event.what)) group_check.TellAll();
  }
  void On(const ParentTail& event) { secondary.TakeTail(event); }
  void On(const LeaseLost&);
  void On(const Connected&) { s.connected = true; }
  void On(const LearnReceived& event);
  void On(const Shipped& event) { sessions.OnShipped(event); }
  void On(const LearnCompletionReceived& event);
  void On(const LearnAnswered& event);
  void On(const LearnerWorkDone& event) { Follow(learner.OnWorkDone(event)); }
  void On(const LearnCompletionAnswered& event) { Follow(learner.OnCompletionAnswered(event)); }
  void On(const Tick&);

  bool IsOdd(const PrepareRequest& request) const;
  ErrorCode AdmitPrepare(const PrepareRequest& request);
};

// ---- starting ----

ReplicaCore::ReplicaCore(CoreOptions options, const RecoveredState& recovered, Instant now)
    : parts_(std::make_unique<Parts>(std::move(options))) {
  parts_->s.now = parts_->s.inactive_since = now;
  parts_->s.Recover(recovered);
  parts_->before = parts_->s.marks();
  Check();
}

ReplicaCore::~ReplicaCore() = default;

// ---- one step ----

Effects ReplicaCore::Step(const Event& event, Instant now) {
  Parts& p = *parts_;
  CHECK(now >= p.s.now) << "time falls";
  p.s.now = now;
  CHECK(p.s.effects.send.empty() && p.s.effects.replies.empty())
      << "effects of the last step were not given out";
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

// What follows from any event: the learner may go on, new work may start, and a new office begins
// its group checks. It is done once, at the end of the step, so that no handler has to think of it.
void ReplicaCore::Parts::Settle() {
  if (s.role == kPotentialSecondary) learner.Proceed();
  reconfiguration.ProceedHandOver();
  reconfiguration.EndVoidSplitHold();
  if (s.role != kPrimary) {
    if (office_ballot != kInvalidBallot) group_check.End();
    office_ballot = kInvalidBallot;
    return;
  }
  if (roll_call.IsOver() && !primary.IsOpen()) {
    // No member holds what this replica lacks: had its disk lost something, that would have shown.
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

// In ERROR nothing is promised any more: requests are refused, what needs no answer is forgotten.
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
  // Also while its own update is in flight or its lease is lost: the meta server still counts on it
  // as primary.
  const bool was_primary =
      s.configuration.primary == s.options.self && s.configuration.ballot == s.ballot;
  const PartitionConfiguration configuration = s.configuration;
  roles.Fail(why);
  CHECK(s.role == kError) << "replica_core/P5: it goes on";
  if (was_primary) reconfiguration.TellFault(configuration);
}

void ReplicaCore::Parts::Follow(Learner::Verdict verdict) {
  switch (verdict) {
    case Learner::Verdict::kFine:
      return;
    case Learner::Verdict::kLocalFault:
      return Fail(absl::StrCat("learning: the disk failed: ", learner.failure()));
    case Learner::Verdict::kSessionFailed:
    case Learner::Verdict::kAdoptBallot:
      // A ballot that was adopted is not asked for again: the answer cannot be true.
      if (s.role == kPotentialSecondary)
        roles.BecomeInactive(Inactivity::kRemoved,
                             absl::StrCat("learning failed: ", learner.failure()));
  }
}

// ---- own log and engine ----

void ReplicaCore::Parts::On(const Logged& event) {
  const Decree decree = s.TakeLogged(event.sequence);
  // Nothing may be acknowledged any more: what the log holds is not known.
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
  // The driver may report several decrees at once, and the same ones again.
  if (event.decree <= s.last_applied) return;
  s.last_applied = event.decree;
  primary.OnApplied();
}

void ReplicaCore::Parts::On(const DurableAdvanced& event) {
  CHECK_LE(event.decree, s.last_applied) << "durable before it was applied";
  s.last_durable = std::max(s.last_durable, event.decree);
}

// ---- prepares ----

// Whether no correct primary sends this prepare. What passes may be acted on without a CHECK
// failing.
bool ReplicaCore::Parts::IsOdd(const PrepareRequest& request) const {
  if (request.mutation == nullptr) return true;
  const Mutation& m = *request.mutation;
  return request.pid != s.options.pid || request.config.pid != request.pid ||
         m.pid != request.pid || request.config.ballot != m.ballot || !IsPossible(m.ballot) ||
         request.config.committed_ballot > m.ballot || !IsPossible(m.decree) ||
         m.decree < Decree(1) || m.last_committed >= m.decree || m.last_committed < Decree(0);
}

// kOk: the prepare is for the role and session that this replica has now. May adopt the ballot and
// the role that the prepare names.
ErrorCode ReplicaCore::Parts::AdmitPrepare(const PrepareRequest& request) {
  const ReplicaConfiguration& config = request.config;
  if (!s.connected) return ErrorCode::kInactiveState;
  // After an unclean stop a prepare of the same ballot makes this replica a secondary: it tells the
  // committed point.
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
      // 0: the learner has no session, and takes no prepares of any.
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
  // Its sender leads no more, so nobody waits for the answer.
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

// ---- group ----

void ReplicaCore::Parts::On(const GroupCheckReceived& event) {
  // Without a lease an empty answer says nothing of this replica, not even that it failed.
  if (!s.connected) {
    s.Reply(event.token, GroupCheckResponse{});
    return;
  }
  const ReplicaConfiguration& config = event.request.config;
  const auto answer = [&](ErrorCode err) {
    GroupCheckResponse response = learner.Report();
    response.err = err;
    // A primary of an older version asks each secondary before it pauses or gives up a split, and
    // waits for all.
    const auto split = event.request.meta_split_status.value_or(kNoSplit);
    // No secondary here ever begins one.
    if (err == ErrorCode::kOk && s.role == kSecondary &&
        (split == kSplitPausing || split == kSplitCanceling))
      response.is_split_stopped = true;
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
  // While an own update is pending, nobody else's word of this ballot counts. A session that failed
  // here must be begun anew by the primary.
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
  // If the term is open, its primary held this much at one moment: whoever has all of that is
  // proven.
  const Decree held = event.request.last_prepared_decree.value_or(kInvalidDecree);
  if (held >= committed) secondary.NotePrimaryHolds(held);
  // As with an invitation.
  if (s.role == kPotentialSecondary) reconfiguration.OnTableChanged(event.request.app);
  if (s.role == kPotentialSecondary) learner.OnInvitation(config.learner_signature);
  // By it keys are owned under this ballot.
  reconfiguration.TakeOverCount(event.request.app.partition_count);
  answer(ErrorCode::kOk);
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
  // The newest description counts, whatever becomes of the invitation: so is known what to ask for.
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
  // Under the same ballot the primary may have invited this replica again after it was removed.
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

// A member may come back to its role under the same ballot. A learner's session ends: its primary
// does not wait.
void ReplicaCore::Parts::On(const LeaseLost&) {
  s.connected = false;
  s.lapsed = s.lapsed_in_office = true;
  if (s.role == kPrimary || s.role == kSecondary) {
    roles.BecomeInactive(Inactivity::kTransient, "lease lost");
  } else if (s.role == kPotentialSecondary) {
    roles.BecomeInactive(Inactivity::kRemoved, "lease lost");
  }
  // What was not started was not written, and clients find the next primary sooner.
  primary.RefuseQueued(ErrorCode::kInvalidState);
  CHECK(s.role == kInactive) << "invariants/R12: a role without a lease";
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
  // It learns anew, so it is not what the meta server was asked to make a member.
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
    // It is too early; the learner asks again.
    response.err = ErrorCode::kInactiveState;
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
                       event.response.config.ballot.value(), " that cannot be adopted"));
    verdict = learner.OnAnswer(event);
  }
  Follow(verdict);
}

void ReplicaCore::Parts::On(const Tick&) {
  primary.OnTick();
  group_check.OnTick();
  reconfiguration.OnTick();
  group_answers.OnTick();
}

// ---- questions ----

Instant ReplicaCore::NextWakeup() const {
  const Parts& p = *parts_;
  // What the log of the former process had committed waits for the first step.
  if (!p.s.effects.apply.empty()) return p.s.now;
  return std::min({p.primary.NextWakeup(), p.group_check.NextWakeup(),
                   p.reconfiguration.NextWakeup(), p.roll_call.NextWakeup(),
                   p.learner.NextWakeup()});
}

Watermarks ReplicaCore::marks() const { return parts_->before; }
PartitionStatus ReplicaCore::role() const { return parts_->s.role; }
Ballot ReplicaCore::ballot() const { return parts_->s.ballot; }
Inactivity ReplicaCore::inactivity() const { return parts_->s.inactivity; }
bool ReplicaCore::IsInitializing() const { return parts_->s.initializing; }
bool ReplicaCore::IsReconfiguring() const { return parts_->reconfiguration.IsUnderWay(); }
bool ReplicaCore::IsHeldForSplit() const { return parts_->reconfiguration.IsHeldForSplit(); }
bool ReplicaCore::IsQuiet() const { return parts_->primary.IsQuiet(); }
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
  // Below the barrier the former primary may have answered reads from what is not applied here yet.
  if (s.role != kPrimary || !parts_->primary.IsOpen() || s.last_applied < s.read_barrier)
    return ErrorCode::kInvalidState;
  return ErrorCode::kOk;
}

ErrorCode ReplicaCore::WriteGate() const {
  // A write that is taken now could not be answered before another leads, or before the failed
  // member is gone.
  const Reconfiguration& reconfiguration = parts_->reconfiguration;
  if (reconfiguration.IsHandingOver() || reconfiguration.IsHeldForSplit() ||
      reconfiguration.LacksMember())
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
  CHECK(marks.role != kPrimary || p.office_ballot == marks.ballot)
      << "a primary whose group was told nothing of its ballot";
  CHECK(marks.role == kPrimary || p.office_ballot == kInvalidBallot) << "a group without a primary";
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
    for (const auto& [node, session] : p.sessions.all())
      CHECK(!p.s.configuration.IsMember(node)) << "invariants/R6";
  }
}

}  // namespace arion
