// SPDX-License-Identifier: Apache-2.0
#include "messages/fields.h"

#include "base/ids.h"

namespace arion {

HostPort HostPort::From(Endpoint endpoint) {
  if (!endpoint.IsValid()) return {};
  // An IP literal is a name that needs no resolver.
  std::string text = endpoint.ToString();
  return {text.substr(0, text.rfind(':')), endpoint.port};
}

}  // namespace arion
