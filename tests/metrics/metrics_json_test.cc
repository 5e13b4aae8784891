// SPDX-License-Identifier: Apache-2.0
#include "metrics/metrics_json.h"
#include "base/counter.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace arion {
namespace {

constexpr int64_t kSecond = 1'000'000'000;

class MetricsJsonTest : public testing::Test {
 protected:
  nlohmann::json Ask(const QueryArguments& arguments, int64_t at = kSecond) {
    absl::StatusOr<std::string> text = json_.Write(registry_.Read(), arguments, at);
    EXPECT_TRUE(text.ok()) << text.status();
    return text.ok() ? nlohmann::json::parse(*text) : nlohmann::json();
  }

  MetricRegistry registry_;
  MetricsJson json_{{.cluster = "c", .role = "replica", .host = "h", .port = 34801}};
};

TEST_F(MetricsJsonTest, SaysWhoAnswersAndWhen) {
  const nlohmann::json answer = Ask({});
  EXPECT_EQ(answer["cluster"], "c");
  EXPECT_EQ(answer["role"], "replica");
  EXPECT_EQ(answer["host"], "h");
  EXPECT_EQ(answer["port"], 34801);
  EXPECT_EQ(answer["timestamp_ns"], kSecond);
  EXPECT_TRUE(answer["entities"].empty());
}

TEST_F(MetricsJsonTest, OldNamesAndUnitsOnTheEntityOfTheDisk) {
  Gauge free;
  free.Set(int64_t{3} << 20);
  auto held = registry_.Add(
      {.name = "disk_free_bytes", .old = {.name = "disk_capacity_avail_mb", .per_unit = 1 << 20}},
      {{"disk", "ssd1"}}, free);
  const nlohmann::json entity = Ask({})["entities"][0];
  EXPECT_EQ(entity["type"], "disk");
  EXPECT_EQ(entity["id"], "disk@ssd1");
  EXPECT_EQ(entity["attributes"]["tag"], "ssd1");
  EXPECT_EQ(entity["metrics"][0].dump(), R"({"name":"disk_capacity_avail_mb","value":3})");
}

TEST_F(MetricsJsonTest, TablesTasksAndQueuesAreEntities) {
  Gauge queued;
  auto table = registry_.AddTable(
      {.name = "dead_partitions", .old = {.name = "dead_partitions", .labels = {"table_id"}}},
      MetricKind::kGauge, []() -> std::vector<LabeledValue> {
        return {{{{"table", "t"}, {"table_id", "2"}}, 1.0}};
      });
  auto queue =
      registry_.Add({.name = "queue_length", .is_json_only = true}, {{"queue", "d0"}}, queued);
  auto task = registry_.Add({.name = "dropped", .is_json_only = true}, {{"task", "GET"}}, queued);
  const nlohmann::json entities = Ask({})["entities"];
  ASSERT_EQ(entities.size(), 3u);
  EXPECT_EQ(entities[0]["id"], "task@GET");
  EXPECT_EQ(entities[0]["type"], "profiler");
  EXPECT_EQ(entities[0]["attributes"]["task_name"], "GET");
  EXPECT_EQ(entities[1]["id"], "queue@d0");
  EXPECT_EQ(entities[2]["id"], "table@2");
  EXPECT_EQ(entities[2]["attributes"]["table"], "t");
}

TEST_F(MetricsJsonTest, OnlyFamiliesThatMayBeCalledSoAreRead) {
  int asked = 0;
  const auto counting = [&asked](MetricLevel) -> std::vector<LabeledValue> {
    ++asked;
    return {{{{"operation", "get"}}, 1.0}};
  };
  auto wanted =
      registry_.AddLevelTable({.name = "requests_total", .old = {.name = "{operation}_requests"}},
                              MetricKind::kCounter, counting);
  auto other = registry_.AddLevelTable({.name = "other"}, MetricKind::kGauge, counting);
  const QueryArguments arguments = {{"metrics", "get_requests,nothing"}};
  const auto families = registry_.Read(MetricLevel::kPartition, FamiliesFor(arguments));
  EXPECT_EQ(families.size(), 1u);
  EXPECT_EQ(asked, 1);
  EXPECT_EQ(registry_.Read(MetricLevel::kPartition, FamiliesFor({})).size(), 2u);
}

TEST_F(MetricsJsonTest, APartitionsOperationHasItsOldNameAndEntity) {
  auto held = registry_.AddLevelTable(
      {.name = "requests_total", .help = "h", .old = {.name = "{operation}_requests"}},
      MetricKind::kCounter, [](MetricLevel level) -> std::vector<LabeledValue> {
        if (level == MetricLevel::kTable) return {{{{"table", "t"}, {"operation", "get"}}, 7.0}};
        return {{{{"table", "t"}, {"partition", "2.1"}, {"operation", "get"}}, 4.0},
                {{{"table", "t"}, {"partition", "2.1"}, {"operation", "put"}}, 3.0}};
      });
  const auto text = json_.Write(registry_.Read(MetricLevel::kPartition), {}, kSecond);
  ASSERT_TRUE(text.ok());
  const nlohmann::json entities = nlohmann::json::parse(*text)["entities"];
  ASSERT_EQ(entities.size(), 1u);
  EXPECT_EQ(entities[0]["id"], "replica@2.1");
  EXPECT_EQ(entities[0]["attributes"].dump(), R"({"partition_id":"1","table_id":"2"})");
  EXPECT_EQ(entities[0]["metrics"].dump(),
            R"([{"name":"get_requests","value":4},{"name":"put_requests","value":3}])");
  EXPECT_EQ(Ask({})["entities"][0]["metrics"][0].dump(), R"({"name":"get_requests","value":7})");
}

TEST_F(MetricsJsonTest, PercentilesAreOfTheLastWhile) {
  Histogram histogram;
  auto held = registry_.Add(LatencyInfo("sync_seconds", ""), {}, histogram);
  auto p99 = [&](int64_t at) {
    return Ask({}, at)["entities"][0]["metrics"][0]["p99"].get<int64_t>();
  };
  histogram.Record(50);
  EXPECT_EQ(p99(100 * kSecond), 50);
  EXPECT_EQ(p99(101 * kSecond), 50);
  p99(111 * kSecond);
  p99(122 * kSecond);
  histogram.Record(7);
  EXPECT_EQ(p99(123 * kSecond), 7);
}

TEST_F(MetricsJsonTest, PercentilesOfWhatBeganAnewAreOfThatAlone) {
  auto histogram = std::make_unique<Histogram>();
  auto held = registry_.AddHistogramTable(LatencyInfo("sync_seconds", ""),
                                          [&](MetricLevel) -> std::vector<LabeledHistogram> {
                                            return {{{{"partition", "2.1"}}, histogram->Read()}};
                                          });
  auto p99 = [&](int64_t at) {
    return Ask({}, at)["entities"][0]["metrics"][0]["p99"].get<int64_t>();
  };
  for (int i = 0; i < 5; ++i) histogram->Record(50);
  for (int at = 100; at < 130; at += 10) p99(at * kSecond);
  histogram = std::make_unique<Histogram>();
  histogram->Record(7);
  EXPECT_EQ(p99(131 * kSecond), 7);
}

TEST_F(MetricsJsonTest, WhatAFamilyNoLongerHasIsForgotten) {
  int partition = 0;
  auto held = registry_.AddHistogramTable(
      LatencyInfo("sync_seconds", ""), [&](MetricLevel) -> std::vector<LabeledHistogram> {
        Histogram histogram;
        histogram.Record(50);
        return {{{{"partition", "2." + std::to_string(partition)}}, histogram.Read()},
                {{{"partition", "1.0"}}, histogram.Read()}};
      });
  for (; partition < 100; ++partition) Ask({});
  EXPECT_EQ(json_.windows(), 2u);
}

TEST_F(MetricsJsonTest, ArgumentsChoose) {
  Counter first, second;
  auto a = registry_.Add({.name = "a_total"}, {{"disk", "x"}}, first);
  auto b = registry_.Add({.name = "b_total"}, {}, second);
  EXPECT_EQ(Ask({{"types", "server"}})["entities"].size(), 1);
  EXPECT_EQ(Ask({{"ids", "disk@x,disk@y"}})["entities"][0]["id"], "disk@x");
  EXPECT_EQ(Ask({{"metrics", "b_total"}})["entities"][0]["metrics"][0]["name"], "b_total");
  EXPECT_EQ(Ask({{"attributes", "tag,x"}})["entities"].size(), 1);
  EXPECT_EQ(Ask({{"attributes", "tag,z"}})["entities"].size(), 0);
  EXPECT_EQ(Ask({{"with_metric_fields", "value"}})["entities"][0]["metrics"][0].size(), 1);
  EXPECT_EQ(Ask({{"detail", "true"}})["entities"][0]["metrics"][0]["type"], "Counter");
}

TEST_F(MetricsJsonTest, BadArgumentsAreRefused) {
  for (const QueryArguments& bad :
       {QueryArguments{{"attributes", "tag"}}, QueryArguments{{"detail", "yes"}},
        QueryArguments{{"nonsense", "1"}}}) {
    EXPECT_FALSE(json_.Write({}, bad, 0).ok()) << bad[0].first;
  }
}

}  // namespace
}  // namespace arion
