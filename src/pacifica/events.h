// Events: everything that can happen to a replica, as plain structs. ReplicaCore::Step takes one at
// a time.
//
// Calls     Every call that an effect sends (effects.h) comes back as its ...Answered event,
//           exactly once: with the answer, or with `rpc` = kTimeout or kNetworkFailure when there
//           was none. An answer that comes after a change of role is recognised and ignored, so the
//           driver need not cancel calls.
// Tokens    A ReplyToken names a peer's request that waits for an answer, a ClientToken a client's
//           write. The driver chooses them. A token does not repeat while it is pending.
// Trust     Fields that came from another server may hold anything: what no correct peer sends is
//           refused and counted. What the driver itself reports (Logged, Applied, DurableAdvanced)
//           is believed, and a contradiction is a CHECK failure.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "base/error_code.h"
#include "base/ids.h"
#include "base/mutation.h"
#include "messages/configuration.h"
#include "messages/meta_messages.h"
#include "messages/replication_messages.h"

namespace arion {

using ReplyToken = uint64_t;
using ClientToken = uint64_t;

// ---- clients ----

// A write whose size, access and form the driver has already accepted -> one ClientReply, in this
// Step or a later one.
struct ClientWrite {
  ClientToken token = 0;
  // At least one. All of them go into one mutation: one update of any code, or several puts and
  // removes. The code of the first decides whether they may share the mutation with other requests.
  std::vector<Update> updates;
  // Wall clock in microseconds since 1970. Used for the mutation's timestamp only.
  int64_t received_at_us = 0;
};

// ---- this replica's own log and engine ----

// The append with this sequence is durable, or has failed for good. After a failure the replica
// ends in ERROR. A sequence that is not under way changes nothing.
struct Logged {
  uint64_t sequence = 0;
  ErrorCode err = ErrorCode::kOk;
};
// The engine has applied everything that it was handed up to `decree`, inclusive and in order; or
// it failed at `decree`, and the replica ends in ERROR. Never beyond what was handed over.
struct Applied {
  Decree decree;
  ErrorCode err = ErrorCode::kOk;
};
// After a crash the engine alone would stand at `decree`: it was flushed or checkpointed. Never
// beyond what was Applied.
struct DurableAdvanced {
  Decree decree;
};
// A fault of this replica that the driver met elsewhere: a checkpoint failed, or reading found
// damage. The replica ends in ERROR.
struct Fenced {
  std::string why;
};

// ---- prepares ----

// -> a PrepareAck, or the token is dropped.
struct PrepareReceived {
  ReplyToken token = 0;
  PrepareRequest request;
};
struct PrepareAcked {
  Endpoint from;
  // Of the SendPrepare that is answered.
  uint64_t serial = 0;
  // Not kOk: there was no answer, and `ack` is empty.
  ErrorCode rpc = ErrorCode::kOk;
  PrepareAck ack;
};

// ---- group ----

// -> a GroupCheckResponse, always in the same Step.
struct GroupCheckReceived {
  ReplyToken token = 0;
  GroupCheckRequest request;
};
struct GroupCheckAnswered {
  Endpoint from;
  // Of the SendGroupCheck. An answer of a former ballot is ignored.
  Ballot ballot;
  ErrorCode rpc = ErrorCode::kOk;
  GroupCheckResponse response;
};
// One way: the primary invites this replica to learn.
struct AddLearnerReceived {
  GroupCheckRequest request;
};
// One way: the primary says that this replica was removed.
struct RemoveReceived {
  ReplicaConfiguration config;
};

// ---- meta server ----

// One way. Ignored unless it is for the present configuration (pacifica/PROTOCOL.md 8.4).
struct ProposalReceived {
  ConfigurationUpdateRequest request;
};
struct ConfigurationUpdateAnswered {
  // Of the SendConfigurationUpdate. Any other serial is ignored.
  uint64_t serial = 0;
  ErrorCode rpc = ErrorCode::kOk;
  ConfigurationUpdateResponse response;
};
// What a config sync said about this partition.
struct ConfigurationSynced {
  ConfigurationUpdateRequest entry;
};
// The meta server's present description of the table. An older description than the known one is
// ignored.
struct TableChanged {
  AppInfo app;
};
// A successful config sync did not name this replica, although its request had listed it.
struct MissingInSync {
  enum class Linger {
    // An INACTIVE replica is kept for closed_linger.
    kUsual,
    // It is closed at once: other replicas need the open files of one that serves nobody.
    kNone,
  } linger = Linger::kUsual;
};
// The meta server changes members again, after it was freezed.
struct MetaThawed {};
// A primary's split of its partition, step by step (splits/partition_split.h). A larger ballot, or
// another role, ends it wherever it is.
struct SplitTurn {
  enum class What {
    // No new client writes, until kRelease or the end. What is under way goes on.
    kHold,
    // All that was prepared is committed: that is where the child begins. The members are told.
    // Nothing more is proposed until the end.
    kSeal,
    // Every member has the child's data: asks the meta server for it.
    kRegister,
    // The attempt ends; nothing was asked for.
    kRelease,
    // No split is wanted: asks for the next ballot, by which members see that the children they made
    // under this one are of no use.
    kForget,
  } what = What::kRelease;
};
// To a child that is not registered yet: what its parent, of the same ballot, committed behind what
// the child holds (splits/split_member.h). Mutations of the child's, of rising decrees, all
// committed.
struct ParentTail {
  Ballot ballot;
  std::vector<MutationPtr> mutations;
};
// From the failure detector. Without a lease a replica is INACTIVE.
struct LeaseLost {};
// The lease is held again. It comes before the config sync of that lease. A core begins
// disconnected.
struct Connected {};

// ---- learning, at the primary ----

enum class LogCoverage { kCovered, kDropped };
// -> a LearnResponse, at once or through Effects::ship.
struct LearnReceived {
  ReplyToken token = 0;
  LearnRequest request;
  // Whether the private log still holds every decree from ReplicaCore::LearnStart(request) on. The
  // driver asks the core for that decree and then the log.
  LogCoverage log_coverage = LogCoverage::kCovered;
  // The first decree that other clusters lack, where the log holds it and all behind it; nullopt:
  // it does not, or nobody lacks any.
  std::optional<Decree> kept_from;
};
// The answer of a ShipState was sent: a checkpoint at decree `through`, or the log up to it,
// inclusive.
struct Shipped {
  ReplyToken token = 0;
  LearnType type = LearnType::kLog;
  Decree through;
};
// A learner says that it has succeeded -> a LearnNotifyResponse in the same Step.
struct LearnCompletionReceived {
  ReplyToken token = 0;
  GroupCheckResponse report;
};

// ---- learning, at the learner ----

struct LearnAnswered {
  // Of the SendLearn. The answer of another round is ignored.
  uint64_t serial = 0;
  ErrorCode rpc = ErrorCode::kOk;
  LearnResponse response;
};
// The driver ended the LearnerWork with this serial. It reports every piece of work, also one whose
// session has ended meanwhile.
struct LearnerWorkDone {
  enum class Result {
    // The engine stands at `applied`, of which `durable` would survive a crash.
    kDone,
    // The copy failed or is damaged. The engine is as it was; the learner may ask again.
    kRemoteFailed,
    // The own disk failed: the replica ends in ERROR.
    kLocalFailed,
  };
  uint64_t serial = 0;
  Result result = Result::kDone;
  // Both for kDone, and not after kCopyLog or kReadLog, which change nothing.
  Decree applied;
  Decree durable;
  // What went wrong, for people. Empty for kDone.
  std::string why = {};
  // kReadLog only: the next piece, of consecutive decrees behind what is applied, and whether
  // another piece follows.
  std::vector<MutationPtr> learned = {};
  bool has_more = false;
};
struct LearnCompletionAnswered {
  // Of the SendLearnCompletion.
  int64_t signature = 0;
  ErrorCode rpc = ErrorCode::kOk;
  LearnNotifyResponse response;
};

// Time has passed: the driver sends it at NextWakeup(), or any time.
struct Tick {};

using Event =
    std::variant<ClientWrite, Logged, Applied, DurableAdvanced, Fenced, PrepareReceived,
                 PrepareAcked, GroupCheckReceived, GroupCheckAnswered, AddLearnerReceived,
                 RemoveReceived, ProposalReceived, ConfigurationUpdateAnswered, ConfigurationSynced,
                 TableChanged, MissingInSync, MetaThawed, SplitTurn, ParentTail, LeaseLost,
                 Connected, LearnReceived, Shipped, LearnCompletionReceived, LearnAnswered,
                 LearnerWorkDone, LearnCompletionAnswered, Tick>;

}  // namespace arion
