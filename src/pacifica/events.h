// Events: everything that can happen to a replica, as plain structs. ReplicaCore::Step takes one at
// a time.
//
// Shapes    Every call sent by an effect (effects.h) comes back as its ...Answered event exactly
//           once: with the answer, or with `rpc` = kTimeout, kNetworkFailure ... when there was
//           none. After a change of role late answers are recognised and ignored. A ReplyToken
//           names a peer's request that waits for an answer, a ClientToken a client's write; the
//           driver chooses them and they never repeat while pending.
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

// A write whose size, access and form the driver has already accepted. Answered by one ClientReply.
struct ClientWrite {
  ClientToken token = 0;
  // All go into one mutation: one of any code, or several puts and removes. Their code decides
  // whether they may share it with other requests.
  std::vector<Update> updates;
  int64_t received_at_us = 0;  // wall clock, for the mutation's timestamp only
};

// ---- this replica's own log and engine ----

// Append `sequence` (Effects::append) is durable, or failed for good (then the replica fences
// itself).
struct Logged {
  uint64_t sequence = 0;
  ErrorCode err = ErrorCode::kOk;
};
// The engine applied everything handed to it up to `decree`, in order; or failed at it.
struct Applied {
  Decree decree;
  ErrorCode err = ErrorCode::kOk;
};
// The engine alone would stand at `decree` after a crash (flushed or checkpointed). Never beyond
// what was Applied.
struct DurableAdvanced {
  Decree decree;
};
// A fault of this replica that the driver met elsewhere (checkpoint, damage found while reading):
// it ends in ERROR.
struct Fenced {
  std::string why;
};

// ---- prepares ----

struct PrepareReceived {
  ReplyToken token = 0;
  PrepareRequest request;
};
struct PrepareAcked {
  Endpoint from;
  uint64_t serial = 0;             // of the SendPrepare
  ErrorCode rpc = ErrorCode::kOk;  // not kOk: no answer, `ack` is empty
  PrepareAck ack;
};

// ---- group ----

struct GroupCheckReceived {
  ReplyToken token = 0;
  GroupCheckRequest request;
};
struct GroupCheckAnswered {
  Endpoint from;
  Ballot ballot;  // of the SendGroupCheck
  ErrorCode rpc = ErrorCode::kOk;
  GroupCheckResponse response;
};
struct AddLearnerReceived {  // one way
  GroupCheckRequest request;
};
struct RemoveReceived {  // one way
  ReplicaConfiguration config;
};

// ---- meta server ----

struct ProposalReceived {  // one way
  ConfigurationUpdateRequest request;
};
struct ConfigurationUpdateAnswered {
  uint64_t serial = 0;  // of the SendConfigurationUpdate
  ErrorCode rpc = ErrorCode::kOk;
  ConfigurationUpdateResponse response;
};
// What a config sync said about this partition.
struct ConfigurationSynced {
  ConfigurationUpdateRequest entry;
};
// What meta says the table is like now.
struct TableChanged {
  AppInfo app;
};
// A successful config sync, whose request listed this replica, did not name it. kNone: others need
// the open files of one that serves nobody.
struct MissingInSync {
  enum class Linger { kUsual, kNone } linger = Linger::kUsual;
};
// The meta server changes members again.
struct MetaThawed {};
// The failure detector: without a lease the replica is INACTIVE; Connected comes before the config
// sync that follows. A core starts disconnected.
struct LeaseLost {};
struct Connected {};

// ---- learning, at the primary ----

enum class LogCoverage { kCovered, kDropped };
struct LearnReceived {
  ReplyToken token = 0;
  LearnRequest request;
  // Whether the private log still holds every decree >= ReplicaCore::LearnStart(request).
  LogCoverage log_coverage = LogCoverage::kCovered;
};
// An answer that waited for the disk (ShipState) is on its way: a checkpoint at decree `through`, or
// the log up to it.
struct Shipped {
  ReplyToken token = 0;  // of the ShipState
  LearnType type = LearnType::kLog;
  Decree through;
};
struct LearnCompletionReceived {
  ReplyToken token = 0;
  GroupCheckResponse report;
};

// ---- learning, at the learner ----

struct LearnAnswered {
  uint64_t serial = 0;  // of the SendLearn
  ErrorCode rpc = ErrorCode::kOk;
  LearnResponse response;
};
// The driver ended LearnerWork `serial`.
struct LearnerWorkDone {
  enum class Result {
    kDone,          // the engine stands at `applied`, of which `durable` would survive a crash
    kRemoteFailed,  // the copy failed, or is damaged; the engine is as it was: learn anew
    kLocalFailed,   // the disk failed: ERROR
  };
  uint64_t serial = 0;
  Result result = Result::kDone;
  Decree applied;
  Decree durable;
  std::string why = {};  // it failed
  // kReadLog: the next piece, of consecutive decrees behind what is applied, and whether there is
  // another one.
  std::vector<MutationPtr> learned = {};
  bool has_more = false;
};
struct LearnCompletionAnswered {
  int64_t signature = 0;  // of the SendLearnCompletion
  ErrorCode rpc = ErrorCode::kOk;
  LearnNotifyResponse response;
};

// Time passed; due at NextWakeup().
struct Tick {};

using Event = std::variant<ClientWrite, Logged, Applied, DurableAdvanced, Fenced, PrepareReceived,
                           PrepareAcked, GroupCheckReceived, GroupCheckAnswered, AddLearnerReceived,
                           RemoveReceived, ProposalReceived, ConfigurationUpdateAnswered,
                           ConfigurationSynced, TableChanged, MissingInSync, MetaThawed, LeaseLost,
                           Connected, LearnReceived, Shipped, LearnCompletionReceived,
                           LearnAnswered, LearnerWorkDone, LearnCompletionAnswered, Tick>;

}  // namespace arion
