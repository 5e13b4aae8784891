// Workload: clients that write and read a few keys and ask all else the data API has, through the
// real client, each on a node of its own; and a prober that asks servers a client would not ask.
// Everything they did is in the two histories.
//
// Shapes   Each client has several loops: think, operate, note the outcome. Now and then a client
//          is born again and knows no routes. Values are distinct. Threads: the world's.
// Lifetime World, network and histories outlive it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "sim/sim_transport.h"
#include "sim_checkers/data_history.h"
#include "sim_workloads/data_workload.h"
#include "sim_workloads/sim_client.h"
#include "sim_workloads/workload_table.h"

namespace arion::sim {

class History;
class ProbeClient;
class SimEnvironment;
class SimNode;

// A record that is a register of the history, under a name that tells its table from another of the
// same name.
struct Register {
  std::string table;
  std::string hash_key;
  std::string name;
  int ttl_seconds = 0;
  // To a server with a wrong clock: that it is not there tells nothing.
  bool may_seem_expired = false;
};
// Write or read one register through `client`, and record what was asked and answered. `done` gets
// true where the operation was answered OK.
void WriteRegister(SimWorld& world, History& history, SimClient& client, const Register& record,
                   std::string value, absl::AnyInvocable<void(bool ok)> done);
void ReadRegister(SimWorld& world, History& history, SimClient& client, const Register& record,
                  absl::AnyInvocable<void(bool ok)> done);

// What clients do and how much of it. Percentages are of operations, 0 to 100.
struct WorkloadOptions {
  // Keys take turns.
  std::vector<WorkloadTable> tables;
  std::vector<Endpoint> meta_servers;
  std::vector<Endpoint> servers;
  int clients = 3;
  // Per client.
  int loops = 2;
  int keys = 6;
  // Of registers, that pass for no clock that is right; 0: none.
  int ttl_seconds = 0;
  // Values are padded up to this, each to its own length.
  size_t value_bytes_max = 0;
  double write_percent = 50;
  int counters = 2;
  double increment_percent = 15;
  // Of what clients do: the whole data API (data_workload.h).
  double data_percent = 30;
  // As DataWorkloadOptions.
  double expiry_percent = 0;
  double object_percent = 0;
  absl::Duration think_max = absl::Milliseconds(200);
  // Of each 20 s: thinking takes a tenth of that.
  double hurry_percent = 0;
  absl::Duration timeout = absl::Seconds(4);
};

// One for a run, made by SimCluster. Start begins the loops; Stop lets what is under way end, and
// IsQuiet tells when it has. Verify comes last, when faults are over: it shows that the cluster
// takes writes again everywhere and that nothing is lost.
class Workload {
 public:
  Workload(SimWorld& world, SimNetwork& network, History& history, DataHistory& data_history,
           WorkloadOptions options);
  ~Workload();

  void Start();
  // No new operations; those under way go on.
  void Stop() { is_running_ = false; }
  bool IsQuiet() const { return under_way_ == 0; }
  // Reads and writes each key, increments each counter, reads all data and writes to each partition
  // through a fresh client, all clocks being right by then; `done` gets false if any was not OK.
  void Verify(absl::AnyInvocable<void(bool)> done);
  DataWorkload& data() { return data_; }

 private:
  std::vector<std::string> Keys() const;
  Register RegisterOf(const std::string& key) const;
  static std::string RawKey(const std::string& key);
  const WorkloadTable& TableOf(const std::string& key) const;

  // A client and the node that it lives on. Its strand, transport and client are made anew with
  // each life.
  struct ClientNode {
    SimNode* node = nullptr;
    Endpoint endpoint;
    int lives = 0;
    SimEnvironment* environment = nullptr;
    std::unique_ptr<SimTransport> transport;
    StrandPtr strand;
    std::unique_ptr<SimClient> client;
    std::unique_ptr<ProbeClient> probe;
    // Indices in the history.
    std::vector<size_t> writes_under_way;
    int64_t operations_under_way = 0;
  };
  // A life begins; End drops its client, so what was under way stays undecided in the history.
  void Begin(ClientNode& client);
  void End(ClientNode& client);
  // One loop of a client: waits, operates, and begins again. Operate draws what to do; Probe is
  // what the prober does instead.
  void Loop(ClientNode& client);
  void Operate(ClientNode& client);
  void Probe(ClientNode& client);
  void Done(ClientNode& client);
  void Write(ClientNode& client, const std::string& key, absl::AnyInvocable<void(bool ok)> done);
  void Read(ClientNode& client, const std::string& key, absl::AnyInvocable<void(bool ok)> done);
  void Increment(ClientNode& client, const std::string& counter,
                 absl::AnyInvocable<void(bool ok)> done);
  std::vector<std::string> Counters() const;
  std::string NewValue(const ClientNode& client);

  SimWorld& world_;
  SimNetwork& network_;
  History& history_;
  WorkloadOptions options_;
  // The last one is the prober.
  std::vector<std::unique_ptr<ClientNode>> clients_;
  bool is_running_ = false;
  bool are_clocks_right_ = false;
  int64_t under_way_ = 0;
  int64_t next_value_ = 1;
  DataWorkload data_;
};

}  // namespace arion::sim
