// DataWorkload: random operations of the whole data API through real clients, on hash keys that live
// shortly, each recorded in a DataHistory.
//
// Shapes   A few hash keys are in use at a time, each with the same few sort keys; one is replaced
//          after some tens of operations, so that its history can be checked by search. Now and
//          then a replaced one is read again. Threads: the world's.
// Lifetime World and history outlive it; it outlives the clients' callbacks.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "env/clock.h"
#include "sim_workloads/sim_client.h"

namespace arion::sim {

class DataHistory;
struct DataOperation;
class SimWorld;

// Bounds how long the history of one hash key gets, because the checker searches it.
struct DataWorkloadOptions {
  // Hash keys take turns.
  std::vector<std::string> tables;
  // In use at a time.
  int hash_keys = 3;
  // About.
  int operations_per_key = 40;
  // Of writes; 0 where wall clocks leap.
  double expiry_percent = 0;
  // Of values: JSON objects whose members are out of few values.
  double object_percent = 0;
};

// A member of Workload, which passes it the operations that its clients do not spend on registers
// and counters.
class DataWorkload {
 public:
  DataWorkload(SimWorld& world, DataHistory& history, DataWorkloadOptions options);

  using Done = absl::AnyInvocable<void(bool answered)>;
  // Draws one operation, sends it through `client` and records both ends of it. `done` gets true
  // where it was answered.
  void Operate(SimClient& client, Done done);
  // Every record of every hash key there ever was; `done` gets false if any read failed.
  void ReadAll(SimClient& client, Done done);
  // Of every hash key so far, with the table it is in.
  struct HashKey {
    std::string name;
    std::string table;
    int operations_left = 0;
    // Those of clients that died included.
    int writes_under_way = 0;
  };
  const std::vector<HashKey>& hash_keys() const { return hash_keys_; }

 private:
  // The index of a hash key in use. A key whose operations are used up, or that has too many writes
  // under way, is replaced by a new one first.
  size_t Pick();
  size_t NewHashKey();
  void ReplaceSoon(const std::string& hash_key);
  std::string AnySortKey();
  std::string NewValue();
  int32_t DrawExpiry(const Clock& clock);
  // A random operation of any kind. DrawExpiry and DrawCheck draw parts of it.
  DataOperation Draw(const Clock& clock);
  void DrawCheck(DataOperation* operation);
  // Records the operation as begun and sends it. The others below send one kind each; `index` is
  // the operation's place in the history.
  void Send(SimClient& client, const std::string& table, DataOperation operation, Done done);
  void SendWrite(SimClient& client, const std::string& table, size_t index, Done done);
  void SendIncr(SimClient& client, const std::string& table, size_t index,
                Callback<absl::Status> done);
  void SendCheck(SimClient& client, const std::string& table, size_t index,
                 Callback<absl::Status> done);
  void SendScan(SimClient& client, const std::string& table, size_t index,
                Callback<absl::Status> done);
  void SendRead(SimClient& client, const std::string& table, size_t index, Done done);
  // Ends operation `index`, and says whether it was answered.
  bool EndWrite(size_t index, const absl::Status& status);
  bool EndRead(size_t index, const absl::Status& status);

  SimWorld& world_;
  DataHistory& history_;
  const DataWorkloadOptions options_;
  std::vector<HashKey> hash_keys_;
  std::vector<size_t> in_use_;
  int64_t next_value_ = 1;
};

}  // namespace arion::sim
