// Troubles: which troubles of a run last at the moment, how many there have been of each kind, and
// whether others may begin.
//
// Shapes    Faults are numbered from 1 as they are drawn. Calm: nothing that lasts has not ended,
//           all are up and every group is whole.
// Threads   One: the world's. Lifetime: what it is given outlives it.
// Promises  troubles/T1  At most three that last are under way: under everything at once nothing is
//               acknowledged, and nothing is proven.
//           troubles/T2  A run loses one copy at most, for the promise covers one; for a while
//               nothing else is begun then.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/functional/any_invocable.h>
#include <absl/time/time.h>

#include <array>
#include <cstdint>

#include "sim/sim_world.h"
#include "sim_cluster/fault_mix.h"
#include "sim_cluster/groups.h"
#include "sim_workloads/table_churn.h"

namespace arion::sim {

class ServerLives;
struct SimServer;

// One for a run. FaultInjector asks MayBegin and AreTooMany before it begins another trouble; the
// part that makes the trouble says with LastFor how long it takes.
class Troubles {
 public:
  using Counts = std::array<int64_t, kFaultCount>;

  Troubles(SimWorld& world, Groups& groups, const ServerLives& lives, const TableChurn& churn)
      : world_(world), groups_(groups), lives_(lives), churn_(churn) {}

  void Begin() { are_on_ = true; }
  void End() { are_on_ = false; }
  bool are_on() const { return are_on_; }

  // One of those that last; `end` runs when it is over.
  void LastFor(absl::Duration length, absl::AnyInvocable<void()> end);
  void LastFor(absl::Duration length) {
    LastFor(length, [] {});
  }
  bool AreTooMany() const;
  // Whether nothing that lasts has not ended.
  bool NoneLasts() const { return lasting_ == 0; }

  bool IsCalm() const;
  // For so long nothing is begun.
  void KeepCalmFor(absl::Duration length) { calm_until_ = world_.now() + length; }
  bool MayBegin() const { return world_.now() >= calm_until_; }
  // The one copy that the run may lose.
  void LoseCopyOf(SimServer& server);

  int64_t NumberNext() { return ++drawn_; }
  int64_t drawn() const { return drawn_; }
  void Count(Fault fault) { ++counts_[static_cast<size_t>(fault)]; }
  // It was counted, but could not be.
  void Discount(Fault fault) { --counts_[static_cast<size_t>(fault)]; }
  int64_t CountOf(Fault fault) const { return counts_[static_cast<size_t>(fault)]; }
  const Counts& counts() const { return counts_; }

 private:
  SimWorld& world_;
  Groups& groups_;
  const ServerLives& lives_;
  const TableChurn& churn_;
  bool are_on_ = false;
  // How many troubles have begun and not ended.
  int64_t lasting_ = 0;
  Instant calm_until_{0};
  int64_t drawn_ = 0;
  Counts counts_{};
};

}  // namespace arion::sim
