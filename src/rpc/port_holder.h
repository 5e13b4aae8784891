// Who holds a TCP port of this machine, for the message of a failed start. Reads /proc.
//
// Threads   Thread-safe.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace arion {

// "pid 4711 (arion_replica)"; "a process of another user", "an outgoing connection of ..."; or ""
// when nobody is found.
std::string DescribePortHolder(uint16_t port);

}  // namespace arion
