// RequestHandlers: which part of the meta server answers which request.
//
// Threads   Filled before the first request, immutable afterwards.
// Lifetime  The parts outlive it.
// Promises  request_handlers/H1  A request has one handler.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "base/log.h"
#include "rpc/transport.h"

namespace arion {

// The table from a request's name to its handler. Each part adds its own while MetaServer::State is
// constructed:
//
//   handlers.Add(kRpcBeacon, this, &ServerRequests::OnBeacon);
class RequestHandlers {
 public:
  using Handler = std::function<void(InboundRequest&)>;

  template <class Part>
  void Add(const char* name, Part* part, void (Part::*handle)(InboundRequest&)) {
    const bool is_first =
        handlers_
            .emplace(name, [part, handle](InboundRequest& request) { (part->*handle)(request); })
            .second;
    CHECK(is_first) << "request_handlers/H1: " << name;
  }
  // nullptr: nobody answers it.
  const Handler* Find(std::string_view name) const {
    const auto found = handlers_.find(name);
    return found == handlers_.end() ? nullptr : &found->second;
  }

 private:
  std::map<std::string, Handler, std::less<>> handlers_;
};

}  // namespace arion
