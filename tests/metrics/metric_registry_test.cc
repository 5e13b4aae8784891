// SPDX-License-Identifier: Apache-2.0
#include "metrics/metric_registry.h"
#include "base/counter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace arion {
namespace {

using testing::ElementsAre;

TEST(MetricRegistryTest, BoundsGoOneTwoFive) {
  EXPECT_THAT(OneTwoFiveBounds(1, 100), ElementsAre(1, 2, 5, 10, 20, 50, 100));
  EXPECT_THAT(OneTwoFiveBounds(10, 30), ElementsAre(10, 20));
}

TEST(MetricRegistryTest, LatencyHasAFewDozenBoundsAtMost) {
  const MetricInfo info = LatencyInfo("x_seconds", "");
  EXPECT_EQ(info.bounds.front(), 10'000);
  EXPECT_EQ(info.bounds.back(), 10'000'000'000);
  EXPECT_LT(info.bounds.size(), 24);
}

TEST(MetricRegistryTest, ReadsWhatTheSourcesHoldNow) {
  MetricRegistry registry;
  Counter counter;
  Gauge gauge;
  Histogram histogram;
  auto a = registry.Add({.name = "c_total"}, {}, counter);
  auto b = registry.Add({.name = "g"}, {}, gauge);
  auto c = registry.Add(LatencyInfo("h_seconds", ""), {}, histogram);
  auto d = registry.Add({.name = "v"}, MetricKind::kGauge, {}, [] { return 2.5; });
  counter.Add(3);
  gauge.Set(-4);
  histogram.Record(1000);
  const std::vector<MetricFamily> families = registry.Read();
  ASSERT_EQ(families.size(), 4);
  EXPECT_EQ(families[0].samples[0].value, 3);
  EXPECT_EQ(families[1].samples[0].value, -4);
  EXPECT_EQ(families[2].samples[0].histogram.count, 1);
  EXPECT_EQ(families[3].samples[0].value, 2.5);
}

TEST(MetricRegistryTest, OneNameWithManyLabelsIsOneFamily) {
  MetricRegistry registry;
  Counter first, second;
  auto a = registry.Add({.name = "x_total"}, {{"disk", "a"}}, first);
  auto b = registry.Add({.name = "x_total"}, {{"disk", "b"}}, second);
  const std::vector<MetricFamily> families = registry.Read();
  ASSERT_EQ(families.size(), 1);
  ASSERT_EQ(families[0].samples.size(), 2);
  EXPECT_EQ(families[0].samples[1].labels[0].second, "b");
}

TEST(MetricRegistryTest, AMetricGoesWithItsRegistration) {
  MetricRegistry registry;
  int asked = 0;
  {
    auto gone = registry.Add({.name = "x"}, MetricKind::kGauge, {}, [&asked] { return ++asked; });
    EXPECT_EQ(registry.Read().size(), 1);
  }
  EXPECT_TRUE(registry.Read().empty());
  EXPECT_EQ(asked, 1);
}

TEST(MetricRegistryTest, AMovedRegistrationRemovesOnce) {
  MetricRegistry registry;
  Counter counter;
  std::vector<MetricRegistry::Registration> held;
  held.push_back(registry.Add({.name = "x_total"}, {}, counter));
  MetricRegistry::Registration other = std::move(held[0]);
  held.clear();
  EXPECT_EQ(registry.Read().size(), 1);
}

TEST(MetricRegistryTest, ATableIsAskedForItsRowsEachTime) {
  MetricRegistry registry;
  std::vector<LabeledValue> rows = {{{{"disk", "a"}}, 1}};
  auto held = registry.AddTable({.name = "t"}, MetricKind::kGauge, [&rows] { return rows; });
  EXPECT_EQ(registry.Read()[0].samples.size(), 1);
  rows.push_back({{{"disk", "b"}}, 2});
  EXPECT_EQ(registry.Read()[0].samples.size(), 2);
}

}  // namespace
}  // namespace arion
