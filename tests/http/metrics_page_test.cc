// Who gets JSON and who Prometheus' text. SPDX-License-Identifier: Apache-2.0
#include "http/metrics_page.h"
#include "base/counter.h"
#include "env/clock.h"
#include "metrics/metrics_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace arion {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class FixedClock : public Clock {
 public:
  Instant Now() const override { return Instant(1); }
  int64_t WallMicros() const override { return 1700000000000000; }
};

class MetricsPageTest : public testing::Test {
 protected:
  MetricsPageTest() {
    registered_ = registry_.Add({.name = "things_total", .help = "Things."}, {}, things_);
    things_.Add(3);
  }
  HttpResponse Get(const char* accept,
                   std::vector<std::pair<std::string, std::string>> arguments = {}) {
    HttpRequest request{.method = "GET", .path = "/metrics", .arguments = std::move(arguments)};
    if (accept != nullptr) request.headers.emplace_back("accept", accept);
    return page_(request);
  }
  FixedClock clock_;
  Counter things_;
  MetricRegistry registry_;
  MetricRegistry::Registration registered_;
  Page page_ = MetricsPage(registry_, {.cluster = "c"}, clock_, {});
};

TEST_F(MetricsPageTest, WhoAcceptsAnythingGetsText) {
  for (const char* accept : {"*/*", "text/plain", "application/openmetrics-text"}) {
    const HttpResponse response = Get(accept);
    EXPECT_EQ(response.status, 200);
    EXPECT_THAT(response.content_type, StartsWith("text/plain; version=0.0.4"));
    EXPECT_THAT(response.body, HasSubstr("\narion_things_total 3\n"));
  }
}

TEST_F(MetricsPageTest, WhoNamesJsonOrNothingGetsJson) {
  for (const char* accept : {static_cast<const char*>(nullptr), "application/json"}) {
    const HttpResponse response = Get(accept);
    EXPECT_EQ(response.content_type, "application/json");
    EXPECT_THAT(response.body, HasSubstr(R"({"name":"things_total","value":3})"));
    EXPECT_THAT(response.body, Not(HasSubstr("arion_")));
  }
}

TEST_F(MetricsPageTest, AnArgumentThatJsonDoesNotKnowIsRefused) {
  const HttpResponse response = Get(nullptr, {{"x", "1"}});
  EXPECT_EQ(response.status, 400);
  EXPECT_EQ(response.content_type, "application/json");
}

TEST_F(MetricsPageTest, WhatSourcesReportIsFetchedBeforeEachReading) {
  const Page page = MetricsPage(registry_, {}, clock_, [this] { things_.Add(1); });
  HttpRequest request;
  request.headers.emplace_back("accept", "*/*");
  EXPECT_THAT(page(request).body, HasSubstr("\narion_things_total 4\n"));
  EXPECT_THAT(page(request).body, HasSubstr("\narion_things_total 5\n"));
}

}  // namespace
}  // namespace arion
