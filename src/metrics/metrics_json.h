// What was read of a MetricRegistry as the JSON of the old versions' GET /metrics
// (decision 27), under the old names where there are such.
//
// Shapes    Samples with a `disk` label belong to entity disk@<tag>, those with a `partition` (2.1)
//           to replica@2.1, with a `table_id` to table@2, with a `task` or `queue` to that profiler
//           or queue, others to the server.
//           Histograms are percentiles in the source's unit, of what was recorded since a reading
//           ten to twenty seconds ago (since the last one, if nobody asked meanwhile; since its
//           beginning where the source began anew, as a replica that was opened again).
// Errors    InvalidArgument: an argument nobody knows, a bad `detail`, an odd number of attributes.
// Threads   Thread-safe.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/status/statusor.h>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "metrics/metric_registry.h"

namespace arion {

// Of the server whose metrics these are; the head of the JSON. Fixed at the start.
struct ServerIdentity {
  std::string cluster;
  // meta, replica.
  std::string role;
  std::string host;
  uint16_t port = 0;
};

// The arguments of the URL, decoded, in order.
using QueryArguments = std::vector<std::pair<std::string, std::string>>;

// The families that an answer to these arguments needs; perhaps a few more. Reading only those
// spares the sources that nobody asks for.
MetricRegistry::Choice FamiliesFor(const QueryArguments& arguments);

// One for a server, made in main/. It remembers readings of histograms, since percentiles are of
// the last ten to twenty seconds.
//
//   const auto families = registry.Read(MetricLevel::kTable, FamiliesFor(arguments));
//   ASSIGN_OR_RETURN(std::string page, json.Write(families, arguments, clock.WallMicros() * 1000));
class MetricsJson {
 public:
  explicit MetricsJson(ServerIdentity identity) : identity_(std::move(identity)) {}

  // The JSON of what was read. `unix_nanos`: now.
  absl::StatusOr<std::string> Write(const std::vector<MetricFamily>& families,
                                    const QueryArguments& arguments, int64_t unix_nanos);
  // How many samples have a reading that their next percentiles are of: of each family no more than
  // it had samples when it was read last.
  size_t windows() const;
  // The JSON of a refusal.
  static std::string ErrorText(const absl::Status& status);

 private:
  // Readings that percentiles are differences to.
  struct Window {
    int64_t started_nanos = 0;
    Histogram::Snapshot older, newer;
  };
  // By the labels of a family's samples.
  using Windows = std::map<MetricLabels, Window>;

  Histogram::Snapshot Recent(const MetricFamily& family, const MetricSample& sample,
                             int64_t unix_nanos);
  void ForgetGone(const MetricFamily& family);

  const ServerIdentity identity_;
  mutable Mutex mutex_;
  // By the families' names. Guarded by mutex_.
  std::map<std::string, Windows> windows_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace arion
