// SPDX-License-Identifier: Apache-2.0
#include "metrics/metric_registry.h"

#include <map>

#include "base/counter.h"
#include "base/log.h"

namespace arion {

std::vector<uint64_t> OneTwoFiveBounds(uint64_t first, uint64_t last) {
  std::vector<uint64_t> bounds;
  for (uint64_t ten = first; ten <= last; ten *= 10) {
    for (uint64_t step : {1, 2, 5}) {
      if (step * ten <= last) bounds.push_back(step * ten);
    }
  }
  return bounds;
}

MetricInfo LatencyInfo(std::string name, std::string help) {
  return {.name = std::move(name),
          .help = std::move(help),
          .per_unit = 1e9,
          .bounds = OneTwoFiveBounds(10'000, 10'000'000'000)};
}

MetricRegistry::Registration MetricRegistry::AddEntry(Entry entry) {
  CHECK(!entry.info.name.empty());
  const MutexLock lock(mutex_);
  // A list, so that a Registration's place stays valid while others come and go.
  auto at = entries_.insert(entries_.end(), std::move(entry));
  return Registration([this, at] {
    const MutexLock removing(mutex_);
    entries_.erase(at);
  });
}

MetricRegistry::Registration MetricRegistry::Add(MetricInfo info, MetricLabels labels,
                                                 const Counter& counter) {
  return AddEntry({std::move(info), MetricKind::kCounter, std::move(labels), &counter});
}

MetricRegistry::Registration MetricRegistry::Add(MetricInfo info, MetricLabels labels,
                                                 const Gauge& gauge) {
  return AddEntry({std::move(info), MetricKind::kGauge, std::move(labels), &gauge});
}

MetricRegistry::Registration MetricRegistry::Add(MetricInfo info, MetricLabels labels,
                                                 const Histogram& histogram) {
  CHECK(!info.bounds.empty()) << info.name;
  return AddEntry({std::move(info), MetricKind::kHistogram, std::move(labels), &histogram});
}

MetricRegistry::Registration MetricRegistry::Add(MetricInfo info, MetricKind kind,
                                                 MetricLabels labels, Value value) {
  CHECK(kind != MetricKind::kHistogram) << info.name;
  return AddEntry({std::move(info), kind, std::move(labels), std::move(value)});
}

MetricRegistry::Registration MetricRegistry::AddTable(MetricInfo info, MetricKind kind,
                                                      Table table) {
  CHECK(kind != MetricKind::kHistogram) << info.name;
  return AddEntry({std::move(info), kind, {}, std::move(table)});
}

MetricRegistry::Registration MetricRegistry::AddLevelTable(MetricInfo info, MetricKind kind,
                                                           LevelTable table) {
  CHECK(kind != MetricKind::kHistogram) << info.name;
  return AddEntry({std::move(info), kind, {}, std::move(table)});
}

MetricRegistry::Registration MetricRegistry::AddHistogramTable(MetricInfo info,
                                                               HistogramTable table) {
  CHECK(!info.bounds.empty()) << info.name;
  return AddEntry({std::move(info), MetricKind::kHistogram, {}, std::move(table)});
}

void MetricRegistry::ReadInto(const Entry& entry, MetricLevel level,
                              std::vector<MetricSample>* samples) {
  // Tables bring their own labels and any number of rows; single sources have one sample.
  if (const auto* table = std::get_if<Table>(&entry.source)) {
    for (LabeledValue& row : (*table)())
      samples->push_back({.labels = std::move(row.labels), .value = row.value});
    return;
  }
  if (const auto* table = std::get_if<LevelTable>(&entry.source)) {
    for (LabeledValue& row : (*table)(level))
      samples->push_back({.labels = std::move(row.labels), .value = row.value});
    return;
  }
  if (const auto* table = std::get_if<HistogramTable>(&entry.source)) {
    for (LabeledHistogram& row : (*table)(level))
      samples->push_back({.labels = std::move(row.labels), .histogram = std::move(row.histogram)});
    return;
  }
  MetricSample sample{.labels = entry.labels};
  if (const auto* counter = std::get_if<const Counter*>(&entry.source)) {
    sample.value = static_cast<double>((*counter)->value());
  } else if (const auto* gauge = std::get_if<const Gauge*>(&entry.source)) {
    sample.value = static_cast<double>((*gauge)->value());
  } else if (const auto* histogram = std::get_if<const Histogram*>(&entry.source)) {
    sample.histogram = (*histogram)->Read();
  } else {
    sample.value = std::get<Value>(entry.source)();
  }
  samples->push_back(std::move(sample));
}

std::vector<MetricFamily> MetricRegistry::Read(MetricLevel level, const Choice& is_wanted) const {
  // The lock is held over all callbacks: so a Registration that ends waits until its source is no
  // longer asked (Lifetime), and the sources may go right after.
  std::map<std::string, MetricFamily> by_name;
  const MutexLock lock(mutex_);
  for (const Entry& entry : entries_) {
    if (is_wanted && !is_wanted(entry.info)) continue;
    // Several entries make up one family; help, units and bounds are the first one's.
    auto [at, is_new] = by_name.try_emplace(entry.info.name);
    if (is_new) {
      at->second.info = entry.info;
      at->second.kind = entry.kind;
    }
    // Prometheus' text has one type for a name.
    CHECK(at->second.kind == entry.kind) << entry.info.name << " is of two kinds";
    ReadInto(entry, level, &at->second.samples);
  }
  std::vector<MetricFamily> families;
  for (auto& [name, family] : by_name) families.push_back(std::move(family));
  return families;
}

}  // namespace arion
