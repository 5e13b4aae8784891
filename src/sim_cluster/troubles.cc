// SPDX-License-Identifier: Apache-2.0
#include "sim_cluster/troubles.h"

#include <algorithm>
#include <utility>

#include "sim_cluster/server_lives.h"
#include "sim_cluster/sim_server.h"

namespace arion::sim {

void Troubles::LastFor(absl::Duration length, absl::AnyInvocable<void()> end) {
  ++lasting_;
  world_.After(length, EventKind::kFault, [this, end = std::move(end)]() mutable {
    --lasting_;
    end();
  });
}

bool Troubles::AreTooMany() const {
  // More at once and hardly anything would be acknowledged: the run would prove little.
  constexpr int64_t kTroublesMax = 3;
  return lasting_ >= kTroublesMax;
}

bool Troubles::IsCalm() const {
  // A table of the churn is not wanted by Groups, so IsWhole does not look at it.
  const auto may_lose_one = [this](const auto& entry) {
    return entry.first.app_id != churn_.app_id() ||
           entry.second.MemberCount() == static_cast<size_t>(groups_.copies());
  };
  const Groups::Stored& stored = groups_.stored();
  return lasting_ == 0 && groups_.IsWhole() &&
         (churn_.IsIdle() || std::all_of(stored.begin(), stored.end(), may_lose_one)) &&
         lives_.AreAllUp();
}

void Troubles::LoseCopyOf(SimServer& server) {
  groups_.LoseCopyOf(server.endpoint);
  server.lost_copy = true;
  // Time enough to find the loss and to copy anew, before anything else takes another copy.
  KeepCalmFor(absl::Seconds(45));
}

}  // namespace arion::sim
