// A request's argument, for who handles requests of servers and tools.
//
// Errors    What does not decode is answered kInvalidData here and logged, one in a hundred.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <utility>

#include "base/log.h"
#include "base/status.h"
#include "rpc/thrift_codec.h"
#include "rpc/transport.h"

namespace arion {

// The argument, or nullopt after the request was answered.
template <class T>
std::optional<T> TakeArgument(InboundRequest& request) {
  absl::StatusOr<T> argument = DecodeWrapped<T>(request.body);
  if (argument.ok()) return *std::move(argument);
  LOG_EVERY_N(WARNING, 100) << request.header.name << " from " << request.header.from << ": "
                            << argument.status();
  request.responder.Reply(ErrorCode::kInvalidData);
  return std::nullopt;
}

}  // namespace arion
