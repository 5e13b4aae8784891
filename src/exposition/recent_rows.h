// RecentRows: what a server's replicas counted, of one moment, for all families of one reading of
// /metrics.
//
// Threads   Thread-safe.
// Lifetime  The book and the clock outlive it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "exposition/recently.h"
#include "metrics/metric_registry.h"
#include "stats/request_stats.h"

namespace arion {

// Shared by all families, so that one reading asks the book once for each level. Rows are at most a
// tenth of a second old (exposition/recently.h).
class RecentRows {
 public:
  using Rows = std::shared_ptr<const std::vector<RequestBook::Row>>;
  RecentRows(const RequestBook& book, const Clock& clock)
      : server_(clock, [&book] { return book.Read(RequestBook::Level::kServer); }),
        tables_(clock, [&book] { return book.Read(RequestBook::Level::kTable); }),
        partitions_(clock, [&book] { return book.Read(RequestBook::Level::kPartition); }) {}

  // By table, or by partition.
  Rows Read(MetricLevel level) {
    return level == MetricLevel::kTable ? tables_.Read() : partitions_.Read();
  }
  // One row: the sums of all, tables that are gone included.
  Rows ReadServer() { return server_.Read(); }

 private:
  Recently<std::vector<RequestBook::Row>> server_, tables_, partitions_;
};

// `table`, and `partition` for rows of one.
inline MetricLabels LabelsOf(const RequestBook::Row& row) {
  MetricLabels labels = {{"table", row.table}};
  if (row.pid.index >= 0) labels.emplace_back("partition", row.pid.ToString());
  return labels;
}
// The labels and one more.
inline MetricLabels WithLabel(MetricLabels labels, const char* name, std::string_view value) {
  labels.emplace_back(name, std::string(value));
  return labels;
}

}  // namespace arion
