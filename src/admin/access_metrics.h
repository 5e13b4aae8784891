// What an AccessControl refused, as metrics.
//
// Lifetime  The AccessControl outlives what is returned; the metrics stay registered as long as
//           that is held.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "exposition/process_metrics.h"
#include "metrics/metric_registry.h"

namespace arion {

class AccessControl;

MetricRegistrations RegisterAccess(MetricRegistry& registry, const AccessControl& access);

}  // namespace arion
