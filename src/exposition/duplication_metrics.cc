// SPDX-License-Identifier: Apache-2.0
#include "exposition/duplication_metrics.h"

#include <absl/strings/str_cat.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "duplication/duplication_book.h"
#include "env/clock.h"
#include "metrics/metric_registry.h"

namespace arion {

MetricRegistrations RegisterDuplications(MetricRegistry& registry,
                                         std::shared_ptr<const DuplicationBook> book,
                                         const Clock& clock, uint64_t log_bytes_max) {
  using Figures = DuplicationFigures;
  using Totals = DuplicationTotals;
  MetricRegistrations held;
  // `of`: nullopt: not known.
  const auto add = [&](const char* name, const char* help,
                       std::function<std::optional<double>(const Figures&)> of) {
    held.push_back(registry.AddTable({.name = name, .help = help}, MetricKind::kGauge, [book, of] {
      std::vector<LabeledValue> rows;
      for (const DuplicationBook::Row& row : book->Rows())
        if (const std::optional<double> value = of(*row.figures))
          rows.push_back({{{"table", row.table},
                           {"cluster", row.cluster},
                           {"partition", absl::StrCat(row.pid.index)}},
                          *value});
      return rows;
    }));
  };
  const auto add_total = [&](const char* name, const char* help,
                             std::atomic<int64_t> Totals::*figure) {
    held.push_back(
        registry.AddTable({.name = name, .help = help}, MetricKind::kCounter, [book, figure] {
          std::vector<LabeledValue> rows;
          for (const auto& [place, totals] : book->Totals())
            rows.push_back({{{"table", place.first}, {"cluster", place.second}},
                            static_cast<double>(((*totals).*figure).load())});
          return rows;
        }));
  };
  add("duplication_lag_seconds",
      "Since the oldest write was ordered that the other cluster lacks; 0: it lacks none.",
      [&clock](const Figures& figures) {
        const int64_t since = figures.behind_since_us.load();
        if (since == 0) return 0.0;
        return static_cast<double>(std::max<int64_t>(AgreedWallMicros(clock) - since, 0)) / 1e6;
      });
  add("duplication_lag_decrees", "Mutations that the other cluster lacks.",
      [](const Figures& figures) { return static_cast<double>(figures.decrees_behind.load()); });
  add("duplication_lag_bytes",
      "Of the private log: what lies behind the last write that the other cluster has.",
      [](const Figures& figures) -> std::optional<double> {
        const int64_t bytes = figures.bytes_behind.load();
        return bytes < 0 ? std::nullopt : std::optional(static_cast<double>(bytes));
      });
  add("duplication_active", "1: writes are to be sent; 0: it is paused, or in preparation.",
      [](const Figures& figures) { return figures.is_active.load() ? 1.0 : 0.0; });
  add("duplication_stopped",
      "1: writes can't be sent, and nothing behind them is; query_dup -d says why.",
      [](const Figures& figures) { return figures.is_stopped.load() ? 1.0 : 0.0; });
  add_total("duplication_sent_updates_total", "Puts and removes that the other cluster took.",
            &Totals::updates);
  add_total("duplication_sent_bytes_total", "Of requests that the other cluster took.",
            &Totals::bytes);
  add_total("duplication_retries_total",
            "Requests to the other cluster, and readings of the log, that are tried again.",
            &Totals::retries);
  add_total("duplication_left_out_total", "Updates that the other cluster does not get.",
            &Totals::left_out);
  held.push_back(registry.AddTable(
      {.name = "duplication_log_bytes_max",
       .help = "Of each replica's log: what is kept at most for other clusters; beyond it the "
               "duplication stops."},
      MetricKind::kGauge, [log_bytes_max] {
        return std::vector<LabeledValue>{{{}, static_cast<double>(log_bytes_max)}};
      }));
  return held;
}

}  // namespace arion
