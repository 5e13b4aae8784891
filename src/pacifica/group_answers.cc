// SPDX-License-Identifier: Apache-2.0
#include "pacifica/group_answers.h"

#include <absl/strings/str_cat.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "base/log.h"
#include "pacifica/group_check.h"
#include "pacifica/primary.h"
#include "pacifica/reconfiguration.h"
#include "pacifica/roll_call.h"

namespace arion {

// ---- prepares ----

void GroupAnswers::OnPrepareAcked(const PrepareAcked& event) {
  if (s_.role != PartitionStatus::kPrimary) {
    ++s_.counters.stale_messages;
    return;
  }
  const PrepareDispatch::Verdict verdict = primary_.OnPrepareAnswer(event);
  if (verdict.outcome == PrepareDispatch::Outcome::kUnknown) ++s_.counters.stale_messages;
  if (verdict.outcome == PrepareDispatch::Outcome::kAcked)
    roll_call_.OnPreparedAgain(verdict.node, verdict.decree);
  const bool is_silent = verdict.outcome == PrepareDispatch::Outcome::kTimedOut;
  if (verdict.outcome != PrepareDispatch::Outcome::kFailed && !is_silent) return;
  CHECK_EQ(verdict.node, event.from) << "one node is judged by another's answer";
  if (s_.configuration.IsSecondary(verdict.node)) {
    is_silent ? OnSilent(verdict.node) : reconfiguration_.RemoveMember(verdict.node);
  } else {
    reconfiguration_.EndSession(verdict.node);
  }
}

// A silent member is removed. If no member answers, and no write can be accepted without them, this
// server is probably the one that cannot be reached, even if the meta server still hears its
// beacons. Then the primary makes room for one of the others.
void GroupAnswers::OnSilent(Endpoint node) {
  CHECK(s_.role == PartitionStatus::kPrimary);
  CHECK(s_.configuration.IsSecondary(node)) << node << " is no member";
  const std::vector<Endpoint>& members = s_.configuration.secondaries;
  const bool nobody_answers =
      s_.MembersMin() > 1 && !reconfiguration_.WasJustChosen() &&
      std::all_of(members.begin(), members.end(), [&](Endpoint member) {
        return member == node || primary_.IsSilent(member) || group_check_.IsSilent(member);
      });
  if (!nobody_answers) return reconfiguration_.RemoveMember(node);
  if (reconfiguration_.MayGiveWay()) return reconfiguration_.GiveWay();
  // It must stay for now. Taking office again sends every prepare under way once more.
  primary_.TakeOffice(Primary::Term::kResumed);
}

// ---- group checks ----

void GroupAnswers::OnGroupCheckAnswered(const GroupCheckAnswered& event) {
  // An unproven primary does not judge a member by one lost answer while its roll call is under
  // way: the member may still be starting, and may hold more than this replica.
  if (s_.role == PartitionStatus::kPrimary && !primary_.IsOpen() && !s_.is_proven &&
      event.rpc != ErrorCode::kOk && s_.configuration.IsSecondary(event.from))
    return;
  switch (group_check_.OnAnswer(event)) {
    case GroupCheck::Verdict::kFine:
      if (s_.role == PartitionStatus::kPrimary && event.ballot == s_.ballot &&
          event.rpc == ErrorCode::kOk)
        HearMember(event);
      return;
    case GroupCheck::Verdict::kMemberFailed:
      return event.rpc == ErrorCode::kTimeout ? OnSilent(event.from)
                                              : reconfiguration_.RemoveMember(event.from);
    case GroupCheck::Verdict::kLearnerFailed:
      return reconfiguration_.EndSession(event.from);
    case GroupCheck::Verdict::kLearnerSucceeded:
      // If it is too early nothing is lost: the learner repeats its own report.
      reconfiguration_.UpgradeLearner(event.from);
      return;
  }
}

// ---- roll call ----

void GroupAnswers::HearMember(const GroupCheckAnswered& event) {
  const GroupCheckResponse& answer = event.response;
  const RollCall::Verdict verdict = roll_call_.OnAnswer(event.from, answer);
  if (verdict == RollCall::Verdict::kFine) return;
  CHECK(!primary_.IsOpen()) << "invariants/R16: the term began before " << event.from
                            << " was heard";
  if (verdict == RollCall::Verdict::kIsFarBehind) return reconfiguration_.RemoveMember(event.from);
  if (verdict == RollCall::Verdict::kIsBehind)
    return primary_.PrepareAgainFor(event.from, answer.last_committed_decree_in_prepare_list);
  if (verdict == RollCall::Verdict::kProvesMore) ++s_.times_older;
  const std::string why = absl::StrCat(
      "gives way: ", event.from.ToString(), " holds ",
      answer.last_mutation_ballot.value_or(kInvalidBallot).value(), ".",
      answer.last_prepared_decree.value_or(answer.last_committed_decree_in_prepare_list).value(),
      ", of it committed ", answer.last_committed_decree_in_prepare_list.value(),
      "; this copy ends at ", s_.last_mutation_ballot.value(), ".",
      s_.list.last_prepared().value());
  // A meta server of 2.5.0 does not compare what the members hold. It would choose this replica
  // again and again, so the second time the replica leaves the group.
  const bool leaves =
      verdict == RollCall::Verdict::kProvesMore || reconfiguration_.WasChosenAgain();
  reconfiguration_.GiveUpOffice(
      leaves ? Reconfiguration::Yield::kAsLearner : Reconfiguration::Yield::kAsSecondary, why);
}

// A proven primary goes on without the member, and so does one that the meta server has just chosen
// by what all living members hold. A primary that only came back in its former role leaves the
// choice to the meta server.
void GroupAnswers::OnUnheard(Endpoint member) {
  CHECK(!primary_.IsOpen()) << "invariants/R16: the term began before " << member << " was heard";
  if (s_.is_proven || reconfiguration_.WasJustChosen()) {
    OnSilent(member);
  } else {
    reconfiguration_.GiveUpOffice(Reconfiguration::Yield::kAsSecondary,
                                  "gives way: a member does not say what it holds");
  }
  if (s_.role == PartitionStatus::kPrimary) roll_call_.Excuse(member);
}

void GroupAnswers::OnTick() {
  if (s_.role != PartitionStatus::kPrimary || roll_call_.IsOver()) return;
  for (Endpoint member : roll_call_.TakeDue()) group_check_.Ask(member);
  if (const std::optional<Endpoint> member = roll_call_.Overdue()) OnUnheard(*member);
}

}  // namespace arion
