// OldReplica::After, for the files that OldReplica is in. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <utility>

#include "sim_older/old_replica.h"

namespace arion::sim {

// `task`, a void(OldReplica&), unless the replica is closed by then.
template <class F>
void OldReplica::After(absl::Duration delay, F task) {
  host_.strand->PostAfter(delay, [weak = weak_from_this(), task = std::move(task)]() mutable {
    const std::shared_ptr<OldReplica> replica = weak.lock();
    if (replica != nullptr && replica->engine_ != nullptr) task(*replica);
  });
}

}  // namespace arion::sim
