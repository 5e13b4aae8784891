// Effects: what ReplicaCore::Step asks of its driver, each list possibly empty.
//
// Order     1. `persist_ballot` and `persist_standing`: durable in .init-info before anything else
//              of the same Effects, *or of any later Step's*, is carried out. Later effects queue
//              behind them.
//           2. `restart_log`, durable as well.
//           3. Everything else, in any order: no promise rests on it. `append` and `apply` keep the
//              order of their elements, also across Steps.
// Messages  May be lost, repeated or reordered on their way. The core copes with all of it.
// Answers   Each effect that says "-> X" is answered by exactly one event X (events.h). What is in
//           `dropped` is never answered: the driver forgets the token and the caller's call times
//           out.
// Owners    Effects are values. The driver may move out of them; the core keeps no pointer into
//           them. Mutations are shared and immutable.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/time/time.h>

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "decrees/log_terms.h"
#include "pacifica/events.h"

namespace arion {

// Append to the private log -> Logged{sequence}, once it is durable or has failed for good.
// Sequences rise by one with each append of a core, and begin at 1.
struct LogAppend {
  uint64_t sequence = 0;
  MutationPtr mutation;
};

// Everything in the log so far is void, because the mutations up to `applied` came from the primary
// and did not pass through it. The driver does two things, in this order:
//   1. .init-info, durably: init_offset_in_private_log = the log's end, init_durable_decree =
//      `applied`. Both are kept in every later rewrite (also in one for a ballot) until the
//      engine's own durable decree has reached `applied`. The standing becomes kLearner in the same
//      write.
//   2. PrivateLog::StartAnew(behind).
// Appends of earlier Effects come before both, those of this and of later Effects after both.
struct RestartLog {
  Decree applied;
  // The first appends follow this decree: `applied`, or less, where a part of the history is logged
  // for other clusters only.
  Decree behind;
};

// ---- messages; `to` is a server's endpoint, `timeout` counts from the sending ----

// -> PrepareAcked. The serial is the core's; it comes back in the event.
struct SendPrepare {
  Endpoint to;
  uint64_t serial = 0;
  PrepareRequest request;
  absl::Duration timeout;
};
// -> GroupCheckAnswered, which names the node and the ballot of the request.
struct SendGroupCheck {
  Endpoint to;
  GroupCheckRequest request;
  absl::Duration timeout;
};
// An invitation to learn. One way: it is repeated by every group check.
struct SendAddLearner {
  Endpoint to;
  GroupCheckRequest request;
};
// Tells a former member that it was removed. One way: if it is lost, a config sync tells the same.
struct SendRemove {
  Endpoint to;
  ReplicaConfiguration config;
};
// -> LearnAnswered. The driver fills in request.max_gced_decree.
struct SendLearn {
  Endpoint to;
  uint64_t serial = 0;
  LearnRequest request;
  absl::Duration timeout;
};
// -> LearnCompletionAnswered.
struct SendLearnCompletion {
  Endpoint to;
  GroupCheckResponse report;
  absl::Duration timeout;
};
// To the meta server in charge -> ConfigurationUpdateAnswered. With serial 0 nobody waits for the
// answer, and the driver need not report it.
struct SendConfigurationUpdate {
  uint64_t serial = 0;
  ConfigurationUpdateRequest request;
  absl::Duration timeout;
};
using Envelope = std::variant<SendPrepare, SendGroupCheck, SendAddLearner, SendRemove, SendLearn,
                              SendLearnCompletion, SendConfigurationUpdate>;

// ---- answers ----

// The answer to a peer's request. `token` is the one that came with the request's event, and ends
// with this.
struct PeerReply {
  ReplyToken token = 0;
  std::variant<PrepareAck, GroupCheckResponse, LearnResponse, LearnNotifyResponse> body;
};

// The answer to a learner whose missing mutations are not in memory -> Shipped. The driver
// completes response.state (and base_local_dir) from the disk and sends it. If it fails it sends
// kGetLearnStateFailed instead, and reports nothing: nothing was shipped.
struct ShipState {
  enum class What {
    // Raw mutations in state.meta: what the private log proves to be committed from `first` on
    // (decrees/log_shipment.h). If it no longer holds `first`, a checkpoint instead.
    kLog,
    // The files of the newest checkpoint, of one made for this if none reaches `first`.
    kCheckpoint,
  };
  ReplyToken token = 0;
  What what = What::kLog;
  // The first decree that the learner lacks.
  Decree first;
  // The primary's committed point: nothing beyond it counts as committed.
  Decree committed;
  LearnResponse response;
};

// The end of a client's write. kOk: committed and applied here under `decree`. kTimeout: the
// outcome is unknown, the write may yet be committed. Anything else: nothing was written. Without
// kOk `decree` is kInvalidDecree.
struct ClientReply {
  ClientToken token = 0;
  ErrorCode err = ErrorCode::kOk;
  Decree decree;
};

// Work that a learner's driver does beside the strand -> LearnerWorkDone. At most one piece is
// under way.
struct LearnerWork {
  enum class What {
    // Copy response.state.files from response.learnee and make them the engine's content, in steps
    // that a crash anywhere survives. The standing becomes kLearner, durably, before the content
    // changes. The private log's old content must never be replayed over the new one: it is made
    // void.
    kInstallCheckpoint,
    // The engine's content is of a history that the group never committed: set it aside, start
    // empty at decree 0, make the log void. The standing becomes kLearner first, as above.
    kDiscard,
    // Make everything that was applied so far survive a crash.
    kFlush,
    // Copy the log files in response.state.files from response.learnee. Nothing that is held
    // changes.
    kCopyLog,
    // Read on in the files that kCopyLog brought, and give back the next piece of what counts
    // (decrees/learned_log.h). Asked for as long as LearnerWorkDone::has_more is true.
    kReadLog,
  };
  uint64_t serial = 0;
  What what = What::kFlush;
  // The primary's answer. Set for kInstallCheckpoint and kCopyLog only.
  LearnResponse response;
  // What may be taken from the log files. Set for kCopyLog only.
  LogTerms log;
};

// A change of role or ballot that has happened. For the text log and the metrics; it asks for
// nothing.
struct RoleChange {
  PartitionStatus from = PartitionStatus::kInactive;
  PartitionStatus to = PartitionStatus::kInactive;
  Ballot ballot;
  std::string why;
};

// What the replica's state is worth; kept in .init-info. A state is a learner's from the first that
// learning changes of it: a piece of log, a checkpoint, RestartLog. If the replica held nothing,
// from the invitation on. Such a state may lack what the group committed, whatever its ballots say.
// So after a crash the replica may only learn (RecoveredState::inactivity). It becomes a member's
// again when the replica becomes a member.
enum class Standing { kMember, kLearner };

// Everything one Step asks for. The order in which to carry it out is stated at the top of this
// file.
struct Effects {
  std::optional<Ballot> persist_ballot;
  std::optional<Standing> persist_standing;
  std::optional<RestartLog> restart_log;
  // Whether something must be durable before the rest may be carried out.
  bool HasFirstSteps() const { return persist_ballot || persist_standing || restart_log; }

  std::vector<LogAppend> append;
  // Committed mutations for the engine, of consecutive decrees -> Applied. One Applied may answer
  // several.
  std::vector<MutationPtr> apply;
  std::vector<Envelope> send;
  std::vector<PeerReply> replies;
  std::vector<ShipState> ship;
  std::vector<ReplyToken> dropped;
  std::vector<ClientReply> client_replies;
  std::optional<LearnerWork> learner_work;

  std::vector<RoleChange> role_changes;
  // The driver closes the replica. No event may follow kSetAside.
  enum class Close {
    kNo,
    // After a local fault: the directory is set aside.
    kSetAside,
    // The meta server does not want the replica any more. Its directory stays until the meta server
    // lists it as garbage.
    kForget,
  };
  Close close = Close::kNo;
  std::string close_why;
};

}  // namespace arion
