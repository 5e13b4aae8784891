// What /metrics says of a server's replicas besides their clients' requests: what they are, how
// they replicate, learn and are throttled, what their engines hold and do; and of the server's
// lease. By table, or by partition where that is asked for. No strand is asked, no disk waited for.
//
// Lifetime  What is given by reference outlives what is returned.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "env/clock.h"
#include "exposition/process_metrics.h"
#include "metrics/metric_registry.h"

namespace arion {

class RecentRows;
class ReplicaSampler;
class ReplicaServer;
class RocksdbEngineFactory;

// Roles, replication, learning, throttles, logs and the lease. `rows` is shared with the other
// families of the server.
MetricRegistrations RegisterReplicas(MetricRegistry& registry, const ReplicaServer& server,
                                     const std::shared_ptr<RecentRows>& rows, const Clock& clock);
// Figures of the engines: caches, files, flushes, compactions. `sampler` has those that are dear to
// ask.
MetricRegistrations RegisterEngines(MetricRegistry& registry, const RocksdbEngineFactory& engines,
                                    const ReplicaSampler& sampler,
                                    const std::shared_ptr<RecentRows>& rows, const Clock& clock);

}  // namespace arion
