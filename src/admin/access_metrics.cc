// SPDX-License-Identifier: Apache-2.0
#include "admin/access_metrics.h"

#include "admin/access_control.h"

namespace arion {

MetricRegistrations RegisterAccess(MetricRegistry& registry, const AccessControl& access) {
  // One family with the cause as its label: the two causes have different remedies.
  const MetricInfo info = {.name = "refused_requests_total",
                           .help =
                               "Requests refused: of servers of another cluster, or to change "
                               "something without the address or token that needs."};
  MetricRegistrations held;
  const auto count = [&](const char* why, const Counter& counter) {
    held.push_back(registry.Add(info, MetricKind::kCounter, {{"why", why}},
                                [&counter] { return static_cast<double>(counter.value()); }));
  };
  count("other_cluster", access.refused_servers());
  count("not_permitted", access.refused_admins());
  return held;
}

}  // namespace arion
