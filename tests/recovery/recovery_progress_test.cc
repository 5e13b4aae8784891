// SPDX-License-Identifier: Apache-2.0
#include "recovery/recovery_progress.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "recovery/recovery_text.h"

namespace arion {
namespace {

using Phase = RecoveryReport::Phase;
using testing::HasSubstr;

constexpr PartitionId kLong{1, 0}, kShort{1, 1}, kOther{1, 2};
Instant At(double seconds) { return Instant() + absl::Seconds(100 + seconds); }

// Two on ssd1, one on ssd2, which is not listed yet.
class RecoveryProgressTest : public testing::Test {
 protected:
  RecoveryProgressTest() {
    progress_.Begin({"ssd1", "ssd2"}, At(0));
    progress_.Expect(kLong, 0);
    progress_.Expect(kShort, 0);
    progress_.Expect(kOther, 1);
    progress_.Listed(0, {{kLong, 80000000}, {kShort, 20000000}}, At(0));
  }
  void Serve(PartitionId pid, double from, double to) {
    progress_.TicketOf(pid)->Enter(RecoveryStep::kEngine, At(from));
    progress_.TicketOf(pid)->Enter(RecoveryStep::kReplay, At(from + 0.25));
    progress_.TicketOf(pid)->Enter(RecoveryStep::kCheckpoint, At(to - 0.25));
    progress_.End(pid, RecoveryStep::kServing, At(to));
  }
  RecoveryProgress progress_;
};

TEST_F(RecoveryProgressTest, BeforeItBeginsItSaysSo) {
  EXPECT_EQ(RecoveryProgress().Report(At(0)).phase, Phase::kNotStarted);
  EXPECT_EQ(RecoveryLine(RecoveryProgress().Report(At(0))), "recovery: not_started");
}

TEST_F(RecoveryProgressTest, ADiskThatIsNotListedHidesNoneOfTheOthers) {
  EXPECT_EQ(progress_.Report(At(0)).phase, Phase::kListing);
  Serve(kShort, 0, 1);
  const RecoveryReport report = progress_.Report(At(2));
  EXPECT_EQ(report.phase, Phase::kRecovering);
  EXPECT_EQ(report.all.replicas, 3u);
  EXPECT_EQ(report.all.done, 1u);
  EXPECT_FALSE(report.disks[1].is_listed);
  EXPECT_EQ(report.first_served_after, absl::Seconds(1));
  EXPECT_FALSE(report.remaining) << "what that disk has to read is not known";
  EXPECT_THAT(RecoveryText(report), HasSubstr("disk ssd2: being listed"));
}

TEST_F(RecoveryProgressTest, RateAndRemainingTimeFollowTheBytes) {
  progress_.Listed(1, {{kOther, 0}}, At(0));
  Serve(kOther, 0, 1);
  const auto ticket = progress_.TicketOf(kLong);
  ticket->Enter(RecoveryStep::kReplay, At(0));
  ticket->SetBytesRead(40000000);
  const RecoveryReport report = progress_.Report(At(4));
  EXPECT_EQ(report.all.bytes_done, 40000000u);
  EXPECT_DOUBLE_EQ(report.bytes_per_second, 1e7);
  EXPECT_EQ(report.remaining, absl::Seconds(6));
  ASSERT_TRUE(report.slowest);
  EXPECT_EQ(report.slowest->pid, kLong);
  EXPECT_THAT(RecoveryLine(report),
              HasSubstr("slowest 1.0 on ssd1: replaying for 4.00 s, 40.0 MB of 80.0 MB"));
}

TEST_F(RecoveryProgressTest, AtTheEndTheSummaryNamesTheLastAndItsSteps) {
  progress_.Listed(1, {{kOther, 1000}}, At(0));
  Serve(kShort, 0, 1);
  Serve(kOther, 0, 2);
  Serve(kLong, 0, 8);
  const RecoveryReport report = progress_.Report(At(99));
  EXPECT_EQ(report.phase, Phase::kDone);
  EXPECT_EQ(report.elapsed, absl::Seconds(8));
  EXPECT_EQ(report.all.bytes_done, report.all.bytes);
  EXPECT_EQ(report.disks[1].ended_after, absl::Seconds(2));
  EXPECT_THAT(RecoverySummary(report), HasSubstr("the last was 1.0 on ssd1, serving after 8.00 s: "
                                                 "engine 0.25 s, replay 7.50 s"));
  EXPECT_THAT(RecoverySummary(report), HasSubstr("that one replica took most of it"));
}

TEST_F(RecoveryProgressTest, OneThatFailedIsCountedOnceAndEndsIt) {
  progress_.Listed(1, {{kOther, 1000}}, At(0));
  progress_.TicketOf(kOther)->Enter(RecoveryStep::kEngine, At(0));
  progress_.End(kOther, RecoveryStep::kFailed, At(1));
  progress_.End(kOther, RecoveryStep::kServing, At(6));  // tried again
  Serve(kShort, 0, 1);
  Serve(kLong, 0, 2);
  const RecoveryReport report = progress_.Report(At(9));
  EXPECT_EQ(report.phase, Phase::kDone);
  EXPECT_EQ(report.all.failed, 1u);
  EXPECT_EQ(report.all.done, 2u);
  EXPECT_THAT(RecoveryJson(report), HasSubstr("\"replicas_failed\":1"));
}

}  // namespace
}  // namespace arion
