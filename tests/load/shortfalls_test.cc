// SPDX-License-Identifier: Apache-2.0
#include "tools/load/report/shortfalls.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tools/load/report/report_text.h"

namespace arion::load {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

Report Done() { return {.phases = {{.name = "run"}}, .ended = "done"}; }

TEST(Shortfalls, WhatWasKeptHasNone) {
  Report report = Done();
  report.verdict.emplace().reads = 7;
  report.slos = {{.text = "max<1s", .is_kept = true}};
  EXPECT_THAT(ShortfallsOf(report), IsEmpty());
  EXPECT_THAT(SummaryText(report), Not(HasSubstr("NOT KEPT")));
  EXPECT_THAT(SummaryText(report), HasSubstr("7 reads judged, each as it was acknowledged\n"));
}

TEST(Shortfalls, EachIsASentenceOfSummaryAndJson) {
  Report report = Done();
  report.ended = "told to stop";
  report.phases[0].loop = LoopKind::kOpen;
  report.phases[0].not_started = 1;
  report.slos = {{.text = "max<1s"}};
  EXPECT_THAT(ShortfallsOf(report), ElementsAre("ended early: told to stop",
                                                "run: the rate was not reached", "slo: max<1s"));
  EXPECT_THAT(SummaryText(report), HasSubstr("\nNOT KEPT: ended early: told to stop\n"));
  EXPECT_EQ(nlohmann::json::parse(JsonOf(report))["not_kept"].size(), 3u);
}

TEST(Shortfalls, RecordsThatWereNotReadBackAreNotVerified) {
  Report report = Done();
  report.verdict.emplace() = {.reads = 7, .unchecked = 1234};
  EXPECT_THAT(ShortfallsOf(report), ElementsAre(HasSubstr("1,234 records were not read back")));
  EXPECT_THAT(SummaryText(report), HasSubstr("1234 RECORDS NOT CHECKED"));
  EXPECT_EQ(nlohmann::json::parse(JsonOf(report))["verify"]["unchecked"], 1234);
}

TEST(Shortfalls, ALoadWithErrorsIsIncomplete) {
  Report report = Done();
  report.phases[0].total.kinds[0].errors[absl::StatusCode::kUnavailable] = 1;
  EXPECT_THAT(ShortfallsOf(report), IsEmpty()) << "a run may have errors";
  report.phases[0].name = "load";
  EXPECT_THAT(ShortfallsOf(report), ElementsAre("the load is incomplete: 1 of 1 records were not "
                                                "acknowledged"));
}

TEST(Shortfalls, ARunThatEndedFailingIsOne) {
  Report report = Done();
  report.phases[0].ending = {.operations = 101, .errors = 10};
  EXPECT_THAT(ShortfallsOf(report), IsEmpty());
  report.phases[0].ending.operations = 100;
  EXPECT_THAT(ShortfallsOf(report), ElementsAre("the run ended failing: 10 errors among "
                                                "its last 100 operations"));
}

TEST(Shortfalls, ChaosThatNeverRanIsOne) {
  Report report = Done();
  report.chaos_left = 2;
  EXPECT_THAT(ShortfallsOf(report), ElementsAre("--chaos commands that never ran: 2"));
}

TEST(Shortfalls, AViolationIsOne) {
  Report report = Done();
  report.verdict.emplace().violations = {1, 0, 2};
  EXPECT_THAT(ShortfallsOf(report), ElementsAre("verify: 3 reads were not as acknowledged"));
}

}  // namespace
}  // namespace arion::load
