// The cluster in numbers on the meta server's /metrics. They are asked on its strand, so Refresh
// fetches them before a reading.
//
// Threads   Thread-safe; Refresh not on a strand.
// Lifetime  Registry and server outlive it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "base/mutex.h"
#include "exposition/process_metrics.h"
#include "meta/meta_service.h"
#include "meta_overview/cluster_overview.h"
#include "metrics/metric_registry.h"

namespace arion {

class Clock;

// Registers the families in the constructor and takes them back in the destructor. Refresh is for
// ServerPages::BeforeReading.
class MetaMetrics {
 public:
  // Adds, at each reading, what is known outside the meta server's strand. Any thread.
  using AddWarnings = std::function<void(ClusterOverview*)>;
  MetaMetrics(MetricRegistry& registry, MetaService& server, const Clock& clock,
              AddWarnings add_warnings);

  // Waits up to a second for a new overview. nullptr: it did not come; then the numbers stay those
  // of the last time, and their age says so.
  std::shared_ptr<const ClusterOverview> Refresh();

 private:
  // Families, in the order in which they are shown.
  void AddServers(MetricRegistry& registry);
  void AddPartitions(MetricRegistry& registry);
  void AddClocks(MetricRegistry& registry);
  // Where the meta server's state is stored.
  void AddDisk(MetricRegistry& registry);
  // What needs somebody's attention.
  void AddConcerns(MetricRegistry& registry);
  // What the meta server does, and did since its start.
  void AddActs(MetricRegistry& registry);
  // A family of one figure of the latest overview.
  template <class Of>
  void AddGauge(MetricRegistry& registry, MetricInfo info, Of of);

  std::shared_ptr<const ClusterOverview> Latest() const;

  MetaService& server_;
  const Clock& clock_;
  const AddWarnings add_warnings_;
  mutable Mutex mutex_;
  // Guarded by mutex_, as latest_at_.
  std::shared_ptr<const ClusterOverview> latest_ ABSL_GUARDED_BY(mutex_);
  Instant latest_at_ ABSL_GUARDED_BY(mutex_);
  MetricRegistrations held_;
};

}  // namespace arion
