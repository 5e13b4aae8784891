// What /metrics says of the logs, the engines' files and their disks. Label `disk` is the data
// directory's tag, or log_home. Tags that share a device share its log device's numbers, which
// stand once, under the tags joined.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "exposition/process_metrics.h"
#include "metrics/metric_registry.h"

namespace arion {

struct ConfiguredDisk;
class Environment;
class ReplicaServer;
class RocksdbEngineFactory;

// Times, sizes and failures of each device's log writes and flushes. `log_home` is a disk more
// where it is not empty, tagged kLogHomeTag. The Environment outlives what is returned.
MetricRegistrations RegisterLogDevices(MetricRegistry& registry, Environment& env,
                                       std::vector<ConfiguredDisk> disks,
                                       const std::string& log_home);

// What the engines' own files cost each device. The factory outlives what is returned.
MetricRegistrations RegisterEngineFiles(MetricRegistry& registry, Environment& env,
                                        RocksdbEngineFactory& engines,
                                        const std::vector<ConfiguredDisk>& disks);

// State and space of each disk. The server outlives what is returned.
MetricRegistrations RegisterDisks(MetricRegistry& registry, const ReplicaServer& server);

// How much of an older version's shared log was taken over, what is left of it, and which replicas
// hold it back. The server outlives what is returned.
MetricRegistrations RegisterSharedLog(MetricRegistry& registry, const ReplicaServer& server);

// How much of the logs was read when replicas were opened, and how long that took. The server
// outlives what is returned.
MetricRegistrations RegisterReplay(MetricRegistry& registry, const ReplicaServer& server);

}  // namespace arion
