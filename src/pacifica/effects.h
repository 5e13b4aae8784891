// Effects: what ReplicaCore::Step asks of its driver, each list possibly empty.
//
// Shapes    First `persist_ballot`: durable in .init-info before anything else of the same Effects
//           *or of any later Step's* is carried out (effects queue behind it, in order). Then
//           `restart_log`. Then everything else, in any order: no promise rests on it, except that
//           `append` and `apply` keep the order of their elements across Steps. A message may be
//           lost, repeated or reordered. What is in `dropped` is never answered: forget the token.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/time/time.h>

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "decrees/learned_log.h"
#include "pacifica/events.h"

namespace arion {

// Append to the private log; answer with Logged{sequence} once durable. Sequences ascend by one.
struct LogAppend {
  uint64_t sequence = 0;
  MutationPtr mutation;
};

// The log so far is void, because the mutations up to `applied` came from the primary and not
// through it. Durable first: .init-info with init_offset_in_private_log = the log's end and
// init_durable_decree = applied, kept through every later rewrite (of the ballot too) until the
// engine's own durable decree has reached it. The standing becomes kLearner with it. Then
// PrivateLog::StartAnew(applied). Appends of earlier Effects come before, those of this and later
// ones after.
struct RestartLog {
  Decree applied;
};

// ---- messages; `to` is a server's endpoint ----

struct SendPrepare {  // -> PrepareAcked
  Endpoint to;
  uint64_t serial = 0;
  PrepareRequest request;
  absl::Duration timeout;
};
struct SendGroupCheck {  // -> GroupCheckAnswered
  Endpoint to;
  GroupCheckRequest request;
  absl::Duration timeout;
};
struct SendAddLearner {  // one way
  Endpoint to;
  GroupCheckRequest request;
};
struct SendRemove {  // one way
  Endpoint to;
  ReplicaConfiguration config;
};
struct SendLearn {  // -> LearnAnswered
  Endpoint to;
  uint64_t serial = 0;
  LearnRequest request;  // max_gced_decree is left to the driver
  absl::Duration timeout;
};
struct SendLearnCompletion {  // -> LearnCompletionAnswered
  Endpoint to;
  GroupCheckResponse report;
  absl::Duration timeout;
};
// To the meta server in charge -> ConfigurationUpdateAnswered. `serial` 0: fire and forget, nobody
// waits for the answer.
struct SendConfigurationUpdate {
  uint64_t serial = 0;
  ConfigurationUpdateRequest request;
  absl::Duration timeout;
};
using Envelope = std::variant<SendPrepare, SendGroupCheck, SendAddLearner, SendRemove, SendLearn,
                              SendLearnCompletion, SendConfigurationUpdate>;

// ---- answers ----

struct PeerReply {
  ReplyToken token = 0;
  std::variant<PrepareAck, GroupCheckResponse, LearnResponse, LearnNotifyResponse> body;
};

// To a learner whose missing mutations aren't in memory: complete response.state (and
// base_local_dir) from the disk and send it. kLog: raw mutations in state.meta, by MakeLogShipment
// (log_shipment.h) over PrivateLog::ReadFrom(first). kCheckpoint, or a log without `first`: a newest
// checkpoint's files, made if none reaches `first`. Then Shipped. On failure: err =
// kGetLearnStateFailed, and nothing was shipped.
struct ShipState {
  enum class What { kLog, kCheckpoint };
  ReplyToken token = 0;
  What what = What::kLog;
  Decree first;      // the learner has everything below
  Decree committed;  // nothing beyond counts as committed
  LearnResponse response;
};

// kOk: committed and applied under `decree`. kTimeout: the outcome is unknown. Anything else:
// nothing was written.
struct ClientReply {
  ClientToken token = 0;
  ErrorCode err = ErrorCode::kOk;
  Decree decree;
};

// ---- work of a learner, one at a time, answered by LearnerWorkDone ----

struct LearnerWork {
  enum class What {
    // Of these two the standing becomes kLearner, durable before the content changes.
    kInstallCheckpoint,  // copy response.state.files from response.learnee, make them the engine's
                         // content (in steps that a crash anywhere survives; the private log's old
                         // content must not be replayed over it: void it)
    kDiscard,  // the engine's content is from a lost history: set it aside, start empty at decree
               // 0, void the log
    kFlush,    // make everything applied so far survive a crash
    // Two steps of LT_LOG with files; neither changes what is held. First: copy
    // response.state.files from response.learnee. Then, while LearnerWorkDone::has_more: read on
    // in them, the next piece of what counts (learned_log.h).
    kCopyLog,
    kReadLog,
  };
  uint64_t serial = 0;
  What what = What::kFlush;
  LearnResponse response;  // kInstallCheckpoint and kCopyLog only
  LogTerms log;            // kCopyLog only
};

struct RoleChange {
  PartitionStatus from = PartitionStatus::kInactive;
  PartitionStatus to = PartitionStatus::kInactive;
  Ballot ballot;
  std::string why;
};

// What the replica's state is worth, kept in .init-info. From the first that learning changes of it
// (a piece of log, a checkpoint, RestartLog; the invitation, if it held nothing) it is a learner's:
// it may lack what the group committed, whatever its ballots say; after a crash such a replica may
// only learn (RecoveredState::inactivity).
enum class Standing { kMember, kLearner };

struct Effects {
  std::optional<Ballot> persist_ballot;
  std::optional<Standing> persist_standing;  // together with persist_ballot, by the same rule
  std::optional<RestartLog> restart_log;
  // The steps above come before all others, and wait for the disk.
  bool HasFirstSteps() const { return persist_ballot || persist_standing || restart_log; }

  std::vector<LogAppend> append;
  std::vector<MutationPtr>
      apply;  // consecutive decrees; answered by Applied (one for several may be enough)
  std::vector<Envelope> send;
  std::vector<PeerReply> replies;
  std::vector<ShipState> ship;
  std::vector<ReplyToken> dropped;
  std::vector<ClientReply> client_replies;
  std::optional<LearnerWork> learner_work;

  std::vector<RoleChange> role_changes;  // for the log
  // The replica shall be closed: kSetAside after a local fault (no event may follow), kForget when
  // meta does not want it any more (the directory stays until meta lists it as garbage).
  enum class Close { kNo, kSetAside, kForget };
  Close close = Close::kNo;
  std::string close_why;
};

}  // namespace arion
