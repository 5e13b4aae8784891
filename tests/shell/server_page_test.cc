// SPDX-License-Identifier: Apache-2.0
#include "tools/pages/server_page.h"

#include <gtest/gtest.h>

#include "tools/shell/progress.h"

namespace arion::shell {
namespace {

TEST(ServerPageTest, SamplesAreReadWithTheirLabels) {
  const auto samples = ParseSamples(
      "# HELP arion_x y\narion_up 1\narion_x_total{disk=\"a,b\",table=\"t\\\"}\"} 2.5\nother 3\n"
      "arion_broken{disk=\"a\narion_none\n");
  ASSERT_EQ(samples.size(), 2u);
  EXPECT_EQ(samples[0].name, "up");
  EXPECT_EQ(samples[1].labels.at("disk"), "a,b");
  EXPECT_EQ(samples[1].labels.at("table"), "t\"}");
  EXPECT_EQ(SumOf(samples, "x_total", "disk", "a,b"), 2.5);
  EXPECT_EQ(SumOf(samples, "x_total", "disk", "c"), 0);
}

TEST(ServerPageTest, AQuantileIsTheEndOfItsBucket) {
  const auto samples = ParseSamples(
      "arion_t_bucket{le=\"0.001\"} 50\narion_t_bucket{le=\"0.002\"} 99\n"
      "arion_t_bucket{le=\"+Inf\"} 100\n");
  EXPECT_EQ(QuantileOf(samples, "t", 0.5), 0.001);
  EXPECT_EQ(QuantileOf(samples, "t", 0.99), 0.002);
  EXPECT_EQ(QuantileOf(samples, "t", 1), 0.002) << "the last end that is a number";
  EXPECT_EQ(QuantileOf(samples, "u", 0.5), 0);
}

TEST(ProgressTest, TellsRateAndRest) {
  EXPECT_EQ(ProgressText(0, 40, "partitions", absl::Seconds(1)), "0/40 partitions");
  EXPECT_EQ(ProgressText(12, 40, "partitions", absl::Seconds(4)),
            "12/40 partitions, 3.0/s, 9 s left");
  EXPECT_EQ(ProgressText(40, 40, "partitions", absl::Seconds(4)), "40/40 partitions");
}

}  // namespace
}  // namespace arion::shell
