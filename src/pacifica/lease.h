// WorkerLease: a replica server's right to act, granted by the meta server's answers to its beacons
// (pacifica/PROTOCOL.md 7).
//
// Shapes    The lease runs from the *sending* of the newest beacon that the leader acknowledged, by
//           a clock that never goes back and that counts a machine's sleep. Whoever granted it
//           counted from a later moment. So it ends here before it ends there, as long as lease <
//           grace.
// Errors    None. An answer that cannot grant anything is ignored.
// Threads   Pure arithmetic on what it is told, without a lock: strand-bound to whoever owns it.
// Promises  Held(now) is exact: there is no scan period in which an expired lease still counts.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/time/time.h>

#include "base/instant.h"

namespace arion {

// One server's lease from one leader. It begins as not held.
//
//   WorkerLease lease(absl::Seconds(9));
//   lease.Acknowledged(beacon.sent_at, clock.Now());   // an answer came
//   if (!lease.Held(clock.Now())) return kInactive;    // before anything it must hold a lease for
class WorkerLease {
 public:
  // `lease` is above zero, and shorter than the grace after which the meta server declares a server
  // dead.
  explicit WorkerLease(absl::Duration lease);

  // The leader answered a beacon that was sent at `sent_at`; it is `now`. Answers out of order, and
  // answers that come after the lease they would grant, change nothing; nor does a `sent_at` in the
  // future. Returns true if the lease was not held before and is held now.
  bool Acknowledged(Instant sent_at, Instant now);
  // There is another leader: its lease starts anew, and what the former one granted does not count
  // for it.
  void Forget() { granted_ = false; }

  // Whether the server may act at `now`. The lease's last moment is exclusive.
  bool Held(Instant now) const { return granted_ && now < expires_at(); }
  // The first moment at which the lease is not held. Has a meaning only once WasGranted().
  Instant expires_at() const { return newest_sent_ + lease_; }
  // Whether any answer counted since construction or Forget().
  bool WasGranted() const { return granted_; }

 private:
  absl::Duration lease_;
  bool granted_ = false;
  // When the newest acknowledged beacon was sent.
  Instant newest_sent_;
};

}  // namespace arion
