// IndexWorkload: an administrator who gives tables indexes, takes them away, has them built anew and
// pauses them; and a client that asks each partition by them. What it was told is in the histories.
//
// Shapes   Much is written around a change. Each name is for one definition, whatever its
//          generation. A FIND's answer is noted as a read of each hash key of the data workload that
//          lies in the partition, however far it has been split, or is among its rows; and of each
//          register that is.
// Threads  The world's. Lifetime: what it is given outlives it.
// Promises index_workload/I1  Once all troubles are over, Verify shows that each index becomes whole
//              at each primary and holds then exactly what the table holds, no key at two of them.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "messages/index_definition.h"
#include "messages/index_messages.h"
#include "sim/sim_environment.h"
#include "sim/sim_random.h"
#include "sim/sim_transport.h"
#include "sim_checkers/checkers.h"
#include "sim_checkers/coverage.h"
#include "sim_checkers/find_model.h"
#include "sim_workloads/sim_client.h"
#include "sim_workloads/workload_table.h"

namespace arion::sim {

class DataHistory;
class DataWorkload;
class History;

// What a run's tables are indexed by; dice of its own.
struct IndexPlan {
  uint64_t seed = 0;
  // None: the run has no indexes.
  std::vector<NamedIndex> indexes;
  bool are_set_at_creation = false;

  static IndexPlan Draw(uint64_t seed, int indexes);
  std::map<std::string, std::string> Environments() const;
};

// One for a run, with a node of its own.
class IndexWorkload {
 public:
  IndexWorkload(SimWorld& world, SimNetwork& network, History& history, DataHistory& data_history,
                DataWorkload& data, Coverage& coverage, std::vector<Endpoint> metas, IndexPlan plan,
                std::vector<WorkloadTable> tables);
  ~IndexWorkload();

  void Start();
  void Stop() { is_running_ = false; }
  // Of a cluster without trouble, and after Stop: sets all indexes, waits for them, and compares.
  // `partition_counts`: each table's, no longer split. `done` gets what is wrong; empty: nothing.
  void Verify(absl::Duration limit, std::vector<int32_t> partition_counts,
              absl::AnyInvocable<void(std::string)> done);
  const Violations& violations() const { return violations_; }

 private:
  struct Index {
    size_t table = 0;
    NamedIndex named;
    bool is_set = false;
  };
  // A FIND, page by page.
  struct Find {
    size_t table = 0;
    // The one asked of the most that the table may be split into: whoever owns its keys answers.
    int32_t partition = 0;
    FindPage page;
    int pages_left = 0;
    Instant invoked;
  };
  using Answered = absl::AnyInvocable<void(absl::StatusOr<FindResponse>)>;
  struct Verification;
  using VerificationPtr = std::shared_ptr<Verification>;

  void After(absl::Duration pause, absl::AnyInvocable<void()> task);
  // The administrator's loop.
  void ChangeLater();
  void Change();
  void WriteAtOnce();
  void Update(const Index& index, absl::AnyInvocable<void(bool ok)> done);
  // The client's loops.
  void FindLater();
  void Ask(Find find);
  void Call(const Find& find, Answered done);
  Find DrawFind();
  void DrawBounds(FindRequest* request, const IndexDefinition& definition);
  // Of an answer that has rows.
  void Note(const Find& find, const FindResponse& response);
  void NoteHashKeys(const Find& find, const FindResponse& response);
  // Verify's steps, for one index at one partition after the other.
  void SetAll(const VerificationPtr& verification, size_t index);
  void VerifyNext(const VerificationPtr& verification);
  using Records = std::map<std::string, std::string>;
  void ReadRecords(const VerificationPtr& verification, Records Verification::*records,
                   absl::AnyInvocable<void()> then);
  void ReadBatches(const VerificationPtr& verification, Records Verification::*records,
                   std::shared_ptr<AsyncScan> scan, absl::AnyInvocable<void()> then);
  void ReadIndex(const VerificationPtr& verification);
  void Compare(const VerificationPtr& verification);
  void AgainOrEnd(const VerificationPtr& verification, std::string why);

  SimWorld& world_;
  History& history_;
  DataHistory& data_history_;
  DataWorkload& data_;
  Coverage& coverage_;
  const IndexPlan plan_;
  const std::vector<WorkloadTable> tables_;
  SimRandom random_;
  SimNode* node_;
  SimEnvironment* environment_;
  std::unique_ptr<SimTransport> transport_;
  StrandPtr strand_;
  std::unique_ptr<SimClient> client_;
  std::vector<Index> indexes_;
  bool is_running_ = false;
  // How often each hash key has been noted: a search has an end.
  std::map<std::string, int> noted_;
  Violations violations_;
};

}  // namespace arion::sim
