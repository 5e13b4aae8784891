// RequestRouter sends each request that arrives to the replica it is for, on that replica's
// strand.
//
// Errors    Clients: kHandlerNotFound (unknown code, app id <= 0), kObjectNotFound (not here),
//           kInvalidState (not ready), kBusy (what came before it waits too long for its turn).
//           What doesn't decode: kInvalidData. CLEAR_SCANNER is never answered, and neither is what
//           arrives for nobody: a deadline counts from here, and only where the client's timeout is
//           known to be real.
// Threads   Thread-safe: Handle runs on the event loops; it takes no lock but the table's for a
//           look-up.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string_view>

#include "messages/meta_messages.h"
#include "replica/replica_host.h"
#include "replica_server/config_sync.h"

namespace arion {

class Replica;
class ReplicaTable;

// One for a server, made by Start. Each request that it takes is answered by it, or by the replica.
class RequestRouter : public std::enable_shared_from_this<RequestRouter> {
 public:
  RequestRouter(std::shared_ptr<const ReplicaHost> host, StrandPtr server_strand,
                std::shared_ptr<ReplicaTable> table, std::shared_ptr<ConfigSync> sync);

  void Handle(InboundRequest request);
  // From now on everything is answered kInvalidState.
  void Stop() { is_stopped_.store(true, std::memory_order_release); }

 private:
  // Each takes the requests of one kind: clients' reads and writes, the protocol's messages, copies
  // of files and comparisons. True: it took this one over. False: the request is as it was.
  bool RouteData(InboundRequest& request);
  bool RouteProtocol(InboundRequest& request);
  bool RouteCopies(InboundRequest& request);
  // The number of the data directory that holds `path`; jobs for a file run in that disk's pool.
  size_t DiskOf(std::string_view path) const;
  void ClearScanner(InboundRequest request);
  void Prepare(InboundRequest request);
  void GroupCheck(InboundRequest request);
  void AddLearner(InboundRequest request);
  void Learn(InboundRequest request);
  void LearnCompletion(InboundRequest request);
  void CountContent(InboundRequest request);
  void AskForSplitStep(InboundRequest request);
  void VerifyReplicas(InboundRequest request);
  void Remove(InboundRequest request);
  void Propose(InboundRequest request);
  void ChangeTable(InboundRequest request);
  template <class Request>
  void TellRecoveringMeta(void (ConfigSync::*tell)(Responder), InboundRequest request);
  void ProposeToAbsent(const ConfigurationUpdateRequest& proposal);
  void OpenForLearning(GroupCheckRequest request);
  // What keeps this server from a copy of such a table; nullopt: nothing does.
  std::optional<Obstacle> ObstacleTo(const AppInfo& table) const;
  // A primary asks for a learner that is not open.
  void CheckAbsentLearner(GroupCheckRequest check, ErrorCode why, Responder responder);
  // The open replica, or nullptr and the error that says why not.
  std::shared_ptr<Replica> FindOpen(PartitionId pid, ErrorCode* why) const;

  std::shared_ptr<const ReplicaHost> host_;
  StrandPtr server_strand_;
  std::shared_ptr<ReplicaTable> table_;
  std::shared_ptr<ConfigSync> sync_;
  std::atomic<bool> is_stopped_{false};
};

}  // namespace arion
