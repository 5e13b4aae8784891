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

#include "sim/sim_world.h"
#include "sim_checkers/data_history.h"
#include "sim_workloads/sim_client.h"

namespace arion::sim {

struct DataWorkloadOptions {
  std::vector<std::string> tables;  // hash keys take turns
  int hash_keys = 3;                // in use at a time
  int operations_per_key = 40;      // about
  double expiry_percent = 0;        // of writes; 0 where wall clocks leap
};

class DataWorkload {
 public:
  DataWorkload(SimWorld& world, DataHistory& history, DataWorkloadOptions options);

  using Done = absl::AnyInvocable<void(bool answered)>;
  void Operate(SimClient& client, Done done);
  // Every record of every hash key there ever was; `done` gets false if any read failed.
  void ReadAll(SimClient& client, Done done);
  // Of every hash key so far, with the table it is in.
  struct HashKey {
    std::string name;
    std::string table;
    int operations_left = 0;
    int writes_under_way = 0;  // those of clients that died included
  };
  const std::vector<HashKey>& hash_keys() const { return hash_keys_; }

 private:
  size_t Pick();
  size_t NewHashKey();
  void ReplaceSoon(const std::string& hash_key);
  std::string AnySortKey();
  std::string NewValue();
  int32_t DrawExpiry(const Clock& clock);
  DataOperation Draw(const Clock& clock);
  void DrawCheck(DataOperation* operation);
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
