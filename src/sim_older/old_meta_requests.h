// How the stand-in for a 2.5.0 meta server takes and answers requests.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/strings/str_cat.h>

#include <optional>

#include "rpc/thrift_codec.h"
#include "rpc/transport.h"
#include "sim_older/old_meta_server.h"

namespace arion::sim {

template <class T>
std::optional<T> OldMetaServer::Take(const InboundRequest& request) const {
  absl::StatusOr<T> decoded = DecodeWrapped<T>(request.body);
  if (decoded.ok()) return *std::move(decoded);
  violate_(absl::StrCat("replica/README.md A1: ", request.header.name, " does not decode"));
  return std::nullopt;
}

template <class T>
void OldMetaServer::Answer(InboundRequest& request, const T& answer) {
  request.responder.Reply(ErrorCode::kOk, EncodeWrapped(answer));
}

}  // namespace arion::sim
