// prometheus-cpp writes the text; here its structs are filled from a reading.
// SPDX-License-Identifier: Apache-2.0
#include "metrics/prometheus_text.h"

#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>

#include <algorithm>
#include <limits>

#include "base/counter.h"
#include "metrics/metric_registry.h"

namespace arion {
namespace {

prometheus::ClientMetric::Histogram HistogramOf(const MetricInfo& info,
                                                const Histogram::Snapshot& snapshot) {
  prometheus::ClientMetric::Histogram out;
  out.sample_count = snapshot.count;
  out.sample_sum = static_cast<double>(snapshot.sum) / info.per_unit;
  // Prometheus' buckets are cumulative. A fine bucket counts for the first bound at or above its
  // end, so nothing is shown faster than it was.
  uint64_t cumulative = 0;
  size_t next = 0;
  for (uint64_t bound : info.bounds) {
    while (next < snapshot.buckets.size() && Histogram::LargestOf(next) <= bound)
      cumulative += snapshot.buckets[next++];
    out.bucket.push_back({cumulative, static_cast<double>(bound) / info.per_unit});
  }
  // The last bucket takes what lies beyond all bounds. Prometheus wants it, equal to the count.
  out.bucket.push_back({snapshot.count, std::numeric_limits<double>::infinity()});
  return out;
}

prometheus::ClientMetric MetricOf(const MetricFamily& family, const MetricSample& sample) {
  prometheus::ClientMetric out;
  // Labels that only older versions' JSON has.
  const std::vector<std::string>& hidden = family.info.old.labels;
  for (const auto& [name, value] : sample.labels)
    if (std::find(hidden.begin(), hidden.end(), name) == hidden.end())
      out.label.push_back({name, value});
  const double value = sample.value / family.info.per_unit;
  switch (family.kind) {
    case MetricKind::kCounter:
      out.counter.value = value;
      break;
    case MetricKind::kGauge:
      out.gauge.value = value;
      break;
    case MetricKind::kHistogram:
      out.histogram = HistogramOf(family.info, sample.histogram);
      break;
  }
  return out;
}

prometheus::MetricType TypeOf(MetricKind kind) {
  switch (kind) {
    case MetricKind::kCounter:
      return prometheus::MetricType::Counter;
    case MetricKind::kGauge:
      return prometheus::MetricType::Gauge;
    case MetricKind::kHistogram:
      return prometheus::MetricType::Histogram;
  }
  return prometheus::MetricType::Untyped;
}

}  // namespace

std::string PrometheusText(const std::vector<MetricFamily>& families) {
  std::vector<prometheus::MetricFamily> out;
  for (const MetricFamily& family : families) {
    prometheus::MetricFamily& one = out.emplace_back();
    one.name = "arion_" + family.info.name;
    one.help = family.info.help;
    one.type = TypeOf(family.kind);
    for (const MetricSample& sample : family.samples)
      one.metric.push_back(MetricOf(family, sample));
  }
  return prometheus::TextSerializer().Serialize(out);
}

}  // namespace arion
