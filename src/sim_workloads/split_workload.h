// SplitWorkload: an administrator who splits tables while others use them: starts, pauses, lets go
// on, and takes back.
//
// Shapes   One table at a time is looked at, and something is done about it by chance. After Stop
//          no split begins, and what is paused goes on, so that all are over soon. Threads: the
//          world's. Lifetime: what it is given outlives it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/functional/any_invocable.h>
#include <absl/time/time.h>

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "messages/split_messages.h"
#include "sim/sim_environment.h"
#include "sim/sim_random.h"
#include "sim/sim_transport.h"
#include "sim_checkers/coverage.h"
#include "sim_workloads/workload_table.h"

namespace arion::sim {

// One for a run, on a node of its own, with dice of its own.
class SplitWorkload {
 public:
  // What a table that begins with so many partitions may be split into: eight, or twice as many.
  static int32_t PartitionsMax(int32_t first);

  SplitWorkload(SimWorld& world, SimNetwork& network, Coverage& coverage,
                std::vector<Endpoint> metas, uint64_t seed, std::vector<WorkloadTable> tables);
  ~SplitWorkload();

  void Start() { Later(); }
  void Stop();
  // Of tables that were split when it stopped, and may still be; empty: none.
  std::string WhatIsNotOver() const;

 private:
  struct State {
    int32_t partition_count = 0;
    bool is_split = false;
  };
  void Later();
  // What the meta server says of a table; not called where it says nothing.
  void Look(const std::string& table, absl::AnyInvocable<void(const State&)> then);
  void Act(const std::string& table, const State& state);
  void Control(const std::string& table, SplitControl what, const State& state);
  template <class Request, class Response>
  void Ask(const char* name, const Request& request,
           absl::AnyInvocable<void(const Response&)> then);

  Coverage& coverage_;
  const std::vector<Endpoint> metas_;
  // Which of them is asked: the one that answered last.
  size_t asked_ = 0;
  SimRandom random_;
  const std::vector<WorkloadTable> tables_;
  SimNode* node_;
  SimEnvironment* environment_;
  std::unique_ptr<SimTransport> transport_;
  StrandPtr strand_;
  bool is_stopped_ = false;
  // Names, after Stop.
  std::set<std::string> not_over_;
};

}  // namespace arion::sim
