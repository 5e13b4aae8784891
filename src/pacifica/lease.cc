// SPDX-License-Identifier: Apache-2.0
#include "pacifica/lease.h"

#include "base/log.h"

namespace arion {

WorkerLease::WorkerLease(absl::Duration lease) : lease_(lease) {
  CHECK_GT(lease, absl::ZeroDuration()) << "no moment would be held";
}

bool WorkerLease::Acknowledged(Instant sent_at, Instant now) {
  // By this clock nothing can have been sent later than now: the time is another process's, or a
  // mistake.
  if (sent_at > now) return false;
  // Answers may overtake each other; the newest beacon counts.
  if (granted_ && sent_at <= newest_sent_) return false;
  if (now >= sent_at + lease_) return false;
  const bool was_held = Held(now);
  granted_ = true;
  newest_sent_ = sent_at;
  CHECK(Held(now)) << "an answer that came too late counts";
  return !was_held;
}

}  // namespace arion
