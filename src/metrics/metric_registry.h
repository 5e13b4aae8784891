// MetricRegistry: gives names to what is counted elsewhere. Instruments (base/counter.h,
// base/histogram.h) live with those who count; here stands how they are called on /metrics.
//
// Shapes    A family is one name with one help text, kind and scale; its samples differ in labels.
//           Names are lower case with the base unit and, for counters, `_total` at the end
//           (Prometheus' customs); the exposition puts `arion_` in front.
// Units     A source counts in its owner's unit; `per_unit` of these make one base unit: 1e9
//           nanoseconds a second.
// Threads   Thread-safe. Callbacks run on the thread that calls Read and may take a moment, but not
//           wait for a disk or a strand. No lock of the registry is ever taken by who counts.
// Lifetime  A source outlives its Registration; once that is gone the source is not asked again.
//           The registry outlives its Registrations.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/counter.h"
#include "base/histogram.h"
#include "base/mutex.h"

namespace arion {

using MetricLabels = std::vector<std::pair<std::string, std::string>>;

enum class MetricKind { kCounter, kGauge, kHistogram };

// Sources that can say more than a table's sums say each partition's when asked.
enum class MetricLevel { kTable, kPartition };

// What a family is called in the old versions' JSON (decision 27); empty: as here.
// A label's name in braces stands for its value: "{operation}_latency_ns".
struct OldMetricName {
  std::string name;
  double per_unit = 1;              // how many of the source's unit make one of the old name's
  std::vector<std::string> labels;  // that Prometheus does not get
};

struct MetricInfo {
  std::string name;
  std::string help;
  double per_unit = 1;
  // Histograms: upper ends of the exposed buckets, ascending, in the source's unit.
  std::vector<uint64_t> bounds;
  OldMetricName old;
  // Not for Prometheus, which sums up by itself what older versions count by server.
  bool is_json_only = false;
};

// Bounds 1, 2, 5, 10, 20, ... from `first` (a power of ten) up to at most `last`.
std::vector<uint64_t> OneTwoFiveBounds(uint64_t first, uint64_t last);
// For durations counted in nanoseconds: 10 us to 10 s, exposed in seconds.
MetricInfo LatencyInfo(std::string name, std::string help);

// One reading of one family.
struct MetricSample {
  MetricLabels labels;
  double value = 0;               // counters and gauges, in the source's unit
  Histogram::Snapshot histogram;  // histograms
};
struct MetricFamily {
  MetricInfo info;
  MetricKind kind = MetricKind::kGauge;
  std::vector<MetricSample> samples;
};

// A number of a set that changes: one row of a CallbackTable.
struct LabeledValue {
  MetricLabels labels;
  double value = 0;
};

struct LabeledHistogram {
  MetricLabels labels;
  Histogram::Snapshot histogram;
};

class MetricRegistry {
 public:
  // Takes its metric out of the registry when it goes.
  class Registration {
   public:
    Registration() = default;
    explicit Registration(std::function<void()> remove) : remove_(std::move(remove)) {}
    Registration(Registration&& other) noexcept { *this = std::move(other); }
    Registration& operator=(Registration&& other) noexcept {
      std::swap(remove_, other.remove_);
      return *this;
    }
    ~Registration() {
      if (remove_) remove_();
    }

   private:
    std::function<void()> remove_;
  };
  using Value = std::function<double()>;
  using Table = std::function<std::vector<LabeledValue>()>;
  using LevelTable = std::function<std::vector<LabeledValue>(MetricLevel)>;
  using HistogramTable = std::function<std::vector<LabeledHistogram>(MetricLevel)>;

  // The same name may be added again with other labels; help, units and bounds are the first one's.
  [[nodiscard]] Registration Add(MetricInfo info, MetricLabels labels, const Counter& counter);
  [[nodiscard]] Registration Add(MetricInfo info, MetricLabels labels, const Gauge& gauge);
  [[nodiscard]] Registration Add(MetricInfo info, MetricLabels labels, const Histogram& histogram);
  // A number that is asked for at each reading; kCounter or kGauge.
  [[nodiscard]] Registration Add(MetricInfo info, MetricKind kind, MetricLabels labels,
                                 Value value);
  // A whole family whose samples come and go.
  [[nodiscard]] Registration AddTable(MetricInfo info, MetricKind kind, Table table);

  [[nodiscard]] Registration AddLevelTable(MetricInfo info, MetricKind kind, LevelTable table);
  [[nodiscard]] Registration AddHistogramTable(MetricInfo info, HistogramTable table);

  // Which families are wanted; the others are not asked.
  using Choice = std::function<bool(const MetricInfo&)>;
  // Ordered by name; samples in the order of registration. Without a choice: every family.
  std::vector<MetricFamily> Read(MetricLevel level = MetricLevel::kTable,
                                 const Choice& is_wanted = nullptr) const;

 private:
  struct Entry {
    MetricInfo info;
    MetricKind kind;
    MetricLabels labels;
    std::variant<const Counter*, const Gauge*, const Histogram*, Value, Table, LevelTable,
                 HistogramTable>
        source;
  };
  Registration AddEntry(Entry entry);
  static void ReadInto(const Entry& entry, MetricLevel level, std::vector<MetricSample>* samples);

  mutable Mutex mutex_;
  std::list<Entry> entries_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace arion
