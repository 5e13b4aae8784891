// SPDX-License-Identifier: Apache-2.0
#include "http/metrics_page.h"

#include <algorithm>
#include <memory>

#include "base/status.h"
#include "env/clock.h"
#include "metrics/metrics_json.h"
#include "metrics/prometheus_text.h"

namespace arion {

Page MetricsPage(const MetricRegistry& registry, ServerIdentity identity, const Clock& clock,
                 std::function<void()> before_reading) {
  // Shared by all requests: its windows are what percentiles are differences to.
  auto json = std::make_shared<MetricsJson>(std::move(identity));
  return [&registry, &clock, json,
          before_reading = std::move(before_reading)](const HttpRequest& request) -> HttpResponse {
    // Before anything is read, so that all families see what it fetched.
    if (before_reading) before_reading();
    const std::string_view accept = request.Header("accept");
    // Whoever sends no Accept header is taken for one of Pegasus' tools.
    const bool is_text = !accept.empty() && accept.find("json") == std::string_view::npos;
    const bool by_partition =
        !is_text || std::find(request.arguments.begin(), request.arguments.end(),
                              std::pair<std::string, std::string>("level", "partition")) !=
                        request.arguments.end();
    const std::vector<MetricFamily> families =
        registry.Read(by_partition ? MetricLevel::kPartition : MetricLevel::kTable,
                      is_text ? [](const MetricInfo& info) { return !info.is_json_only; }
                              : FamiliesFor(request.arguments));
    if (is_text) {
      return {.content_type = std::string(kPrometheusContentType),
              .body = PrometheusText(families)};
    }
    absl::StatusOr<std::string> text =
        json->Write(families, request.arguments, clock.WallMicros() * 1000);
    if (text.ok()) return {.content_type = "application/json", .body = *std::move(text)};
    return {.status = 400,
            .content_type = "application/json",
            .body = MetricsJson::ErrorText(text.status())};
  };
}

}  // namespace arion
