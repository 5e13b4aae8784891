// What a meta server answers that does not lead: who does (rpc/PROTOCOL.md 7.1).
//
// Threads   Pure.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "base/ids.h"
#include "rpc/thrift_codec.h"

namespace arion {

struct InboundRequest;

// `leader`: nullopt, or this server itself: nobody is known. `peers`: how the replica servers of this
// cluster read messages.
void AnswerAsFollower(std::optional<Endpoint> leader, PeerGeneration peers,
                      InboundRequest& request);

}  // namespace arion
