// What a meta server answers that does not lead: who does (rpc/PROTOCOL.md 7.1).
//
// Threads   Pure.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <memory>
#include <optional>

#include "base/ids.h"
#include "rpc/thrift_codec.h"
#include "rpc/transport.h"

namespace arion {

// `leader`: nullopt, or this server itself: nobody is known. `peers`: how the replica servers of this
// cluster read messages.
void AnswerAsFollower(std::optional<Endpoint> leader, PeerGeneration peers,
                      InboundRequest& request);

// What a request is to be given to a leader with: it answers as AnswerAsFollower where the leader
// drops it because its lead `has_ended` meanwhile. What was asked may have been done or not. Any
// thread may use it, or drop it.
Responder UnlessLeadEnds(std::shared_ptr<const std::atomic<bool>> has_ended, PeerGeneration peers,
                         InboundRequest& request);

}  // namespace arion
