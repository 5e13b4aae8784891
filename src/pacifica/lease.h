// WorkerLease: a replica server's right to act, granted by the meta server's answers to its
// beacons.
//
// Shapes    The lease runs from the *sending* of the newest beacon that the leader acknowledged, by
//           a clock that never goes back and counts a machine's sleep: whoever granted it counted
//           from a later moment, so it ends here before it ends there (lease < grace).
// Threads   Immutable arithmetic on what it is told; strand-bound.
// Promises  Held(now) is exact: there is no scan period in which an expired lease still counts.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/time/time.h>

#include "base/instant.h"

namespace arion {

class WorkerLease {
 public:
  explicit WorkerLease(absl::Duration lease) : lease_(lease) {}

  // The leader answered a beacon that was sent at `sent_at`. Answers out of order and answers that
  // come after the lease they would grant change nothing. True: the lease was not held before and
  // is now.
  bool Acknowledged(Instant sent_at, Instant now);
  // Another leader's lease starts anew; what the former one granted does not count for it.
  void Forget() { granted_ = false; }

  bool Held(Instant now) const { return granted_ && now < expires_at(); }
  // First moment at which it is not held; meaningful once granted.
  Instant expires_at() const { return newest_sent_ + lease_; }
  bool WasGranted() const { return granted_; }

 private:
  absl::Duration lease_;
  bool granted_ = false;
  Instant newest_sent_;
};

}  // namespace arion
