// SPDX-License-Identifier: Apache-2.0
#include "pacifica/prepare_dispatch.h"

#include <gtest/gtest.h>

#include <vector>

#include "tests/pacifica/roles.h"

namespace arion {
namespace {

using enum PartitionStatus;

// ---- by hand ----

using PrepareDispatchDeathTest = RolesTest;

TEST_F(PrepareDispatchDeathTest, APrimaryAloneSendsPreparesOfItsBallotToOthers) {
  PrepareDispatch dispatch(s_);
  const MutationPtr mutation = MakeMutation(7, 1, 0, "a");
  EXPECT_DEATH(dispatch.Send(NodeAt('A'), 0, mutation), "self");
  EXPECT_DEATH(dispatch.Send(NodeAt('B'), 0, MakeMutation(6, 1, 0, "a")), "not ours");
  dispatch.Send(NodeAt('B'), 0, mutation);
  dispatch.Check();
  s_.role = kInactive;
  EXPECT_DEATH(dispatch.Check(), "by no primary");
  EXPECT_DEATH(dispatch.Send(NodeAt('B'), 0, mutation), "kPrimary");
}

class PrepareDispatchTest : public RolesTest {
 protected:
  PrepareDispatchTest() {
    s_.now = Instant(1'000'000'000);
    s_.configuration.secondaries = {kB, kC};
  }
  // The prepares that were sent since the last call.
  std::vector<SendPrepare> Sent() {
    std::vector<SendPrepare> sent;
    for (const Envelope& envelope : s_.effects.send)
      sent.push_back(std::get<SendPrepare>(envelope));
    s_.effects.send.clear();
    return sent;
  }
  uint64_t Send(Endpoint to, int64_t decree) {
    dispatch_.Send(to, 0, MakeMutation(7, decree, 0, "a"));
    s_.Append(MakeMutation(7, decree, 0, "a"));
    return Sent().at(0).serial;
  }
  PrepareDispatch::Outcome Answer(uint64_t serial, ErrorCode rpc, ErrorCode err = ErrorCode::kOk,
                                  int64_t decree = 1) {
    PrepareAcked answer{.from = kB, .serial = serial, .rpc = rpc};
    answer.ack.err = err;
    answer.ack.ballot = Ballot(7);
    answer.ack.decree = Decree(decree);
    return dispatch_.OnAnswer(answer).outcome;
  }
  void Pass(absl::Duration duration) {
    s_.now = s_.now + duration;
    dispatch_.OnTick();
    dispatch_.Check();
  }

  using Outcome = PrepareDispatch::Outcome;
  const Endpoint kB = NodeAt('B'), kC = NodeAt('C');
  PrepareDispatch dispatch_{s_};
};

TEST_F(PrepareDispatchTest, AnAcknowledgementEndsItAndTheSameAgainSaysNothing) {
  const uint64_t serial = Send(kB, 1);
  EXPECT_EQ(Answer(serial, ErrorCode::kOk), Outcome::kAcked);
  EXPECT_EQ(Answer(serial, ErrorCode::kOk), Outcome::kUnknown);
  EXPECT_EQ(dispatch_.NextWakeup(), Instant::InfiniteFuture());
}

TEST_F(PrepareDispatchTest, AnAcknowledgementOfSomethingElseIsAFailure) {
  EXPECT_EQ(Answer(Send(kB, 1), ErrorCode::kOk, ErrorCode::kOk, 2), Outcome::kFailed);
  EXPECT_EQ(s_.counters.odd_messages, 1);
}

TEST_F(PrepareDispatchTest, AReceiverThatIsNotReadyIsAskedAgain) {
  const uint64_t serial = Send(kB, 1);
  for (const ErrorCode err : {ErrorCode::kTryAgain, ErrorCode::kInactiveState}) {
    EXPECT_EQ(Answer(serial, ErrorCode::kOk, err), Outcome::kPending);
    EXPECT_EQ(dispatch_.NextWakeup(), s_.now + s_.options.prepare_retry_delay);
    Pass(s_.options.prepare_retry_delay);
    const std::vector<SendPrepare> again = Sent();
    ASSERT_EQ(again.size(), 1u);
    EXPECT_EQ(again[0].serial, serial);
    EXPECT_LT(again[0].timeout, s_.options.prepare_timeout) << "counted from the first sending";
  }
  EXPECT_EQ(s_.counters.prepares_resent, 2);
}

TEST_F(PrepareDispatchTest, AConnectionMayBreakOnce) {
  const uint64_t serial = Send(kB, 1);
  EXPECT_EQ(Answer(serial, ErrorCode::kNetworkFailure), Outcome::kPending);
  Pass(absl::Milliseconds(10));
  EXPECT_EQ(Sent().size(), 1u);
  EXPECT_EQ(Answer(serial, ErrorCode::kNetworkFailure), Outcome::kFailed);
}

TEST_F(PrepareDispatchTest, ANewProcessBehindABrokenConnectionIsNotWaitedFor) {
  const uint64_t serial = Send(kB, 1);
  EXPECT_EQ(Answer(serial, ErrorCode::kNetworkFailure), Outcome::kPending);
  Pass(absl::Milliseconds(10));
  EXPECT_EQ(Answer(serial, ErrorCode::kOk, ErrorCode::kInactiveState), Outcome::kFailed);
}

TEST_F(PrepareDispatchTest, OnlyTheOldestPrepareToAReceiverIsRepeatedForWantOfAnAnswer) {
  const uint64_t first = Send(kB, 1);
  Send(kB, 2);
  Pass(s_.options.prepare_attempt_timeout);
  const std::vector<SendPrepare> again = Sent();
  ASSERT_EQ(again.size(), 1u);
  EXPECT_EQ(again[0].serial, first);
}

TEST_F(PrepareDispatchTest, AReceiverThatOwesAnAnswerForHalfOfItsTimeIsSilent) {
  const uint64_t serial = Send(kB, 1);
  EXPECT_FALSE(dispatch_.IsSilent(kB));
  Pass(s_.options.prepare_timeout / 2);
  EXPECT_TRUE(dispatch_.IsSilent(kB));
  EXPECT_FALSE(dispatch_.IsSilent(kC)) << "it owes nothing";
  EXPECT_EQ(Answer(serial, ErrorCode::kTimeout), Outcome::kTimedOut);
}

TEST_F(PrepareDispatchTest, WhatIsForgottenIsNotRepeated) {
  const uint64_t to_b = Send(kB, 1);
  Send(kC, 2);
  dispatch_.ForgetNode(kB);
  EXPECT_EQ(Answer(to_b, ErrorCode::kOk), Outcome::kUnknown);
  Pass(s_.options.prepare_attempt_timeout);
  const std::vector<SendPrepare> again = Sent();
  ASSERT_EQ(again.size(), 1u);
  EXPECT_EQ(again[0].to, kC);
  dispatch_.Forget();
  EXPECT_EQ(dispatch_.NextWakeup(), Instant::InfiniteFuture());
}

}  // namespace
}  // namespace arion
