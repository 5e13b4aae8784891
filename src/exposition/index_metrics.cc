// SPDX-License-Identifier: Apache-2.0
#include "exposition/index_metrics.h"

#include <optional>
#include <utility>
#include <vector>

#include "indexes/index_book.h"
#include "metrics/metric_registry.h"

namespace arion {

MetricRegistrations RegisterIndexes(MetricRegistry& registry,
                                    std::shared_ptr<const IndexBook> book) {
  MetricRegistrations held;
  const auto add = [&](const char* name, const char* help, double (*of)(const IndexBook::Row&)) {
    held.push_back(registry.AddTable({.name = name, .help = help}, MetricKind::kGauge, [book, of] {
      std::vector<LabeledValue> rows;
      for (const IndexBook::Row& row : book->Rows())
        rows.push_back({{{"table", row.table}, {"index", row.index}}, of(row)});
      return rows;
    }));
  };
  // `of`: nullopt: not known.
  const auto add_pace = [&](const char* name, const char* help,
                            std::optional<double> (*of)(const IndexBook::Pace&)) {
    held.push_back(registry.AddTable({.name = name, .help = help}, MetricKind::kGauge, [book, of] {
      std::vector<LabeledValue> rows;
      for (const auto& [table, pace] : book->Paces())
        if (const std::optional<double> value = of(pace))
          rows.push_back({{{"table", table}}, *value});
      return rows;
    }));
  };
  using Row = IndexBook::Row;
  using Pace = IndexBook::Pace;
  add("index_built_ratio", "How far the index is built over the replicas here; 1: it is whole.",
      [](const Row& row) { return row.mean_percent / 100; });
  add("index_replicas_to_build", "Replicas here whose index is not whole yet.",
      [](const Row& row) { return static_cast<double>(row.replicas - row.whole); });
  add("index_entries", "Entries that were put, those of former fields too.",
      [](const Row& row) { return static_cast<double>(row.entries); });
  add("index_left_out_records",
      "Records without such a field, when the index was built or they were written.",
      [](const Row& row) { return static_cast<double>(row.left_out); });
  add("index_replicas_renewed", "Replicas here where it is built anew, and answers meanwhile.",
      [](const Row& row) { return static_cast<double>(row.renewed); });
  add_pace("index_build_left_bytes", "Of the data here: what is to be read until all is built.",
           [](const Pace& pace) { return std::optional(static_cast<double>(pace.left_bytes)); });
  add_pace("index_build_bytes_per_second", "Of the data here: what builds read in a second now.",
           [](const Pace& pace) { return std::optional(pace.bytes_per_second); });
  add_pace("index_build_left_seconds", "Until all is built here; absent: nothing is read now.",
           [](const Pace& pace) { return pace.seconds_left(); });
  return held;
}

}  // namespace arion
