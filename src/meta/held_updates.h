// HeldUpdates: update requests that came while a change of their partition was being stored. Who
// asks then would else hear nothing, and wait for its call to end.
//
// Threads   Strand-bound to its owner.
// Promises  held_updates/U1  At most kHeldMax are held for each partition; more are dropped
//               unanswered.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "rpc/transport.h"

namespace arion {

// A member of ConfigurationRequests. Requests that are held when it ends are dropped; their senders
// run into their timeouts.
class HeldUpdates {
 public:
  static constexpr size_t kHeldMax = 8;

  void Hold(PartitionId pid, InboundRequest request) {
    std::vector<InboundRequest>& held = held_[pid];
    if (held.size() < kHeldMax) held.push_back(std::move(request));
  }
  // Those of the partition, in their order; none is held any more.
  std::vector<InboundRequest> Take(PartitionId pid) {
    const auto found = held_.find(pid);
    if (found == held_.end()) return {};
    std::vector<InboundRequest> held = std::move(found->second);
    held_.erase(found);
    return held;
  }

 private:
  std::map<PartitionId, std::vector<InboundRequest>> held_;
};

}  // namespace arion
