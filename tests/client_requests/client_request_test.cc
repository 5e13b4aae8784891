// SPDX-License-Identifier: Apache-2.0
#include "client_requests/client_request.h"

#include <gtest/gtest.h>

#include "tests/client_requests/served_world.h"
#include "tests/replica/log_lines.h"

namespace arion {
namespace {

class ClientRequestTest : public ServedWorld {
 protected:
  struct Reply {
    ErrorCode error;
    size_t bytes;
  };

  // Of a request that arrived now.
  ClientAnswer Asked(RequestKind kind) {
    Responder responder([this](ErrorCode error, const ReplyBody& body) {
      replies_.push_back({error, body.size()});
    });
    return {std::move(responder), watch_, kind, env_.clock().Now(), kClient, 7};
  }
  RequestStats::Totals Totals(RequestKind kind) const {
    RequestStats::ByKind all;
    stats_->AddTo(&all);
    return all[kind];
  }
  uint64_t Count(ReplicaCount what) const {
    return stats_->figures().ReadCounts()[static_cast<size_t>(what)];
  }
  static uint64_t Answers(const RequestStats::Totals& totals, ErrorCode error) {
    const auto found = totals.errors.find(error);
    return found == totals.errors.end() ? 0 : found->second;
  }

  static constexpr Endpoint kClient{0x7f000001, 999};
  std::shared_ptr<RequestStats> stats_ = std::make_shared<RequestStats>(1);
  std::shared_ptr<SlowRequests> slow_ = std::make_shared<SlowRequests>();
  std::shared_ptr<ForegroundPace> foreground_ = std::make_shared<ForegroundPace>();
  const std::shared_ptr<const RequestWatch> watch_ =
      std::make_shared<const RequestWatch>(RequestWatch{.clock = env_.clock(),
                                                        .pid = kServed,
                                                        .table = "t",
                                                        .stats = stats_,
                                                        .slow = slow_,
                                                        .foreground = foreground_,
                                                        .kept_from = absl::Milliseconds(10),
                                                        .logged_from = absl::Milliseconds(100)});
  std::vector<Reply> replies_;
};

TEST_F(ClientRequestTest, AnAnswerIsCountedWithItsTimeAndBytes) {
  ClientAnswer answer = Asked(RequestKind::kGet);
  Run(absl::Milliseconds(3));
  answer.Reply(ErrorCode::kOk, "value");
  ASSERT_EQ(replies_.size(), 1u);
  EXPECT_EQ(replies_[0].error, ErrorCode::kOk);
  EXPECT_EQ(replies_[0].bytes, 5u);
  const RequestStats::Totals totals = Totals(RequestKind::kGet);
  EXPECT_EQ(totals.asked_bytes, 7u);
  EXPECT_EQ(totals.answered_bytes, 5u);
  EXPECT_EQ(totals.latency.count, 1u);
  EXPECT_TRUE(totals.errors.empty());
  EXPECT_TRUE(slow_->Last().empty()) << "3 ms are not slow";
  EXPECT_EQ(Count(ReplicaCount::kSlowReads), 0u);
}

TEST_F(ClientRequestTest, ASecondAnswerIsNeitherSentNorCounted) {
  ClientAnswer answer = Asked(RequestKind::kPut);
  answer.Reply(ErrorCode::kBusy);
  answer.Reply(ErrorCode::kOk, "late");
  answer.Drop();
  ASSERT_EQ(replies_.size(), 1u);
  EXPECT_EQ(replies_[0].error, ErrorCode::kBusy);
  const RequestStats::Totals totals = Totals(RequestKind::kPut);
  EXPECT_EQ(Answers(totals, ErrorCode::kBusy), 1u);
  EXPECT_EQ(totals.latency.count, 1u);
}

TEST_F(ClientRequestTest, WhatIsDroppedIsNotAnsweredAndCountsAsATimeout) {
  ClientAnswer answer = Asked(RequestKind::kPut);
  answer.Drop();
  answer.Reply(ErrorCode::kOk);
  EXPECT_TRUE(replies_.empty());
  const RequestStats::Totals totals = Totals(RequestKind::kPut);
  EXPECT_EQ(Answers(totals, ErrorCode::kTimeout), 1u);
  EXPECT_EQ(totals.latency.count, 1u);
}

// Copies yield to what clients wait for, also where they gave up.
TEST_F(ClientRequestTest, AnswersAndDropsSetTheForegroundsPace) {
  ClientAnswer answer = Asked(RequestKind::kPut);
  Run(absl::Milliseconds(40));
  answer.Drop();
  foreground_->OnSecond();
  EXPECT_GE(foreground_->WriteWait(), absl::Milliseconds(35));
  EXPECT_EQ(foreground_->ReadWait(), absl::ZeroDuration());
}

TEST_F(ClientRequestTest, FromItsBoundOnARequestIsKeptAsSlow) {
  ClientAnswer below = Asked(RequestKind::kGet), at = Asked(RequestKind::kGet);
  Run(absl::Milliseconds(10) - absl::Nanoseconds(1));
  below.Reply(ErrorCode::kOk);
  EXPECT_TRUE(slow_->Last().empty());
  Run(absl::Nanoseconds(1));
  at.Reply(ErrorCode::kObjectNotFound);
  const std::vector<SlowRequest> kept = slow_->Last();
  ASSERT_EQ(kept.size(), 1u);
  EXPECT_EQ(kept[0].pid, kServed);
  EXPECT_EQ(kept[0].table, "t");
  EXPECT_EQ(kept[0].from, kClient);
  EXPECT_EQ(kept[0].nanos, 10'000'000);
  EXPECT_EQ(kept[0].asked_bytes, 7u);
  EXPECT_EQ(kept[0].error, ErrorCode::kObjectNotFound);
  EXPECT_FALSE(kept[0].stages) << "a read has none";
  EXPECT_EQ(Count(ReplicaCount::kSlowReads), 1u);
  EXPECT_EQ(Count(ReplicaCount::kSlowWrites), 0u);
}

TEST_F(ClientRequestTest, AWritesStagesAreCountedAndAddUpToItsTime) {
  ClientAnswer answer = Asked(RequestKind::kPut);
  const Instant arrived = env_.clock().Now();
  WriteTimes::Times times{.decree = Decree(1)};
  times.appended = arrived + absl::Milliseconds(1);
  times.submitted = arrived + absl::Milliseconds(3);
  times.durable = arrived + absl::Milliseconds(6);
  times.committed = arrived + absl::Milliseconds(10);
  const Instant applied = arrived + absl::Milliseconds(15);
  Run(absl::Milliseconds(21));
  answer.Reply("done", times, applied);
  RequestStats::ByStage stages;
  stats_->AddTo(&stages);
  for (size_t i = 0; i < kWriteStages; ++i) EXPECT_EQ(stages[i].count, 1u) << i;
  ASSERT_EQ(slow_->Last().size(), 1u);
  ASSERT_TRUE(slow_->Last()[0].stages);
  const StageNanos expected = {1'000'000, 2'000'000, 3'000'000, 4'000'000, 5'000'000, 6'000'000};
  EXPECT_EQ(*slow_->Last()[0].stages, expected);
  EXPECT_EQ(Count(ReplicaCount::kSlowWrites), 1u);
}

TEST_F(ClientRequestTest, OnlyWhatIsSlowerStillIsLogged) {
  LogLines lines("slow: [2.1]");
  ClientAnswer kept = Asked(RequestKind::kGet), logged = Asked(RequestKind::kGet);
  Run(absl::Milliseconds(99));
  kept.Reply(ErrorCode::kOk);
  EXPECT_TRUE(lines.Take().empty());
  Run(absl::Milliseconds(1));
  logged.Reply(ErrorCode::kOk, "abc");
  const std::vector<std::string> said = lines.Take();
  ASSERT_EQ(said.size(), 1u);
  EXPECT_NE(said[0].find("took 100 ms, 7 bytes asked, 3 answered"), std::string::npos) << said[0];
}

TEST_F(ClientRequestTest, AnEmptyAnswerIsNobodys) {
  ClientAnswer answer;
  answer.Reply(ErrorCode::kOk);
  answer.Drop();
  EXPECT_TRUE(replies_.empty());
}

}  // namespace
}  // namespace arion
