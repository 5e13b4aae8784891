// A session is a series of rounds: the learner asks for what follows its engine's decree, and takes
// what the answer gives, a checkpoint, a piece of log, or LT_CACHE, which closes the gap. Then it
// takes prepares, flushes, and reports that it has everything. At any time one thing is under way
// at most: a round, a piece of work of the driver's, or the wait for the next try.
// SPDX-License-Identifier: Apache-2.0
#include "pacifica/learner.h"

#include <algorithm>
#include <span>
#include <utility>

#include "base/log.h"
#include "base/status.h"
#include "decrees/log_shipment.h"
#include "decrees/possible.h"
#include "pacifica/invariants.h"
#include "pacifica/secondary.h"

namespace arion {
namespace {

// So many in a row are tolerated. The next one ends the session.
constexpr int kLostRoundsMax = 3;
constexpr int kVainCopiesMax = 3;

// Whether a primary can have come to these numbers. Nothing is counted on from them before that.
bool IsPossible(const LearnResponse& response) {
  const Decree start = response.prepare_start_decree;
  return IsPossible(response.config.ballot) && IsPossible(response.last_committed_decree) &&
         (start == kInvalidDecree || IsPossible(start)) &&
         IsPossible(response.state.to_decree_included);
}

// Whether one primary can have committed these: their ballots never fall, nor go beyond its own.
bool IsHistory(const std::vector<MutationPtr>& mutations, Ballot ballot) {
  Ballot last(0);
  for (const MutationPtr& m : mutations) {
    if (m->ballot < last || m->ballot > ballot) return false;
    last = m->ballot;
  }
  return true;
}

// The primary cannot answer now, but will: the round is repeated within the session.
bool IsNotReadyYet(ErrorCode err) {
  return err == ErrorCode::kInactiveState || err == ErrorCode::kInconsistentState ||
         err == ErrorCode::kTryAgain;
}

}  // namespace

GroupCheckResponse Learner::Report() const {
  GroupCheckResponse report;
  report.pid = s_.options.pid;
  report.last_committed_decree_in_app = s_.last_applied;
  report.last_committed_decree_in_prepare_list = s_.list.last_committed();
  // A copy of a former session cannot be stopped, and what it brings will count.
  const bool ends_a_copy = s_.role == PartitionStatus::kPotentialSecondary && HasWork() &&
                           phase_ == LearnerStatus::kInvalid;
  report.learner_status = ends_a_copy ? LearnerStatus::kWithoutPrepare : phase_;
  report.learner_signature = signature_;
  report.node = s_.options.self;
  report.last_prepared_decree = s_.list.last_prepared();
  // A learner's state may lack what the group committed, so its ballots must not be compared.
  report.last_mutation_ballot =
      s_.standing == Standing::kLearner ? kInvalidBallot : s_.last_mutation_ballot;
  return report;
}

void Learner::Check() const {
  CheckStanding(s_.role, phase_, s_.standing);
  CheckGap(phase_, s_.last_durable, gap_end_);
  CHECK_EQ(signature_ == 0, phase_ == LearnerStatus::kInvalid);
  CHECK(round_serial_ == 0 || work_serial_ == 0) << "a round and a piece of work at once";
  if (signature_ == 0) {
    CHECK_EQ(round_serial_, 0u) << "a round of no session";
    CHECK(retry_at_ == Instant::InfiniteFuture()) << "nothing is to be tried again";
    CHECK(!has_files_) << "files of no session";
    return;
  }
  CHECK(s_.role == PartitionStatus::kPotentialSecondary);
  CHECK_EQ(failed_, 0) << "the session goes on, and failed";
  CHECK(invited_at_ <= s_.now);
  CHECK_LE(lost_rounds_, kLostRoundsMax);
  CHECK_LE(vain_copies_, kVainCopiesMax);
  CHECK(!has_files_ || round_serial_ == 0) << "a round, though its files are not read";
  if (phase_ == LearnerStatus::kWithoutPrepare) return;
  CHECK_EQ(round_serial_, 0u) << "a round, though the gap is closed";
  CHECK(!has_files_) << "files to read, though the gap is closed";
  CHECK_LT(gap_end_, prepare_start_);
}

void Learner::OnInvitation(int64_t signature) {
  CHECK(s_.role == PartitionStatus::kPotentialSecondary);
  invited_at_ = s_.now;
  if (signature == 0) {
    ++s_.counters.odd_messages;
    return;
  }
  if (signature < signature_) {
    ++s_.counters.stale_messages;
    return;
  }
  if (signature != signature_) {
    // A copy under way cannot be stopped; the primary asks again.
    if (HasWork()) return;
    Abort();
    signature_ = signature;
    failed_ = 0;
    phase_ = LearnerStatus::kWithoutPrepare;
    // A former member's state stays a member's until learning changes it: the group may yet need
    // it.
    if (s_.HoldsNothing()) s_.MarkAsLearner();
    // Nothing of the old list commits any more: the engine must stand still between rounds.
    secondary_.Restart(Decree(0));
  }
  if (phase_ == LearnerStatus::kSucceeded) {
    SendCompletion();
  } else {
    Proceed();
  }
}

void Learner::Proceed() {
  if (signature_ == 0 || HasWork()) return;
  CHECK(s_.role == PartitionStatus::kPotentialSecondary) << "a session of no learner";
  const bool due = retry_at_ <= s_.now;
  if (due) retry_at_ = Instant::InfiniteFuture();
  switch (phase_) {
    case LearnerStatus::kWithoutPrepare:
      // The engine finishes what it was given: the round starts where it then stands.
      if (round_serial_ != 0 || s_.AppliesPending() || retry_at_ != Instant::InfiniteFuture())
        return;
      // The log is no faster than its disk.
      if (kept_through_ && !s_.appends.empty()) return;
      if (has_files_) {
        StartWork(LearnerWork::What::kReadLog, {});
      } else {
        SendRound();
      }
      return;
    case LearnerStatus::kWithPrepare:
      // What LT_CACHE brought must be committed and applied before a flush can make it durable.
      if (s_.list.last_committed() < prepare_start_ - 1 || s_.last_applied < prepare_start_ - 1)
        return;
      if (s_.last_durable < gap_end_) {
        if (retry_at_ == Instant::InfiniteFuture()) StartWork(LearnerWork::What::kFlush, {});
        return;
      }
      phase_ = LearnerStatus::kSucceeded;
      SendCompletion();
      return;
    case LearnerStatus::kSucceeded:
      if (due) SendCompletion();
      return;
    default:
      return;
  }
}

void Learner::SendRound() {
  CHECK(s_.primary.IsValid() && s_.primary != s_.options.self) << "who would answer?";
  CHECK_NE(signature_, 0) << "a round of no session";
  CHECK_EQ(round_serial_, 0u) << "two rounds at once";
  CHECK(phase_ == LearnerStatus::kWithoutPrepare) << "a round, though the gap is closed";
  ++s_.counters.learn_rounds;
  asked_ = absl::StrCat(s_.primary.ToString(), " was asked for what follows decree ",
                        s_.last_applied.value());
  // An answer to an earlier round carries another serial, and is passed over.
  round_serial_ = s_.next_serial++;
  LearnRequest request;
  request.pid = s_.options.pid;
  request.learner = s_.options.self;
  request.signature = signature_;
  request.last_committed_decree_in_app = s_.last_applied;
  request.last_committed_decree_in_prepare_list = s_.list.last_committed();
  if (s_.app.duplicating) request.kept_through = kept_through_.value_or(Decree(0));
  s_.effects.send.push_back(
      SendLearn{s_.primary, round_serial_, std::move(request), s_.options.rpc_timeout});
}

void Learner::SendCompletion() {
  CHECK(phase_ == LearnerStatus::kSucceeded) << "invariants/R10: it has not everything";
  CHECK_GE(s_.last_durable, gap_end_) << "invariants/R10: what was learned is not durable";
  retry_at_ = s_.now + s_.options.learn_retry_delay;
  asked_ = absl::StrCat(s_.primary.ToString(), " was told that all below decree ",
                        prepare_start_.value(), " is here");
  s_.effects.send.push_back(SendLearnCompletion{s_.primary, Report(), s_.options.rpc_timeout});
}

void Learner::StartWork(LearnerWork::What what, const LearnResponse& response) {
  CHECK_NE(signature_, 0) << "work for no session";
  CHECK(!HasWork());
  CHECK(!s_.effects.learner_work.has_value());
  CHECK_EQ(round_serial_, 0u) << "a round and a piece of work at once";
  CHECK(s_.role == PartitionStatus::kPotentialSecondary) << "work for no learner";
  work_serial_ = s_.next_serial++;
  work_ = what;
  s_.effects.learner_work = LearnerWork{work_serial_, what, response};
}

void Learner::RetryLater() { retry_at_ = s_.now + s_.options.learn_retry_delay; }

Learner::Verdict Learner::Fail(std::string_view why) {
  CHECK_NE(signature_, 0) << "no session has failed";
  failed_ = signature_;
  failure_ = absl::StrCat(asked_, ": ", Text(why));
  Abort();
  return Verdict::kSessionFailed;
}

Learner::Verdict Learner::Refuse(std::string_view why) {
  ++s_.counters.odd_messages;
  return Fail(why);
}

void Learner::Abort() {
  signature_ = 0;
  phase_ = LearnerStatus::kInvalid;
  round_serial_ = 0;
  lost_rounds_ = 0;
  vain_copies_ = 0;
  has_files_ = false;
  kept_through_.reset();
  retry_at_ = Instant::InfiniteFuture();
}

Learner::Verdict Learner::OnAnswer(const LearnAnswered& answer) {
  if (signature_ == 0 || answer.serial != round_serial_) {
    ++s_.counters.stale_messages;
    return Verdict::kFine;
  }
  const LearnResponse& response = answer.response;
  const ErrorCode err = answer.rpc != ErrorCode::kOk ? answer.rpc : response.err;
  if (err == ErrorCode::kOk && !IsPossible(response))
    return Refuse("its answer says numbers that nobody reaches");
  // The round stays open: the caller adopts the ballot and hands the same answer in again.
  if (err == ErrorCode::kOk && response.config.ballot > s_.ballot) return Verdict::kAdoptBallot;
  round_serial_ = 0;
  if (answer.rpc != ErrorCode::kOk) {
    if (++lost_rounds_ > kLostRoundsMax)
      return Fail(absl::StrCat("no answer, ", Text(ErrorCodeName(err))));
    RetryLater();
    return Verdict::kFine;
  }
  lost_rounds_ = 0;
  if (IsNotReadyYet(err)) {
    RetryLater();
    return Verdict::kFine;
  }
  if (err != ErrorCode::kOk) return Fail(absl::StrCat("it answered ", Text(ErrorCodeName(err))));
  if (response.config.ballot < s_.ballot) {
    ++s_.counters.stale_messages;
    RetryLater();
    return Verdict::kFine;
  }
  CHECK(!s_.AppliesPending()) << "a round starts where the engine stands still";
  CHECK(phase_ == LearnerStatus::kWithoutPrepare) << "a round, though the gap is closed";
  if (response.last_committed_decree < s_.last_applied || s_.is_foreign) {
    // The engine has applied more than this group has committed, or what another cluster had: that
    // history was never the group's.
    StartWork(LearnerWork::What::kDiscard, {});
    return Verdict::kFine;
  }
  switch (response.type) {
    case LearnType::kCache:
      return TakeCache(response);
    case LearnType::kLog:
      return TakeLog(response);
    case LearnType::kApp:
      return TakeCheckpoint(response);
    default:
      return Refuse(absl::StrCat("its answer is of type ", static_cast<int>(response.type)));
  }
}

Learner::Verdict Learner::TakeCache(const LearnResponse& response) {
  auto carried = ParseMutations(s_.options.pid, response.state.meta);
  const Decree start = s_.last_applied + 1;
  const Decree last = response.prepare_start_decree - 1;
  if (!carried.ok()) return Refuse(absl::StrCat("mutations: ", carried.status().message()));
  if (last < s_.last_applied || last > response.last_committed_decree)
    return Refuse(absl::StrCat("it begins to prepare at ", response.prepare_start_decree.value(),
                               ", and has committed ", response.last_committed_decree.value()));
  const Decree from = response.kept_from.value_or(start);
  if (from > start || from < Decree(1))
    return Refuse(absl::StrCat("what is to be kept begins at decree ", from.value()));
  const std::vector<MutationPtr> mutations = NewestVersions(*carried, from, last);
  if (!IsHistory(mutations, s_.ballot) ||
      static_cast<int64_t>(mutations.size()) != last - (from - 1))
    return Refuse(absl::StrCat("no history up to decree ", last.value(), ": ", mutations.size(),
                               " mutations, or ballots that fall"));
  // Those that are applied here come first.
  const auto first = mutations.begin() + (start - from);
  const int64_t count = mutations.end() - first;
  // An older primary sends each prepare once a session. If this replica took some before it lost
  // its role, and forgot them, nobody would notice that they are missing.
  if (!response.prepares_all_after.value_or(false) &&
      (response.last_committed_decree > last || MayHaveTakenPrepares(last + 1))) {
    doubted_ = signature_;
    return Fail(
        "this replica may have acknowledged, before it began anew, what the session does not "
        "bring again; it waits for another");
  }
  // The primary's list may hold more than this one's, and a whole window of prepares follows before
  // any of these is committed here. What leaves no room for that window is taken like a piece of
  // log.
  const int64_t room = s_.options.prepare_list_span_max - s_.options.mutations_in_flight_max;
  const auto rest = mutations.end() - std::min(count, room);
  if (rest != first) s_.HandOver({first, rest});
  prepare_start_ = response.prepare_start_decree;
  gap_end_ = s_.last_handed;
  s_.RestartList(gap_end_, Ballot(0));
  doubted_ = 0;
  secondary_.Restart(last);
  if (response.kept_from) {
    BeginKeeping(from, gap_end_);
    Keep(absl::MakeConstSpan(mutations).first(static_cast<size_t>(rest - mutations.begin())));
  } else {
    s_.effects.restart_log = RestartLog{gap_end_, gap_end_};
  }
  for (const MutationPtr& m : std::span(rest, mutations.end())) {
    const PrepareList::PutVerdict verdict = s_.Append(m);
    CHECK(verdict == PrepareList::PutVerdict::kStored) << "an empty list has room";
  }
  CHECK_EQ(s_.list.last_committed(), gap_end_) << "the list begins behind the gap";
  CHECK_EQ(s_.list.last_prepared(), last) << "invariants/R8: the first prepare would leave a hole";
  phase_ = LearnerStatus::kWithPrepare;
  Proceed();
  return Verdict::kFine;
}

// A session that began after the doubted one brings everything. What this replica holds from before
// the session is of smaller ballots: a signature begins with the ballot that its primary had then.
bool Learner::MayHaveTakenPrepares(Decree from) const {
  if (doubted_ != 0 && signature_ > doubted_) return false;
  const Ballot began(signature_ >> 32);
  for (Decree d = from; d <= s_.list.last_prepared(); d = d + 1) {
    const std::optional<Ballot> ballot = s_.list.BallotOf(d);
    if (ballot && *ballot >= began) return true;
  }
  return false;
}

Learner::Verdict Learner::TakeLog(const LearnResponse& response) {
  // Only LT_CACHE begins prepares: between this piece and what is in memory there may be a gap.
  if (response.prepare_start_decree != kInvalidDecree)
    return Refuse("it begins to prepare with a piece of its log");
  if (!response.state.files.empty()) return TakeLogFiles(response);
  auto carried = ParseMutations(s_.options.pid, response.state.meta);
  if (!carried.ok()) return Refuse(absl::StrCat("mutations: ", carried.status().message()));
  const Decree through =
      std::min(response.state.to_decree_included, response.last_committed_decree);
  const Decree start = s_.last_applied + 1;
  const Decree from = response.kept_from.value_or(start);
  if (from > start || from < Decree(1))
    return Refuse(absl::StrCat("what is to be kept begins at decree ", from.value()));
  const std::vector<MutationPtr> mutations = NewestVersions(*carried, from, through);
  if (mutations.empty()) {
    RetryLater();
    return Verdict::kFine;
  }
  if (!IsHistory(mutations, s_.ballot)) return Refuse("a piece of its log whose ballots fall");
  if (!response.kept_from) {
    kept_through_.reset();
  } else {
    // Nothing of the former list is in the log any more.
    if (BeginKeeping(from, s_.last_applied)) s_.RestartList(s_.last_handed, Ballot(0));
    Keep(mutations);
  }
  const auto first = std::find_if(mutations.begin(), mutations.end(),
                                  [&](const MutationPtr& m) { return m->decree >= start; });
  if (first != mutations.end()) s_.HandOver({first, mutations.end()});
  secondary_.Restart(s_.last_handed);
  return Verdict::kFine;
}

bool Learner::BeginKeeping(Decree from, Decree applied) {
  if (kept_through_ == from - 1) return false;
  s_.MarkAsLearner();
  s_.effects.restart_log = RestartLog{.applied = applied, .behind = from - 1};
  kept_through_ = from - 1;
  return true;
}

void Learner::Keep(absl::Span<const MutationPtr> mutations) {
  for (const MutationPtr& m : mutations) {
    CHECK_EQ(m->decree, *kept_through_ + 1) << "a hole in what other clusters lack";
    s_.Log(m);
    kept_through_ = m->decree;
  }
}

Learner::Verdict Learner::TakeLogFiles(const LearnResponse& response) {
  const LogTerms terms{
      .applied = s_.last_applied,
      .through = std::min(response.state.to_decree_included, response.last_committed_decree),
      .ballot = response.config.ballot};
  if (terms.through <= terms.applied) {
    RetryLater();
    return Verdict::kFine;
  }
  kept_through_.reset();
  StartWork(LearnerWork::What::kCopyLog, response);
  s_.effects.learner_work->log = terms;
  return Verdict::kFine;
}

Learner::Verdict Learner::TakeCheckpoint(const LearnResponse& response) {
  const bool sane = response.prepare_start_decree == kInvalidDecree &&
                    !response.state.files.empty() &&
                    response.state.to_decree_included > s_.last_applied &&
                    response.state.to_decree_included <= response.last_committed_decree;
  if (!sane)
    return Refuse(absl::StrCat("a checkpoint of ", response.state.files.size(), " files at decree ",
                               response.state.to_decree_included.value(), " of ",
                               response.last_committed_decree.value()));
  StartWork(LearnerWork::What::kInstallCheckpoint, response);
  return Verdict::kFine;
}

Learner::Verdict Learner::OnWorkDone(const LearnerWorkDone& done) {
  if (done.serial != work_serial_ || !HasWork()) {
    ++s_.counters.stale_messages;
    return Verdict::kFine;
  }
  work_serial_ = 0;
  if (done.result == LearnerWorkDone::Result::kLocalFailed) {
    failure_ = done.why;
    return Verdict::kLocalFault;
  }
  if (work_ == LearnerWork::What::kCopyLog || work_ == LearnerWork::What::kReadLog)
    return OnLogWorkDone(done);
  if (done.result == LearnerWorkDone::Result::kRemoteFailed)
    return signature_ == 0 ? Verdict::kFine : Fail(done.why);
  if (work_ == LearnerWork::What::kFlush) {
    CHECK_GE(done.durable, Decree(0));
    s_.last_durable = std::max(s_.last_durable, std::min(done.durable, s_.last_applied));
    if (signature_ != 0 && s_.last_durable < gap_end_) RetryLater();
  } else {
    // The engine's content was replaced, whether the session goes on or not; the log is void.
    kept_through_.reset();
    vain_copies_ = 0;
    s_.JumpTo(done.applied);
    s_.last_durable = std::min(done.durable, done.applied);
    secondary_.Restart(done.applied);
  }
  Proceed();
  return Verdict::kFine;
}

Learner::Verdict Learner::OnLogWorkDone(const LearnerWorkDone& done) {
  has_files_ = false;
  if (signature_ == 0) return Verdict::kFine;
  CHECK(phase_ == LearnerStatus::kWithoutPrepare && !s_.AppliesPending());
  if (done.result == LearnerWorkDone::Result::kRemoteFailed) {
    if (++vain_copies_ > kVainCopiesMax) return Fail(done.why);
    RetryLater();
    return Verdict::kFine;
  }
  has_files_ = work_ == LearnerWork::What::kCopyLog || done.has_more;
  if (!done.learned.empty()) {
    vain_copies_ = 0;
    s_.HandOver(done.learned);
    secondary_.Restart(s_.last_handed);
  }
  Proceed();
  return Verdict::kFine;
}

Learner::Verdict Learner::OnCompletionAnswered(const LearnCompletionAnswered& answer) {
  if (signature_ == 0 || answer.signature != signature_ || phase_ != LearnerStatus::kSucceeded) {
    ++s_.counters.stale_messages;
    return Verdict::kFine;
  }
  // SendCompletion has set the time of the next report.
  if (answer.rpc != ErrorCode::kOk || IsNotReadyYet(answer.response.err)) return Verdict::kFine;
  if (answer.response.err != ErrorCode::kOk)
    return Fail(absl::StrCat("it answered ", Text(ErrorCodeName(answer.response.err))));
  if (answer.response.signature != signature_) return Fail("it answers another session");
  // The primary knows. Its next ballot, or its next group check, says how it went.
  retry_at_ = Instant::InfiniteFuture();
  return Verdict::kFine;
}

}  // namespace arion
