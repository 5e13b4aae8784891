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
// The body of `page`, with its arguments. kJson sends an Accept header that asks for JSON.
absl::StatusOr<std::string> FetchPage(Endpoint server, std::string_view page, PageForm form);
// Of a FetchPage's status: a server answered that it has no such page.
bool IsNoSuchPage(const absl::Status& status);
// Of a FetchPage's status: no process has the port.
bool IsNobodyThere(const absl::Status& status);

// One line of /metrics.
struct MetricSample {
  // Without "arion_".
  std::string name;
  std::map<std::string, std::string> labels;
  double value = 0;
};
// Lines that are no sample are left out.
std::vector<MetricSample> ParseSamples(std::string_view text);
absl::StatusOr<std::vector<MetricSample>> FetchSamples(Endpoint server);
// The sum of the samples of that name whose `label` is `value`; with an empty label: of all.
double SumOf(const std::vector<MetricSample>& samples, std::string_view name,
             std::string_view label = {}, std::string_view value = {});
// Of a histogram in seconds, by its buckets; 0: nothing was recorded.
double QuantileOf(const std::vector<MetricSample>& samples, std::string_view name, double quantile);

// An object of a JSON array: numbers as they stand, texts without quotes.
using JsonRow = std::map<std::string, std::string>;
absl::StatusOr<std::vector<JsonRow>> FetchRows(Endpoint server, std::string_view page);
// The objects that are the members of a JSON object.
absl::StatusOr<std::vector<JsonRow>> FetchMembers(Endpoint server, std::string_view page);

// The replica servers that a meta server counts as alive.
absl::StatusOr<std::vector<Endpoint>> FetchServers(Endpoint meta);
// How durable a table is.
struct TableDurability {
  // Of its copies: "fsync", "os"; empty: not known.
  std::set<std::string> modes;
  // Members that are of an older version.
  std::set<Endpoint> older_servers;
};
// By table id, as a meta server says it.
absl::StatusOr<std::map<int64_t, TableDurability>> FetchDurabilities(Endpoint meta);
// What a meta server warns of (meta_state/cluster_warning.h), with members what, problem, way,
// notice. Of an older one: none.
absl::StatusOr<std::vector<JsonRow>> FetchWarnings(Endpoint meta);

// What one of several meta servers knows of all of them (/meta/ensemble).
struct EnsemblePage {
  // Without lists.
  JsonRow own;
  std::vector<JsonRow> candidates, zookeeper;
};
absl::StatusOr<EnsemblePage> FetchEnsemble(Endpoint meta);

}  // namespace arion
