// What is said of a recovery, to people and to programs. SPDX-License-Identifier: Apache-2.0
#include "recovery/recovery_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace arion {
namespace {

using ReportPhase = RecoveryReport::Phase;
using testing::HasSubstr;
using testing::Not;

RecoveryReport Recovering() {
  RecoveryReport report{.phase = ReportPhase::kRecovering};
  report.all.replicas = 3;
  report.all.done = 1;
  report.all.failed = 1;
  report.all.bytes = 3000000;
  report.all.bytes_done = 1500000;
  report.elapsed = absl::Seconds(2);
  report.bytes_per_second = 750000;
  return report;
}

RecoveryReport::Replica Replaying() {
  return {.pid = {1, 2},
          .disk = "ssd",
          .step = RecoveryStep::kReplay,
          .step_for = absl::Seconds(1),
          .bytes = 2000000,
          .bytes_done = 500000};
}

RecoveryReport Done(absl::Duration last_took) {
  RecoveryReport report = Recovering();
  report.phase = ReportPhase::kDone;
  report.elapsed = absl::Seconds(10);
  report.in_engine = absl::Seconds(5);
  report.in_replay = absl::Seconds(15);
  report.slowest = Replaying();
  report.slowest->step = RecoveryStep::kServing;
  report.slowest->in_replay = last_took;
  return report;
}

TEST(RecoveryTextTest, TheLineSaysHowFarItIs) {
  EXPECT_EQ(RecoveryLine({.phase = ReportPhase::kNotStarted}), "recovery: not_started");
  RecoveryReport report = Recovering();
  EXPECT_EQ(RecoveryLine(report),
            "recovery: recovering, 1/3 replicas (1 failed), 1.5 MB of 3.0 MB, 2.00 s, 0.8 MB/s, "
            "remaining unknown");
  report.all.failed = 0;
  report.remaining = absl::Seconds(2);
  report.slowest = Replaying();
  EXPECT_THAT(RecoveryLine(report),
              HasSubstr("remaining 2.00 s, slowest 1.2 on ssd: replaying for 1.00 s, 0.5 MB of "
                        "2.0 MB"));
  EXPECT_THAT(RecoveryLine(report), Not(HasSubstr("failed")));
}

TEST(RecoveryTextTest, OfAnotherStepThanReplayNoBytesAreSaid) {
  RecoveryReport report = Recovering();
  report.slowest = Replaying();
  report.slowest->step = RecoveryStep::kEngine;
  EXPECT_TRUE(RecoveryLine(report).ends_with("slowest 1.2 on ssd: opening_engine for 1.00 s"))
      << RecoveryLine(report);
}

TEST(RecoveryTextTest, ThereIsNoSummaryBeforeTheEndNorOfNothing) {
  EXPECT_EQ(RecoverySummary(Recovering()), "");
  EXPECT_EQ(RecoverySummary({.phase = ReportPhase::kDone}), "");
}

TEST(RecoveryTextTest, TheSummarySaysWhatWouldHaveMadeItFaster) {
  EXPECT_THAT(RecoverySummary(Done(absl::Seconds(6))),
              HasSubstr("that one replica took most of it: a smaller replay_seconds_max"));
  const std::string many = RecoverySummary(Done(absl::Seconds(1)));
  EXPECT_THAT(many, HasSubstr("2.0 replicas at a time: more recovery_threads_per_disk"));
  EXPECT_THAT(many, Not(HasSubstr("most of it")));
  RecoveryReport idle = Done(absl::Seconds(1));
  idle.in_engine = idle.in_replay = absl::Seconds(1);
  EXPECT_TRUE(RecoverySummary(idle).ends_with("log 2.0 MB")) << RecoverySummary(idle);
}

TEST(RecoveryTextTest, ThePageHasALineForEachDiskAndEachReplicaUnderWay) {
  RecoveryReport report = Recovering();
  report.disks.resize(2);
  report.disks[0].tag = "ssd";
  report.disks[0].is_listed = true;
  report.disks[0].replicas = 2;
  report.disks[0].under_way = 1;
  report.disks[0].ended_after = absl::Seconds(1);
  report.disks[1].tag = "hdd";
  report.under_way = {Replaying()};
  const std::string text = RecoveryText(report);
  EXPECT_THAT(text, HasSubstr("\ndisk ssd: 0/2 replicas, 0.0 MB of 0.0 MB, 1 under way, done after "
                              "1.00 s\n"));
  EXPECT_THAT(text, HasSubstr("\ndisk hdd: being listed, 0 under way\n"));
  EXPECT_THAT(text, HasSubstr("\nunder way: 1.2 on ssd: replaying for 1.00 s"));
}

TEST(RecoveryTextTest, ProgramsGetTheSame) {
  RecoveryReport report = Recovering();
  report.under_way = {Replaying()};
  const std::string json = RecoveryJson(report);
  EXPECT_THAT(json, HasSubstr(R"("phase":"recovering","replicas_total":3,"replicas_done":1)"));
  EXPECT_THAT(json, HasSubstr(R"("remaining_seconds":null)"));
  EXPECT_THAT(json, HasSubstr(R"("partition":"1.2","disk":"ssd","step":"replaying")"));
  EXPECT_THAT(json, HasSubstr(R"("slowest":null)"));
  EXPECT_TRUE(json.ends_with("}\n"));
}

}  // namespace
}  // namespace arion
