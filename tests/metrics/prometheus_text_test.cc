// The text is held to the format's rules by a checker of our own, and by promtool where there is one.
// SPDX-License-Identifier: Apache-2.0
#include "metrics/prometheus_text.h"
#include "base/counter.h"
#include "metrics/metric_registry.h"

#include <absl/strings/str_split.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <regex>
#include <set>

namespace arion {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

// What is wrong with a text, line by line: names, types before samples, no family twice, counters
// end in _total, buckets rise, +Inf equals the count.
std::vector<std::string> Faults(const std::string& text) {
  static const std::regex kSample(
      R"re(([a-z_][a-z0-9_]*)(\{([a-z_][a-z0-9_]*="([^"\\\n]|\\["\\n])*",?)*\})? (\S+))re");
  std::vector<std::string> faults;
  std::set<std::string> families;
  std::string family, type;
  double last_bucket = 0, count = 0;
  for (absl::string_view view : absl::StrSplit(text, '\n', absl::SkipEmpty())) {
    const std::string line(view);
    std::smatch match;
    if (line.starts_with("# HELP ")) continue;
    if (line.starts_with("# TYPE ")) {
      const std::vector<std::string> words = absl::StrSplit(line, ' ');
      family = words[2], type = words[3];
      if (!families.insert(family).second) faults.push_back(family + " stands twice");
      if (type == "counter" && !family.ends_with("_total")) faults.push_back(line);
      continue;
    }
    if (!std::regex_match(line, match, kSample)) {
      faults.push_back("unreadable: " + line);
      continue;
    }
    const std::string name = match[1];
    const double value = std::strtod(match[5].str().c_str(), nullptr);
    if (type != "histogram") {
      if (name != family) faults.push_back("outside its family: " + line);
    } else if (name == family + "_bucket") {
      const bool is_last = line.find("le=\"+Inf\"") != std::string::npos;
      if (value < last_bucket) faults.push_back("falls: " + line);
      last_bucket = is_last ? 0 : value;
      if (is_last && value != count) faults.push_back("not the count: " + line);
    } else if (name == family + "_count") {
      count = value;
    } else if (name != family + "_sum") {
      faults.push_back("outside its family: " + line);
    }
  }
  return faults;
}

class PrometheusTextTest : public testing::Test {
 protected:
  std::string Text() { return PrometheusText(registry_.Read()); }
  MetricRegistry registry_;
};

TEST_F(PrometheusTextTest, CountersAndGaugesInBaseUnits) {
  Counter nanos;
  Gauge free;
  auto a = registry_.Add({.name = "busy_seconds_total", .help = "Time.", .per_unit = 1e9},
                         {{"disk", "ssd1"}}, nanos);
  auto b = registry_.Add({.name = "free_bytes", .help = "Space."}, {}, free);
  nanos.Add(1'500'000'000);
  free.Set(int64_t{1} << 40);
  const std::string text = Text();
  EXPECT_THAT(text, HasSubstr("# HELP arion_busy_seconds_total Time.\n"
                              "# TYPE arion_busy_seconds_total counter\n"
                              "arion_busy_seconds_total{disk=\"ssd1\"} 1.5\n"));
  EXPECT_THAT(text, HasSubstr("# TYPE arion_free_bytes gauge\narion_free_bytes 1099511627776\n"));
  EXPECT_THAT(Faults(text), IsEmpty());
}

TEST_F(PrometheusTextTest, AHistogramHasItsBoundsInSecondsAndExactSumAndCount) {
  Histogram histogram;
  auto held = registry_.Add(LatencyInfo("sync_seconds", "Flushes."), {}, histogram);
  for (uint64_t nanos : std::vector<uint64_t>{1'000, 15'000, 15'000, 3'000'000'000})
    histogram.Record(nanos);
  const std::string text = Text();
  EXPECT_THAT(text, HasSubstr("arion_sync_seconds_bucket{le=\"1e-05\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("arion_sync_seconds_bucket{le=\"2e-05\"} 3\n"));
  EXPECT_THAT(text, HasSubstr("arion_sync_seconds_bucket{le=\"2\"} 3\n"));
  EXPECT_THAT(text, HasSubstr("arion_sync_seconds_bucket{le=\"5\"} 4\n"));
  EXPECT_THAT(text, HasSubstr("arion_sync_seconds_bucket{le=\"+Inf\"} 4\n"));
  EXPECT_THAT(text, HasSubstr("arion_sync_seconds_count 4\n"));
  EXPECT_THAT(text, HasSubstr("arion_sync_seconds_sum 3.000031\n"));
  EXPECT_THAT(Faults(text), IsEmpty());
}

TEST_F(PrometheusTextTest, LabelValuesAreEscaped) {
  Counter counter;
  auto held = registry_.Add({.name = "x_total", .help = "h"}, {{"path", "a\"b\\c\nd"}}, counter);
  EXPECT_THAT(Text(), HasSubstr("arion_x_total{path=\"a\\\"b\\\\c\\nd\"} 0\n"));
  EXPECT_THAT(Faults(Text()), IsEmpty());
}

TEST_F(PrometheusTextTest, TheCheckerFindsFaults) {
  EXPECT_THAT(Faults("# TYPE x counter\nx 1\n"), Not(IsEmpty()));
  EXPECT_THAT(Faults("# TYPE x gauge\nx{a=b} 1\n"), Not(IsEmpty()));
  EXPECT_THAT(Faults("# TYPE x gauge\nx 1\n# TYPE x gauge\nx 1\n"), Not(IsEmpty()));
  EXPECT_THAT(Faults("# TYPE h histogram\nh_bucket{le=\"1\"} 2\nh_bucket{le=\"2\"} 1\n"),
              Not(IsEmpty()));
  EXPECT_THAT(Faults("# TYPE h histogram\nh_count 3\nh_bucket{le=\"+Inf\"} 2\n"), Not(IsEmpty()));
}

TEST_F(PrometheusTextTest, PromtoolFindsNothingToSay) {
  if (std::system("command -v promtool >/dev/null 2>&1") != 0)
    GTEST_SKIP() << "not run: needs promtool (Debian package prometheus)";
  Counter counter;
  Histogram histogram;
  auto a = registry_.Add({.name = "x_total", .help = "Things."}, {{"disk", "a"}}, counter);
  auto b = registry_.Add(LatencyInfo("sync_seconds", "Flushes."), {}, histogram);
  histogram.Record(15'000);
  const std::string path = testing::TempDir() + "/arion_metrics.txt";
  std::ofstream(path) << Text();
  EXPECT_EQ(std::system(("promtool check metrics < " + path).c_str()), 0);
}

TEST(PrometheusTextOfOldLabelsTest, LabelsForTheJsonAloneAreLeftOut) {
  MetricRegistry registry;
  auto held =
      registry.AddTable({.name = "partitions", .help = "h", .old = {.labels = {"table_id"}}},
                        MetricKind::kGauge, []() -> std::vector<LabeledValue> {
                          return {{{{"table", "t"}, {"table_id", "2"}}, 1.0}};
                        });
  EXPECT_THAT(PrometheusText(registry.Read()), HasSubstr("arion_partitions{table=\"t\"} 1\n"));
}

}  // namespace
}  // namespace arion
