// What was read of a MetricRegistry as Prometheus' text format 0.0.4, each name behind `arion_`.
//
// A histogram's exposed bucket `le` counts the fine buckets that end at or below it. A value within
// 1/32 (of LatencyBuckets: 1/8) below a bound may stand in the next one. Sum and count are exact.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace arion {

struct MetricFamily;

// The answer's Content-Type. Scrapers choose their parser by it.
constexpr std::string_view kPrometheusContentType = "text/plain; version=0.0.4; charset=utf-8";

// The whole text, families in the order given. Nobody checks here that names and labels are unique:
// the registry's users give each sample labels of its own.
std::string PrometheusText(const std::vector<MetricFamily>& families);

}  // namespace arion
