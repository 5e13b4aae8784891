// What servers say on their pages: text, JSON rows, and the numbers of /metrics.
//
// Errors    Unavailable: no answer within three seconds, or no such page; the message names the
//           server. InvalidArgument: the page is not what it should be.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/status/statusor.h>

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"

namespace arion {

enum class PageForm { kText, kJson };
absl::StatusOr<std::string> FetchPage(Endpoint server, std::string_view page, PageForm form);
// Whether a server answered that it has none, in place of nothing.
bool IsNoSuchPage(const absl::Status& status);
// Whether no process has its port.
bool IsNobodyThere(const absl::Status& status);

struct MetricSample {
  std::string name;  // without "arion_"
  std::map<std::string, std::string> labels;
  double value = 0;
};
// What is no sample is left out.
std::vector<MetricSample> ParseSamples(std::string_view text);
absl::StatusOr<std::vector<MetricSample>> FetchSamples(Endpoint server);
// The sum of those of a name whose `label` is `value` (label empty: of all).
double SumOf(const std::vector<MetricSample>& samples, std::string_view name,
             std::string_view label = {}, std::string_view value = {});
// Of a histogram in seconds, by its buckets; 0: nothing was recorded.
double QuantileOf(const std::vector<MetricSample>& samples, std::string_view name, double quantile);

// The objects of a JSON array: numbers as they stand, texts without quotes.
using JsonRow = std::map<std::string, std::string>;
absl::StatusOr<std::vector<JsonRow>> FetchRows(Endpoint server, std::string_view page);
// Those that are the members of a JSON object.
absl::StatusOr<std::vector<JsonRow>> FetchMembers(Endpoint server, std::string_view page);

// The replica servers that a meta server holds for alive.
absl::StatusOr<std::vector<Endpoint>> FetchServers(Endpoint meta);
// How durable a table is, by its id, as a meta server says it.
struct TableDurability {
  std::set<std::string> modes;       // of its copies: "fsync", "os"; empty: not known
  std::set<Endpoint> older_servers;  // members that are of an older version
};
absl::StatusOr<std::map<int64_t, TableDurability>> FetchDurabilities(Endpoint meta);
// What a meta server warns of (meta_state/cluster_warning.h): members what, problem, way, notice. An older
// one's: none.
absl::StatusOr<std::vector<JsonRow>> FetchWarnings(Endpoint meta);

}  // namespace arion
