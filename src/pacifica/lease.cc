// SPDX-License-Identifier: Apache-2.0
#include "pacifica/lease.h"

#include "base/log.h"

namespace arion {

bool WorkerLease::Acknowledged(Instant sent_at, Instant now) {
  if (sent_at > now) return false;
  if (granted_ && sent_at <= newest_sent_) return false;
  if (now >= sent_at + lease_) return false;
  const bool was_held = Held(now);
  granted_ = true;
  newest_sent_ = sent_at;
  CHECK(Held(now)) << "an answer that came too late counts";
  return !was_held;
}

}  // namespace arion
