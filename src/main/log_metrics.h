// What /metrics says of the logs, the engines' files and their disks. Label `disk` is the data directory's tag; tags
// that share a device share its log device's numbers, which stand once, under the tags joined.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "engine/rocksdb_engine.h"
#include "env/environment.h"
#include "main/process_metrics.h"
#include "main/server_config.h"
#include "metrics/metric_registry.h"
#include "replica/replica_server.h"

namespace arion {

// Times, sizes and failures of each device's log writes and flushes. The Environment outlives what
// is returned.
MetricRegistrations RegisterLogDevices(MetricRegistry& registry, Environment& env,
                                       const std::vector<ConfiguredDisk>& disks);

// What the engines' own files cost each device. The factory outlives what is returned.
MetricRegistrations RegisterEngineFiles(MetricRegistry& registry, Environment& env,
                                        RocksdbEngineFactory& engines,
                                        const std::vector<ConfiguredDisk>& disks);

// State and space of each disk. The server outlives what is returned.
MetricRegistrations RegisterDisks(MetricRegistry& registry, const ReplicaServer& server);

// What of an older version's shared log was taken over and what is left. The server outlives it.
MetricRegistrations RegisterSharedLog(MetricRegistry& registry, const ReplicaServer& server);

// Files and bytes of the replicas' logs, how far replicas are, and what replay read. They are asked on the replicas'
// strands, so Refresh fetches them before a reading.
class ReplicaLogMetrics {
 public:
  // The server outlives it.
  ReplicaLogMetrics(MetricRegistry& registry, ReplicaServer& server,
                    const std::vector<ConfiguredDisk>& disks);

  // Waits up to a second; after that, the numbers stay those of the last time. Not on a strand.
  void Refresh();

 private:
  struct Totals {
    int64_t files = 0;
    uint64_t bytes = 0;
  };
  std::vector<LabeledValue> Rows(double (*of)(const Totals&)) const;

  ReplicaServer& server_;
  const std::vector<ConfiguredDisk> disks_;
  mutable std::mutex mutex_;
  std::map<PartitionStatus, double> by_status_;  // guarded by mutex_
  std::map<std::string, Totals> by_disk_;        // guarded by mutex_
  double unapplied_max_ = 0;                     // guarded by mutex_
  MetricRegistrations held_;
};

}  // namespace arion
