// Histograms, pacing, what the run must keep, and the texts.
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tools/load/chaos.h"
#include "tools/load/report/report.h"
#include "tools/load/report/report_text.h"
#include "tools/load/report/slo.h"
#include "tools/load/run/hdr_log.h"
#include "tools/load/run/pacing.h"

namespace arion::load {
namespace {

using testing::HasSubstr;

TEST(LatencyHistogram, EachPlaceHoldsItsValuesWithinAThousandth) {
  size_t last = 0;
  for (int64_t value = 0; value < LatencyHistogram::kLargest; value += 1 + value / 97) {
    const size_t place = LatencyHistogram::PlaceOf(value);
    EXPECT_GE(place, last);
    last = place;
    const int64_t largest = LatencyHistogram::LargestAt(place);
    EXPECT_GE(largest, value);
    EXPECT_LE(static_cast<double>(largest - value), static_cast<double>(value) / 1000);
    EXPECT_EQ(LatencyHistogram::PlaceOf(largest), place);
    EXPECT_EQ(LatencyHistogram::PlaceOf(largest + 1), place + 1);
  }
}

TEST(LatencyHistogram, PercentilesAreThoseOfTheValues) {
  LatencyHistogram latencies;
  for (int64_t i = 1; i <= 10'000; ++i) latencies.Record(i * 1000);
  EXPECT_NEAR(static_cast<double>(latencies.Percentile(50)), 5e6, 5e3);
  EXPECT_NEAR(static_cast<double>(latencies.Percentile(99.9)), 9.99e6, 1e4);
  EXPECT_EQ(latencies.Percentile(100), 10'000'000);
  EXPECT_EQ(latencies.max(), 10'000'000);
  EXPECT_EQ(latencies.min(), 1000);
  EXPECT_NEAR(latencies.Mean(), 5'000'500, 1);
}

TEST(LatencyHistogram, SumsAreAsIfRecordedTogether) {
  LatencyHistogram one, two, both;
  for (int64_t i = 0; i < 1000; ++i) {
    (i % 2 == 0 ? one : two).Record(i * i);
    both.Record(i * i);
  }
  one.Add(two);
  EXPECT_EQ(one.counts(), both.counts());
  EXPECT_EQ(one.Percentile(90), both.Percentile(90));
  EXPECT_EQ(one.max(), both.max());
}

TEST(LatencyHistogram, WhatIsBeyondItsRangeCountsAtItsEnd) {
  LatencyHistogram latencies;
  latencies.Record(-5);
  latencies.Record(INT64_MAX);
  EXPECT_EQ(latencies.count(), 2u);
  EXPECT_EQ(latencies.min(), 0);
  EXPECT_EQ(latencies.max(), LatencyHistogram::kLargest);
}

TEST(HdrLog, HasHeadAndLines) {
  const std::string head = HdrLogHead(absl::FromUnixMillis(1441812279474));
  EXPECT_THAT(head, HasSubstr("#[StartTime: 1441812279.474 (seconds since epoch)"));
  LatencyHistogram latencies;
  latencies.Record(2'500'000);
  const std::string line = HdrLogLine(
      {.tag = "READ", .start = absl::Seconds(3), .length = absl::Milliseconds(1500)}, latencies);
  EXPECT_THAT(line, testing::StartsWith("Tag=READ,3.000,1.500,2.500,HISTF"));
}

TEST(Pacing, AConstantRateIsEven) {
  const Pacing pacing = *Pacing::Parse("1000");
  EXPECT_EQ(pacing.StartOf(0), absl::ZeroDuration());
  EXPECT_EQ(pacing.StartOf(1), absl::Milliseconds(1));
  EXPECT_NEAR(absl::ToDoubleSeconds(pacing.StartOf(3'600'000)), 3600, 1e-6);
  EXPECT_EQ(pacing.StartsBefore(absl::Seconds(2)), 2000);
  EXPECT_EQ(pacing.StartsBefore(absl::ZeroDuration()), 0);
}

TEST(Pacing, ARampReachesEachRateInItsTime) {
  const Pacing pacing = *Pacing::Parse("100-300/10s,300/5s,50");
  EXPECT_NEAR(static_cast<double>(pacing.StartsBefore(absl::Seconds(10))), 2000, 1);
  EXPECT_NEAR(static_cast<double>(pacing.StartsBefore(absl::Seconds(5))), 750, 1);
  EXPECT_NEAR(static_cast<double>(pacing.StartsBefore(absl::Seconds(15))), 3500, 1);
  EXPECT_NEAR(static_cast<double>(pacing.StartsBefore(absl::Seconds(35))), 4500, 1);
  absl::Duration last;
  for (int64_t i = 1; i < 5000; ++i) {
    EXPECT_GT(pacing.StartOf(i), last) << i;
    last = pacing.StartOf(i);
  }
}

TEST(Pacing, ARampDownGoesOnAtItsLastRate) {
  const Pacing pacing = *Pacing::Parse("300-100/10s");
  EXPECT_NEAR(static_cast<double>(pacing.StartsBefore(absl::Seconds(10))), 2000, 1);
  EXPECT_NEAR(static_cast<double>(pacing.StartsBefore(absl::Seconds(20))), 3000, 1);
}

TEST(Pacing, WhatCannotBeIsSaid) {
  for (const char* text :
       {"", "0", "-5", "x", "10-", "10-20", "5/0s", "5,6", "5/10s,", "1e9", "nan"}) {
    EXPECT_FALSE(Pacing::Parse(text).ok()) << text;
  }
}

PhaseResult ResultWith(int64_t nanos) {
  PhaseResult result{.name = "run", .seconds = 2};
  KindTally& reads = result.total.kinds[static_cast<size_t>(Kind::kRead)];
  for (int i = 0; i < 1000; ++i) reads.service.Record(nanos);
  return result;
}

TEST(Slo, IsKeptOrMissed) {
  const auto outcome = [](std::string_view text, const PhaseResult& result) {
    absl::StatusOr<std::vector<Slo>> slos = Slo::Parse(text);
    EXPECT_TRUE(slos.ok()) << slos.status();
    return Judge(slos->at(0), result);
  };
  const PhaseResult result = ResultWith(2'000'000);
  EXPECT_TRUE(outcome("READ p99<5ms", result).is_kept);
  EXPECT_FALSE(outcome("read p99.9<2ms", result).is_kept);
  EXPECT_TRUE(outcome("max<3ms", result).is_kept);
  EXPECT_FALSE(outcome("UPDATE p99<5ms", result).is_kept) << "nothing was measured";
  EXPECT_TRUE(outcome("ops>499", result).is_kept);
  EXPECT_FALSE(outcome("ops>500", result).is_kept);
  EXPECT_TRUE(outcome("errors<0.1%", result).is_kept);
  PhaseResult failing = result;
  failing.total.kinds[0].errors[absl::StatusCode::kUnavailable] = 10;
  EXPECT_FALSE(outcome("errors<0.1%", failing).is_kept);
}

TEST(Slo, WhatCannotBeIsSaid) {
  for (const char* text : {"p99", "p99<x", "WRITE p99<5ms", "p101<5ms", "ops<5", "errors<5",
                           "p<5ms", "avg>5ms", "READ ops>5"}) {
    EXPECT_FALSE(Slo::Parse(text).ok()) << text;
  }
  EXPECT_EQ(Slo::Parse("")->size(), 0u);
  EXPECT_EQ(Slo::Parse("p99<5ms, max<1s")->size(), 2u);
}

TEST(Chaos, CommandsRunAtTheirTimesAndSayHowTheyEnded) {
  Chaos chaos({*ChaosCommand::Parse("5s:exit 3"), *ChaosCommand::Parse("7s:kill -9 $$")});
  EXPECT_THAT(chaos.RunDue(absl::Seconds(4)), testing::IsEmpty());
  EXPECT_THAT(chaos.RunDue(absl::Seconds(5)), testing::ElementsAre("began: exit 3"));
  EXPECT_THAT(chaos.Finish(), testing::ElementsAre("exit 3: exit 3"));
  EXPECT_THAT(chaos.RunDue(absl::Seconds(9)), testing::ElementsAre("began: kill -9 $$"));
  EXPECT_THAT(chaos.Finish(), testing::ElementsAre("signal 9 ended: kill -9 $$"));
  EXPECT_THAT(chaos.RunDue(absl::Seconds(99)), testing::IsEmpty());
}

TEST(Chaos, WhatNeverRanIsSaid) {
  Chaos chaos({*ChaosCommand::Parse("5s:exit 0"), *ChaosCommand::Parse("70s:exit 1")});
  EXPECT_EQ(chaos.NeverRan().size(), 2u);
  chaos.RunDue(absl::Seconds(5));
  EXPECT_THAT(chaos.NeverRan(),
              testing::ElementsAre("never ran, the run was over before 1m10s: exit 1"));
}

TEST(Chaos, WhatCannotBeIsSaid) {
  for (const char* text : {"", "5s", "5s:", "x:ls", "-5s:ls"}) {
    EXPECT_FALSE(ChaosCommand::Parse(text).ok()) << text;
  }
}

TEST(ReportText, NumbersAreReadable) {
  EXPECT_EQ(LatencyText(92'100), "92.1us");
  EXPECT_EQ(LatencyText(2'100'000), "2.10ms");
  EXPECT_EQ(LatencyText(999'700), "1.00ms");
  EXPECT_EQ(LatencyText(1'200'000'000), "1.20s");
  EXPECT_EQ(CountText(148201), "148,201");
  EXPECT_EQ(CountText(999), "999");
  EXPECT_EQ(CountText(1234567), "1,234,567");
}

TEST(ReportText, SaysThatARateWasNotReached) {
  PhaseResult result = ResultWith(1000);
  result.loop = LoopKind::kOpen;
  result.not_started = 1234;
  EXPECT_THAT(SummaryText({.phases = {result}}), HasSubstr("RATE NOT REACHED: 1,234 operations"));
}

TEST(ReportText, SaysThatTheLastOperationOfARateWasLate) {
  PhaseResult result = ResultWith(1000);
  result.loop = LoopKind::kOpen;
  result.last_meant = absl::Seconds(20);
  result.last_delay = result.worst_delay = absl::Milliseconds(200);
  EXPECT_THAT(SummaryText({.phases = {result}}), testing::Not(HasSubstr("RATE")));
  result.last_delay = absl::Milliseconds(201);
  EXPECT_THAT(SummaryText({.phases = {result}}),
              HasSubstr("RATE NOT REACHED: the last operation was meant to start after 20.0s, and "
                        "did 201ms later."));
  result.last_delay = absl::ZeroDuration();
  result.worst_delay = absl::Seconds(2);
  EXPECT_THAT(SummaryText({.phases = {result}}),
              HasSubstr("the rate was reached, but at the worst 2.00s late"));
  result.last_meant = absl::Milliseconds(12);
  result.last_delay = absl::Milliseconds(50);
  EXPECT_THAT(SummaryText({.phases = {result}}),
              HasSubstr("too short to tell whether the rate was reached"));
}

TEST(ReportHtml, IsWholeByItselfAndEscapes) {
  PhaseResult result = ResultWith(1000);
  result.series.push_back({.at_seconds = 1, .operations_a_second = 500});
  result.series.back().kinds[0] = {.has_any = true, .p50 = 1, .p99 = 2, .p999 = 3, .max = 4};
  const std::string html = HtmlOf({.configuration = {{"table", "<script>"}}, .phases = {result}});
  EXPECT_THAT(html, HasSubstr("&lt;script&gt;"));
  EXPECT_THAT(html, testing::Not(HasSubstr("<script>\"")));
  EXPECT_THAT(html, testing::Not(HasSubstr("src=")));
  EXPECT_THAT(html, testing::Not(HasSubstr("href=")));
  EXPECT_THAT(html, testing::AnyOf(HasSubstr(R"("data":[[1.0],[500.0],[0.0]])"),
                                   HasSubstr("This build has no plots")));
}

// A second without any answer is a gap of the line, no zero.
TEST(ReportHtml, ASecondWithoutAnswersIsAGap) {
  PhaseResult result = ResultWith(1000);
  result.series.push_back({.at_seconds = 1});
  EXPECT_THAT(HtmlOf({.phases = {result}}),
              testing::AnyOf(HasSubstr(R"("data":[[1.0],[null],[null],[null],[null]])"),
                             HasSubstr("This build has no plots")));
}

}  // namespace
}  // namespace arion::load
