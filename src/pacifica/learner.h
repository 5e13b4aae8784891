// Learner: how a replica without the group's history gets it from the primary, round by round
// (pacifica/PROTOCOL.md 9).
//
//   WithoutPrepare  rounds: a checkpoint (LT_APP), pieces of log (LT_LOG), or its files from an
//                   older version, until the gap fits the primary's memory
//   WithPrepare     LT_CACHE came: the gap is closed, prepares are taken like a secondary's; what
//                   came by checkpoint or log, or is more than the list has room for, is being
//                   flushed, for the own log does not hold it
//   Succeeded       everything survives a crash; reported to the primary, which makes the replica a
//                   secondary
//
// Shapes    A session is named by the primary's signature; a round by its serial. One round or one
//           piece of work at a time.
//           Log files are copied whole, then read piece by piece: the next one when the engine has
//           the one before. A copy that is in vain is asked for anew within the session.
// Errors    A session that ends says why in failure(): whom it asked for what, and what came of it.
// Promises  The old log is void before the first mutation of the new history is appended
//           (RestartLog).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "pacifica/replica_state.h"
#include "pacifica/secondary.h"

namespace arion {

class Learner {
 public:
  Learner(ReplicaState& state, Secondary& secondary) : s_(state), secondary_(secondary) {}

  enum class Verdict {
    kFine,
    kSessionFailed,  // the replica leaves: INACTIVE, to be invited again
    kLocalFault,     // the own disk failed: ERROR
    kAdoptBallot,    // the primary has a larger ballot: adopt it, then hand the answer in again
  };

  // The primary wants this learner in session `signature` (it repeats itself with every group
  // check).
  void OnInvitation(int64_t signature);
  Verdict OnAnswer(const LearnAnswered& answer);
  Verdict OnWorkDone(const LearnerWorkDone& done);
  Verdict OnCompletionAnswered(const LearnCompletionAnswered& answer);
  // After anything that moved the watermarks, and when time passed.
  void Proceed();
  // The role is lost. Work of the driver that is under way still reports back.
  void Abort();
  // Learning is over, the replica is a member.
  void Finish() { Abort(); }

  // The session ended here with a failure, and nobody invited this learner to it again. Its primary
  // is to hear of it: a group check does not go on with it.
  bool HasFailed(int64_t signature) const { return signature != 0 && signature == failed_; }

  // Of the last session that failed; for the log.
  const std::string& failure() const { return failure_; }

  LearnerStatus phase() const { return phase_; }
  int64_t signature() const { return signature_; }
  bool HasWork() const { return work_serial_ != 0; }
  // When the primary last said that it wants this learner; it does so with every group check.
  Instant invited_at() const { return invited_at_; }
  Instant NextWakeup() const { return retry_at_; }
  GroupCheckResponse Report() const;
  void Check() const;  // invariants/R10, and the shapes above

 private:
  void SendRound();
  void SendCompletion();
  void StartWork(LearnerWork::What what, const LearnResponse& response);
  void RetryLater();
  Verdict Fail(std::string_view why);
  Verdict Refuse(std::string_view why);  // of an answer that can't be true
  Verdict TakeCache(const LearnResponse& response);
  // What an older version's primary prepared in this session already, and does not again.
  bool MayHaveTakenPrepares(Decree from) const;
  Verdict TakeLog(const LearnResponse& response);
  Verdict TakeLogFiles(const LearnResponse& response);
  Verdict OnLogWorkDone(const LearnerWorkDone& done);
  Verdict TakeCheckpoint(const LearnResponse& response);

  ReplicaState& s_;
  Secondary& secondary_;
  int64_t signature_ = 0;  // 0: no session
  int64_t failed_ = 0;     // the session that failed last
  int64_t doubted_ = 0;    // of the list as it is: it may have been filled in this session
  Instant invited_at_;
  LearnerStatus phase_ = LearnerStatus::kInvalid;
  uint64_t round_serial_ = 0;  // of the round that waits for its answer
  uint64_t work_serial_ = 0;   // of the driver's work under way; outlives the session
  LearnerWork::What work_ = LearnerWork::What::kFlush;
  int lost_rounds_ = 0;
  int vain_copies_ = 0;     // of log files, since something was learned
  bool has_files_ = false;  // of the primary's log, not read to their end
  Decree
      gap_end_;  // WithPrepare: the log holds everything behind, the engine must flush up to here
  Decree prepare_start_;
  Instant retry_at_ = Instant::InfiniteFuture();
  std::string asked_;  // the primary, and what for
  std::string failure_;
};

}  // namespace arion
