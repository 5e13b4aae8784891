// Wall clocks that are wrong, or differ, as the meta server's page says; for status and nodes.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <set>
#include <string>
#include <vector>

#include "tools/shell/session.h"

namespace arion::shell {

// One clock, as rows of an answer have it.
struct WrongClock {
  // "server 127.0.0.1:34801"
  std::string whose;
  std::string what;
  std::string remedy;
};

// Empty where no page of a meta server can be read.
std::vector<WrongClock> WrongClocks(Session& session);
// The servers among them. The meta server moves away what they lead.
std::set<Endpoint> ServersWithWrongClocks(Session& session);

}  // namespace arion::shell
