// Learner: how a replica without the group's history gets it from the primary, round by round
// (pacifica/PROTOCOL.md 9).
//
//   WithoutPrepare  rounds: a checkpoint (LT_APP), pieces of log (LT_LOG), or the log's files from
//                   an older version, until what is missing fits the primary's memory
//   WithPrepare     LT_CACHE came: the gap is closed, and prepares are taken like a secondary's.
//                   What the own log does not hold (it came by checkpoint or log, or the list has
//                   no room for it) is being flushed
//   Succeeded       everything survives a crash. The primary is told, and makes the replica a
//                   secondary
//
// Shapes    A session is named by the primary's signature, a round by its serial. At most one round
//           or one piece of work is under way. Log files are copied whole, then read piece by
//           piece: the next piece when the engine has the one before. A copy that brings nothing is
//           asked for anew within the session.
//           Where the table is duplicated to other clusters the log begins further back, with what
//           they lack (PROTOCOL.md 9.10): pieces of log, and LT_CACHE, are logged then.
// Errors    A session that ends here says why in failure(): whom it asked for what, and what came
//           of it. Answers that cannot be true are counted as odd and end the session.
// Threads   Strand-bound, as all of the core. Work runs elsewhere and reports back as an event.
// Promises  invariants/R10. The old log is void before the first mutation of the new history is
//           appended (RestartLog).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/types/span.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pacifica/replica_state.h"

namespace arion {

class Secondary;

// One object for the life of the core; sessions come and go. The references outlive it.
//
//   learner.OnInvitation(signature);   // sends a round
//   learner.OnAnswer(answered);        // takes what the primary gave, or starts work
//   learner.OnWorkDone(done);          // asks on
//   learner.Proceed();                 // at the end of each step of a POTENTIAL_SECONDARY
//   learner.Finish();                  // a configuration names the replica as secondary
class Learner {
 public:
  Learner(ReplicaState& state, Secondary& secondary) : s_(state), secondary_(secondary) {}

  // What the caller is to do with the replica.
  enum class Verdict {
    kFine,
    // The session ended: the replica becomes INACTIVE, removed, and may be invited again.
    kSessionFailed,
    // The own disk failed: ERROR.
    kLocalFault,
    // The primary has a larger ballot. Adopt it, then hand the same answer in again.
    kAdoptBallot,
  };

  // The primary wants this learner in session `signature`; it repeats that with every group check.
  // A signature of 0 is odd. A smaller one than the present session's is ignored, a larger one ends
  // that session, unless work of the driver is under way: then the next invitation does. Only while
  // POTENTIAL_SECONDARY.
  void OnInvitation(int64_t signature);
  // The answer to a round, or the lack of one. Answers of other rounds are counted as stale.
  Verdict OnAnswer(const LearnAnswered& answer);
  // The driver ended a piece of work. What it changed is taken over also if its session has ended.
  Verdict OnWorkDone(const LearnerWorkDone& done);
  // The primary's answer to the report that this learner has succeeded.
  Verdict OnCompletionAnswered(const LearnCompletionAnswered& answer);
  // Goes on if it can: sends a round, starts work, or reports again. After anything that moved the
  // watermarks, and when time has passed.
  void Proceed();
  // The role is lost, or the session has failed. Work of the driver that is under way still reports
  // back.
  void Abort();
  // Learning is over, the replica is a member.
  void Finish() { Abort(); }

  // Whether session `signature` ended here with a failure and nobody has invited this learner to it
  // again. A group check is then answered with an error, so that the primary ends the session, too.
  bool HasFailed(int64_t signature) const { return signature != 0 && signature == failed_; }

  // Why the last failed session failed; for people. Empty if none has.
  const std::string& failure() const { return failure_; }

  // kInvalid without a session.
  LearnerStatus phase() const { return phase_; }
  // 0 without a session.
  int64_t signature() const { return signature_; }
  // A piece of work is under way. It may be of a session that has ended.
  bool HasWork() const { return work_serial_ != 0; }
  // When the primary last said that it wants this learner.
  Instant invited_at() const { return invited_at_; }
  // When Proceed has something to do; InfiniteFuture if only events move the session.
  Instant NextWakeup() const { return retry_at_; }
  // What this replica says of itself in the answer to a group check, as learner or member.
  GroupCheckResponse Report() const;
  // CHECKs invariants/R10 and the shapes above. After every step.
  void Check() const;

 private:
  void SendRound();
  void SendCompletion();
  void StartWork(LearnerWork::What what, const LearnResponse& response);
  void RetryLater();
  Verdict Fail(std::string_view why);
  // Fails because of an answer that cannot be true.
  Verdict Refuse(std::string_view why);
  Verdict TakeCache(const LearnResponse& response);
  // The log goes on with `from`, or begins anew with it, for other clusters' sake. `applied`: what
  // the engine must hold by itself. True: anew.
  bool BeginKeeping(Decree from, Decree applied);
  void Keep(absl::Span<const MutationPtr> mutations);
  // Whether this replica may have acknowledged, in this session, a decree >= `from` that an older
  // version's primary will not send again.
  bool MayHaveTakenPrepares(Decree from) const;
  Verdict TakeLog(const LearnResponse& response);
  Verdict TakeLogFiles(const LearnResponse& response);
  Verdict OnLogWorkDone(const LearnerWorkDone& done);
  Verdict TakeCheckpoint(const LearnResponse& response);

  ReplicaState& s_;
  Secondary& secondary_;
  // The present session, and the one that failed last. 0: none.
  int64_t signature_ = 0;
  int64_t failed_ = 0;
  // The session in which the list, as it is, may have been filled by prepares. 0: none.
  int64_t doubted_ = 0;
  Instant invited_at_;
  LearnerStatus phase_ = LearnerStatus::kInvalid;
  // Of the round that waits for its answer. 0: none.
  uint64_t round_serial_ = 0;
  // Of the driver's work under way; it outlives the session. 0: none.
  uint64_t work_serial_ = 0;
  LearnerWork::What work_ = LearnerWork::What::kFlush;
  // Rounds without an answer, in a row.
  int lost_rounds_ = 0;
  // Copies of log files that brought nothing, since something was learned.
  int vain_copies_ = 0;
  // Files of the primary's log are here, and not read to their end.
  bool has_files_ = false;
  // The log was begun for what other clusters lack, and has all of it up to here.
  std::optional<Decree> kept_through_;
  // WithPrepare: the engine must flush up to here, inclusive, because the log holds only what lies
  // behind.
  Decree gap_end_;
  // WithPrepare: the first decree that comes as a prepare.
  Decree prepare_start_;
  Instant retry_at_ = Instant::InfiniteFuture();
  // Whom it asked last, and for what. For failure().
  std::string asked_;
  std::string failure_;
};

}  // namespace arion
