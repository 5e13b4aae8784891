// HeldRequests: clients' requests that wait for the end of a change of their partition's
// configuration, rather than be sent to a meta server that does not know it yet either. Pure.
//
// Shapes    Each waits for 500 ms at most, all of them in 16 MiB. Who has waited long enough is
//           answered kInvalidState: its client asks the meta server.
// Threads   Not thread-safe.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/functional/any_invocable.h>
#include <absl/time/time.h>

#include <cstdint>
#include <deque>

#include "base/instant.h"
#include "client_requests/client_request.h"

namespace arion {

// Belongs to one Admission, which asks HasRoomFor before Hold and runs a timer for NextDeadline.
// Each request leaves once: by Release, Expire or Refuse.
class HeldRequests {
 public:
  static constexpr uint64_t kBytesMax = 16 << 20;
  static constexpr absl::Duration kAtMost = absl::Milliseconds(500);

  using Again = absl::AnyInvocable<void(ClientRequest)>;

  bool empty() const { return held_.empty(); }
  bool HasRoomFor(const ClientRequest& request) const {
    return bytes_ + BytesOf(request) <= kBytesMax;
  }
  void Hold(ClientRequest request, Instant now, Again again);
  // They go on, in the order of their arrival; some may be held again.
  void Release();
  // Answers those who have waited long enough.
  void Expire(Instant now);
  // Not empty: when the first of them has.
  Instant NextDeadline() const { return held_.front().until; }
  // Answers all of them so.
  void Refuse();

 private:
  struct Held {
    ClientRequest request;
    Instant until;
    Again again;
  };
  static uint64_t BytesOf(const ClientRequest& request) {
    return request.body.size() + sizeof(Held);
  }

  // In order of arrival, and so of `until`.
  std::deque<Held> held_;
  uint64_t bytes_ = 0;
};

}  // namespace arion
