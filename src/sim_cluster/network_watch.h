// NetworkWatch: what passes between the nodes of a cluster, told to the checkers; and what a
// machine says that stood still with its clock, kept from them and from clients.
//
// Threads   One: the world's. Lifetime: what it is given outlives it; it outlives the last event of
//           the network.
// Promises  network_watch/N1  What a machine that stood still says to readers reaches nobody before
//               an answer to a beacon that it sent since: nothing inside it can tell the time it
//               missed.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "messages/replication_messages.h"
#include "sim/sim_transport.h"
#include "sim/sim_world.h"
#include "sim_cluster/full_disks.h"
#include "sim_cluster/run_checkers.h"

namespace arion::sim {

class ServerLives;

// A member of SimCluster. It hooks itself into the network when it is made and has nothing to call.
class NetworkWatch {
 public:
  NetworkWatch(SimWorld& world, SimNetwork& network, ServerLives& lives,
               const FullDisks& full_disks, RunCheckers& checkers);

 private:
  void NoteRequest(Endpoint from, Endpoint to, const OutboundRequest& request);
  void NotePrepare(Endpoint from, Endpoint to, const std::string& body);
  void NoteAnswer(Endpoint server, const OutboundRequest& request, ErrorCode error,
                  const std::string& body);
  void NoteProgress(const OutboundRequest& request, ErrorCode error, const std::string& body);
  void NoteBeacon(Endpoint caller, Instant sent, const RpcResult& result);
  // Of several meta servers only one grants leases.
  bool IsOfLeader(Instant sent, const RpcResult& result);
  bool IsWithheld(Endpoint endpoint, const OutboundRequest& request);

  struct DecodedPrepare {
    std::string body;
    PrepareRequest request;
  };

  SimWorld& world_;
  ServerLives& lives_;
  const FullDisks& full_disks_;
  RunCheckers& checkers_;
  DecodedPrepare last_prepare_;
};

}  // namespace arion::sim
