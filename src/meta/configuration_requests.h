// ConfigurationRequests: changes of partitions' configurations, asked for by primaries or planned
// by the guardian: judged, stored, installed, answered.
//
// Shapes    The judgement is configuration_change.h's. While a change is on its way to the store
//           the partition is pending, and updates of it are held. What could not be written is as
//           if it had not been tried; after a failed sync it stays pending.
// Threads   Strand-bound; callbacks come on the strand, while the owner lives.
// Lifetime  All that it uses outlives it.
// Promises  meta_server/M1, meta_server/M2.
//           configuration_requests/C1  At most one change of a partition is on its way to the
//               store.
//           configuration_requests/C2  A held update is judged again when a change of its
//               partition, or of its table, is stored or given up, or when more is known of the
//               learner that it is about.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <utility>

#include "env/clock.h"
#include "meta/held_updates.h"
#include "meta_state/cluster_state.h"

namespace arion {

class Counter;
class FailureDetector;
class LearnerProof;
struct MetaServerOptions;
class ReportNumbers;
class RequestCodec;
class RequestHandlers;
class StoreGuard;

// The meta server's part for configurations. A member of MetaServer::State, which calls AddTo and
// Begin once, Store for each write of the guardian, and JudgeHeld when a table's change has ended.
class ConfigurationRequests {
 public:
  // What it works with. Everything here outlives it.
  struct Uses {
    ClusterState& state;
    const FailureDetector& detector;
    const ReportNumbers& numbers;
    StoreGuard& store;
    LearnerProof& learners;
    const MetaServerOptions& options;
    const RequestCodec& codec;
    const Clock& clock;
    // Counts changes that were stored.
    Counter& changes;
  };
  // What it tells its owner. Called on the strand, within the call or the callback that caused it.
  struct Events {
    // One of its partitions is pending no more.
    std::function<void(int32_t app_id)> settled;
    // The last child of a split was registered.
    std::function<void(Table&)> split;
    // What the guardian sees has changed: it must look again.
    std::function<void()> plan;
  };
  ConfigurationRequests(Uses uses, Events events)
      : uses_(std::move(uses)), events_(std::move(events)) {}

  void AddTo(RequestHandlers& handlers);
  // Until then servers that were known before this meta server began may show what is not stored.
  void Begin(Instant start_ends) { start_ends_ = start_ends; }
  // A change of the guardian's.
  void Store(Partition& partition, PartitionConfiguration next) {
    Store(partition, std::move(next), {});
  }
  // Updates of it that were held.
  void JudgeHeld(PartitionId pid);

 private:
  // Who asked for a change, and about whom. As it is by default: the guardian.
  struct Asked {
    ConfigType cause = ConfigType::kInvalid;
    Endpoint node;
    // The node's incarnation when it asked.
    int64_t incarnation = 0;
    std::optional<InboundRequest> request;
    // Of kRegisterChild: to be stored with it.
    std::optional<PartitionConfiguration> child;
  };
  ConfigurationUpdateResponse AnswerFor(ErrorCode error, PartitionId pid) const;
  Partition* ChildOf(const Asked& asked);
  void OnUpdate(InboundRequest& request);
  bool AwaitsOtherCopies(const Partition& partition, ConfigType type) const;
  void Store(Partition& partition, PartitionConfiguration next, Asked asked);
  void InstallStored(PartitionConfiguration next, const Asked& asked);
  void GiveUp(PartitionId pid, Asked asked);
  void Settle(PartitionId pid);
  Instant Now() const { return uses_.clock.Now(); }

  const Uses uses_;
  const Events events_;
  Instant start_ends_{0};
  HeldUpdates held_;
};

}  // namespace arion
