// What tools ask of a replica server: disks, hot keys, decrees; and the
// sentence for what Arion does not do.
//
// Threads   Any.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "replica/replica_host.h"
#include "rpc/transport.h"

namespace arion {

class ReplicaTable;

// Whether it is a tool's request; then it is, or will be, answered.
bool AnswerTool(const ReplicaHost& host, const StrandPtr& server_strand,
                const std::shared_ptr<ReplicaTable>& table, InboundRequest& request);

}  // namespace arion
