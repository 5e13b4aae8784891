// RpcGate: who of those that speak to a server is heard. Asked before anything else is done with a
// message.
//
// Threads   On loop threads, several at once: must not block.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

#include "base/error_code.h"
#include "rpc/transport.h"

namespace arion {

// AccessControl (admin/access_control.h) is the servers' gate; it outlives the transport. A
// transport without a gate hears everybody.
class RpcGate {
 public:
  virtual ~RpcGate() = default;
  // Goes out with every request and answer of ours (RDSN), for peers to judge; see
  // base/cluster_identity.h.
  virtual uint64_t OurTag() const = 0;
  // Whether a request is heard: kOk, or what it is answered. `peer`: where it came from. `tag`: its
  // sender's; 0 if none was told.
  virtual ErrorCode Admit(const RequestHeader& header, Endpoint peer, uint64_t tag,
                          std::string_view body) = 0;
  // Whether an answer (its name ends in _ACK) counts; else the call fails with kClusterNotFound.
  virtual bool Accept(std::string_view name, Endpoint peer, uint64_t tag) = 0;
};

}  // namespace arion
