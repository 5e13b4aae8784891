// The cluster in numbers on the meta server's /metrics. They are asked on its strand, so Refresh
// fetches them before a reading.
//
// Threads   Thread-safe; Refresh not on a strand.
// Lifetime  Registry and server outlive it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "main/process_metrics.h"
#include "meta/meta_server.h"
#include "metrics/metric_registry.h"

namespace arion {

class MetaMetrics {
 public:
  MetaMetrics(MetricRegistry& registry, MetaServer& server);

  // Waits up to a second; after that, the numbers stay those of the last time, and the answer is
  // nullptr.
  std::shared_ptr<const ClusterOverview> Refresh();

 private:
  std::shared_ptr<const ClusterOverview> Latest() const;

  MetaServer& server_;
  mutable std::mutex mutex_;
  std::shared_ptr<const ClusterOverview> latest_;  // guarded by mutex_
  MetricRegistrations held_;
};

}  // namespace arion
