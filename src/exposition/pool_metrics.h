// What /metrics says of connections, the disks' pools, the event loops, the watchdog and a start's
// recovery.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "env/clock.h"
#include "exposition/process_metrics.h"
#include "metrics/metric_registry.h"
#include "posix/posix_watchdog.h"
#include "replica_server/replica_server.h"

namespace arion {

class AsioTransport;
struct ConfiguredDisk;
class PosixEnvironment;

// Sizes, queues and times of each disk's pools; lag of loops; what is stuck. Environment and
// watchdog outlive what is returned.
MetricRegistrations RegisterPools(MetricRegistry& registry, PosixEnvironment& env,
                                  const std::vector<ConfiguredDisk>& disks,
                                  const PosixWatchdog& watchdog);

// The same as text, one line for the loops and one for each of the disks' pools.
std::string PoolsText(PosixEnvironment& env, const std::vector<ConfiguredDisk>& disks,
                      const PosixWatchdog& watchdog, const AsioTransport& transport);

// Open connections, their traffic, and clients that do not take their answers. The transport
// outlives what is returned.
MetricRegistrations RegisterConnections(MetricRegistry& registry, const AsioTransport& transport);

// How far the opening of the replicas is. The server outlives what is returned.
MetricRegistrations RegisterRecovery(MetricRegistry& registry, const ReplicaServer& server,
                                     const Clock& clock);

}  // namespace arion
