// The page of one of several meta servers that says which there are, who leads, and how ZooKeeper
// is: /meta/ensemble. Each shows what it knows itself, so it is no other server's business.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <vector>

#include "admin/server_commands.h"
#include "base/ids.h"

namespace arion {

class Clock;
class MetaMember;

// `zookeeper`: the addresses of its servers that are known now; any thread. All outlive the page's
// last request. Before the transport listens.
void AddEnsemblePage(const AddPage& add, MetaMember& member, const Clock& clock,
                     std::function<std::vector<Endpoint>()> zookeeper);

}  // namespace arion
