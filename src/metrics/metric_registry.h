// MetricRegistry: gives names to what is counted elsewhere. Instruments (base/counter.h,
// base/histogram.h) live with those who count; here stands how they are called on /metrics.
//
//   Counter written;
//   auto held = registry.Add({.name = "log_bytes_total", .help = "Bytes written."},
//                            {{"disk", tag}}, written);  // `held` goes before `written`
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

#include "base/histogram.h"
#include "base/mutex.h"

namespace arion {

class Counter;
class Gauge;

// Names and values, in the order they are shown.
using MetricLabels = std::vector<std::pair<std::string, std::string>>;

// How a family is shown, and whether its `value` or its `histogram` counts.
enum class MetricKind { kCounter, kGauge, kHistogram };

// Sources that can say more than a table's sums say each partition's when asked.
enum class MetricLevel { kTable, kPartition };

// What a family is called in the old versions' JSON (decision 27); an empty name: as here. A
// label's name in braces stands for its value: "{operation}_latency_ns".
struct OldMetricName {
  std::string name;
  // How many of the source's unit make one of the old name's.
  double per_unit = 1;
  // Labels that Prometheus does not get.
  std::vector<std::string> labels;
};

// What holds for a whole family.
struct MetricInfo {
  std::string name;
  std::string help;
  // How many of the source's unit make one of the shown unit.
  double per_unit = 1;
  // Of histograms: upper ends of the exposed buckets, ascending, in the source's unit.
  std::vector<uint64_t> bounds;
  OldMetricName old;
  // Not for Prometheus, which sums up by itself what older versions count by server.
  bool is_json_only = false;
};

// Bounds 1, 2, 5, 10, 20, ... from `first` (a power of ten) up to at most `last`.
std::vector<uint64_t> OneTwoFiveBounds(uint64_t first, uint64_t last);
// For durations counted in nanoseconds: bounds from 10 us to 10 s, exposed in seconds.
MetricInfo LatencyInfo(std::string name, std::string help);

// One reading of one family with one set of labels.
struct MetricSample {
  MetricLabels labels;
  // Of counters and gauges, in the source's unit.
  double value = 0;
  // Of histograms.
  Histogram::Snapshot histogram;
};
// A family as it was read.
struct MetricFamily {
  MetricInfo info;
  MetricKind kind = MetricKind::kGauge;
  std::vector<MetricSample> samples;
};

// One row of a table whose rows come and go: made by the table's callback for one reading.
struct LabeledValue {
  MetricLabels labels;
  double value = 0;
};

// The same of a table of histograms.
struct LabeledHistogram {
  MetricLabels labels;
  Histogram::Snapshot histogram;
};

// One for a process; main/ makes it before what is counted, and pages read it. A replica or a disk
// that comes later adds itself, and its Registration takes it out again.
class MetricRegistry {
 public:
  // Takes its metric out of the registry when it is destroyed. It waits for a reading that is under
  // way. Move-only.
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
  // What a registration asks at each reading: a number; rows; rows by level; rows of histograms.
  using Value = std::function<double()>;
  using Table = std::function<std::vector<LabeledValue>()>;
  using LevelTable = std::function<std::vector<LabeledValue>(MetricLevel)>;
  using HistogramTable = std::function<std::vector<LabeledHistogram>(MetricLevel)>;

  // Adds one sample of a family. The same name may be added again with other labels; help, units
  // and bounds are the first one's.
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
  // Reads all wanted families, ordered by name; samples in the order of registration. Without a
  // choice: every family.
  std::vector<MetricFamily> Read(MetricLevel level = MetricLevel::kTable,
                                 const Choice& is_wanted = nullptr) const;

 private:
  // What was registered: one sample's source, or a table of them.
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
  // Guarded by mutex_.
  std::list<Entry> entries_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace arion
