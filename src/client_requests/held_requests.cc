// SPDX-License-Identifier: Apache-2.0
#include "client_requests/held_requests.h"

#include <utility>

namespace arion {

void HeldRequests::Hold(ClientRequest request, Instant now, Again again) {
  bytes_ += BytesOf(request);
  held_.push_back({std::move(request), now + kAtMost, std::move(again)});
}

void HeldRequests::Release() {
  bytes_ = 0;
  for (Held& held : std::exchange(held_, {})) held.again(std::move(held.request));
}

void HeldRequests::Expire(Instant now) {
  while (!held_.empty() && held_.front().until <= now) {
    Held held = std::move(held_.front());
    held_.pop_front();
    bytes_ -= BytesOf(held.request);
    held.request.responder.Reply(ErrorCode::kInvalidState);
  }
}

void HeldRequests::Refuse() {
  bytes_ = 0;
  for (Held& held : std::exchange(held_, {}))
    held.request.responder.Reply(ErrorCode::kInvalidState);
}

}  // namespace arion
