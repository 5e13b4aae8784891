// SPDX-License-Identifier: Apache-2.0
#include "exposition/process_metrics.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <string>

namespace arion {
namespace {

double ValueOf(const MetricRegistry& registry, const std::string& name) {
  for (const MetricFamily& family : registry.Read())
    if (family.info.name == name) return family.samples.at(0).value;
  ADD_FAILURE() << "no " << name;
  return 0;
}

TEST(ProcessMetricsTest, WithoutAFreeDescriptorAllCountAsOpen) {
  MetricRegistry registry;
  const MetricRegistrations held = RegisterProcess(registry);
  EXPECT_GE(ValueOf(registry, "process_open_fds"), 3);
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  rlimit few = before;
  few.rlim_cur = 3;  // those of the standard streams are taken
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
  const double open = ValueOf(registry, "process_open_fds");
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_EQ(open, 3);
}

}  // namespace
}  // namespace arion
