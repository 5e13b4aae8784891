// The page of /metrics: who gets JSON and who Prometheus' text (decision 27).
//
// Without an Accept header, or with one that names JSON, the answer is the old versions' JSON, by
// partition. Otherwise it is text, by table, or with ?level=partition by partition.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include "http/page_server.h"
#include "metrics/metric_registry.h"

namespace arion {

class Clock;
struct ServerIdentity;

// `before_reading` runs first each time, in the page's thread: it may fetch what sources report.
// Registry and clock outlive the page.
Page MetricsPage(const MetricRegistry& registry, ServerIdentity identity, const Clock& clock,
                 std::function<void()> before_reading);

}  // namespace arion
