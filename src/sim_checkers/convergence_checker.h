// ConvergenceChecker: what two clusters that send one table to each other make of it, each having
// clients of its own.
//
// Shapes    A write is known by its record, its time and the cluster whose client wrote it. Of two,
//           the later is that with the larger time, of equal times that of the cluster with the
//           larger id. Partitions have one cluster's ids for both.
// Threads   One: the world's.
// Demands   convergence_checker/V1  No cluster applies to a record a write that is earlier than one
//               it applied before.
//           convergence_checker/V2  At last each record is, at both, what the latest of all its
//               writes made of it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/types/span.h>

#include <array>
#include <cstdint>
#include <map>
#include <string>

#include "base/ids.h"
#include "engine/engine.h"
#include "sim_checkers/checkers.h"
#include "sim_checkers/record_states.h"

namespace arion::sim {

// One for two clusters. It is told what happens, in the order in which it does.
class ConvergenceChecker {
 public:
  // What marks the writes of each, in duplication groups.
  explicit ConvergenceChecker(std::array<uint8_t, 2> ids) : ids_(ids) {}

  // Some member at `side`, 0 or 1, applied it.
  void Applied(int side, PartitionId pid, Decree decree, int64_t timestamp_us,
               absl::Span<const WriteOp> ops);

  // What was wrong up to now, by convergence_checker/V1.
  Violations Judge() const { return violations_; }
  // By convergence_checker/V2, once both have had time to hear of all.
  Violations JudgeEnd() const;

  // Records that clients of both wrote.
  int64_t CountContended() const;
  // Writes of clients that came when the other cluster had a later one already.
  int64_t overtaken() const { return overtaken_; }

 private:
  struct State {
    // A TimeTag, without the bit that says that it is a remove.
    uint64_t tag = 0;
    RecordState made;
  };
  struct Record {
    std::array<State, 2> at;
    State latest;
    std::array<bool, 2> is_written_by = {};
  };
  struct Partition {
    std::array<Decree, 2> applied;
    // By raw key.
    std::map<std::string, Record> records;
  };

  const std::array<uint8_t, 2> ids_;
  std::map<PartitionId, Partition> partitions_;
  int64_t overtaken_ = 0;
  Violations violations_;
};

}  // namespace arion::sim
