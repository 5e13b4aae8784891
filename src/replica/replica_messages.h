// ReplicaMessages: what one replica says to other servers, and what it answers those that asked it.
//
// Shapes    An answer comes back as an event to `step`; no answer is an event, too. Who asked waits
//           by a token until it is answered, given up or refused.
// Threads   Strand-bound.
// Lifetime  A part of a replica, beside what it is given, which outlives it. An answer that comes
//           after its owner went is dropped.
// Promises  replica_messages/M1  Each kept request is answered once, or given up by the core.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/functional/any_invocable.h>
#include <absl/time/time.h>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "env/strand.h"
#include "pacifica/effects.h"
#include "pacifica/events.h"
#include "replica/replica_host.h"
#include "rpc/transport.h"
#include "stats/request_stats.h"

namespace arion {

class Engine;
class PrivateLog;
class ReplicaOffice;

// Send for each envelope of the core; Keep when another server asks, until it has its answer.
class ReplicaMessages {
 public:
  // How the messages reach the rest of the replica. `owner`: alive as long as the replica is.
  // `step`: gives the core an event.
  struct Hooks {
    std::function<std::weak_ptr<void>()> owner;
    std::function<void(const Event&)> step;
    // Up to which decree other clusters have what is duplicated to them, if that is known.
    std::function<std::optional<Decree>()> duplicated;
  };
  // `disk` of the data, `log_disk` of the log; `engine` and `log`: the owner's.
  ReplicaMessages(std::shared_ptr<const ReplicaHost> host, StrandPtr strand, PartitionId pid,
                  size_t disk, size_t log_disk, ReplicaOffice& office,
                  std::shared_ptr<RequestStats> stats, const std::shared_ptr<Engine>& engine,
                  const std::shared_ptr<PrivateLog>& log, Hooks hooks);

  // Sends one message of the core; its answer becomes an event.
  void Send(Envelope envelope);
  using OnResult = absl::AnyInvocable<void(RpcResult)>;
  // Sends any request. `on_result` runs on the strand, once, unless the owner is gone by then.
  void Call(Endpoint to, const char* name, std::string body, absl::Duration timeout,
            OnResult on_result);

  // Keeps a request of another server until Answer, Take or GiveUp.
  void Keep(ReplyToken token, Responder responder) {
    asked_.emplace_hint(asked_.end(), token, std::move(responder));
  }
  // Answers a kept request. Nothing happens if it was given up.
  void Answer(const PeerReply& reply);
  // Gives a kept request to a caller that answers it by itself. nullopt: it was given up or
  // answered.
  std::optional<Responder> Take(ReplyToken token);
  void GiveUp(ReplyToken token) { asked_.erase(token); }
  // Answers all kept requests with kInvalidState.
  void Refuse();

 private:
  void SendMessage(SendPrepare& m);
  void SendMessage(SendGroupCheck& m);
  void SendMessage(SendAddLearner& m);
  void SendMessage(SendRemove& m);
  void SendMessage(SendLearn& m);
  void SendMessage(SendLearnCompletion& m);
  void SendMessage(SendConfigurationUpdate& m);
  void NoteLearned(const LearnResponse& response);
  template <class T>
  std::string Wrapped(const T& value) const;
  ReplicaFigures& figures() { return stats_->figures(); }

  const std::shared_ptr<const ReplicaHost> host_;
  const StrandPtr strand_;
  const PartitionId pid_;
  const size_t disk_;
  const size_t log_disk_;
  ReplicaOffice& office_;
  const std::shared_ptr<RequestStats> stats_;
  const std::shared_ptr<Engine>& engine_;
  const std::shared_ptr<PrivateLog>& log_;
  const Hooks hooks_;
  std::map<ReplyToken, Responder> asked_;
};

}  // namespace arion
