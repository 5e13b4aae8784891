// RequestCodec: how the meta server's parts read requests and write answers.
//
// Threads   Immutable after construction.
// Promises  request_codec/C1  A request is answered at most once. One that does not decode is
//               answered here, ERR_INVALID_DATA.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/status/statusor.h>

#include <optional>
#include <string>
#include <utility>

#include "base/log.h"
#include "rpc/thrift_codec.h"
#include "rpc/transport.h"

namespace arion {

// One for all parts of a meta server. `peers`: how the replica servers of this cluster read
// messages.
class RequestCodec {
 public:
  // Of replica servers, and of whoever asks as they do.
  explicit RequestCodec(PeerGeneration peers) : peers_(peers) {}

  // nullopt: it did not decode and was answered.
  template <class Request>
  static std::optional<Request> Decode(InboundRequest& request) {
    absl::StatusOr<Request> decoded = DecodeWrapped<Request>(request.body);
    if (decoded.ok()) return std::move(*decoded);
    LOG_EVERY_N(WARNING, 100) << "meta: " << request.header.name << " from " << request.header.from
                              << ": " << decoded.status();
    request.responder.Reply(ErrorCode::kInvalidData);
    return std::nullopt;
  }
  // A request that came by Thrift has no host_port twins in its answer: such senders don't know
  // them.
  template <class Response>
  void Answer(InboundRequest& request, const Response& response) const {
    const bool is_thrift = request.header.framing != Framing::kRdsn;
    request.responder.Reply(ErrorCode::kOk,
                            EncodeWrapped(response, is_thrift ? PeerGeneration::kNone : peers_));
  }
  // A message to a replica server.
  template <class Message>
  std::string Encode(const Message& message) const {
    return EncodeWrapped(message, peers_);
  }

 private:
  const PeerGeneration peers_;
};

}  // namespace arion
