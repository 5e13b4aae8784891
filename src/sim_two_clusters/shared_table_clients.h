// SharedTableClients: clients of one of two clusters that send their tables to each other. They write
// few records, the same as those of the other cluster: puts, removes, several at once, atomic
// operations.
//
// Threads   One: the world's. Lifetime: world and network outlive it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "sim/sim_transport.h"
#include "sim_workloads/sim_client.h"

namespace arion::sim {

// A member of ClusterPair, one for each cluster. What it wrote is seen where it is applied
// (sim_checkers/convergence_checker.h).
class SharedTableClients {
 public:
  SharedTableClients(SimWorld& world, SimNetwork& network, std::string name,
                     std::vector<std::string> tables);
  ~SharedTableClients();

  void Start();
  // What is under way goes on for as long as a client waits.
  void Stop() { is_stopped_ = true; }

 private:
  struct ClientNode {
    SimNode* node = nullptr;
    std::unique_ptr<SimTransport> transport;
    StrandPtr strand;
    std::unique_ptr<SimClient> client;
  };
  void Later(ClientNode& client);
  void Operate(ClientNode& client, Callback<absl::Status> done);

  SimWorld& world_;
  const std::string name_;
  const std::vector<std::string> tables_;
  bool is_stopped_ = false;
  std::vector<std::unique_ptr<ClientNode>> clients_;
  int64_t next_value_ = 1;
};

}  // namespace arion::sim
