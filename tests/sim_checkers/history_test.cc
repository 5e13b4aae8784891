// What clients did to keys and were told. SPDX-License-Identifier: Apache-2.0
#include "sim_checkers/history.h"

#include <gtest/gtest.h>

namespace arion::sim {
namespace {

using Outcome = Operation::Outcome;

TEST(HistoryTest, AnOperationLastsFromItsBeginToItsAnswer) {
  History history;
  const size_t write = history.Invoke(Operation::Kind::kWrite, "k", "v", Instant(5));
  EXPECT_EQ(history.operations()[write].returned, Instant::InfiniteFuture());
  history.Return(write, Outcome::kOk, Instant(9));
  const Operation& done = history.operations()[write];
  EXPECT_EQ(done.key, "k");
  EXPECT_EQ(done.value, "v");
  EXPECT_EQ(done.invoked, Instant(5));
  EXPECT_EQ(done.returned, Instant(9));
}

TEST(HistoryTest, AnUndecidedWriteMayHappenAtAnyLaterTime) {
  History history;
  const size_t write = history.Invoke(Operation::Kind::kWrite, "k", "v", Instant(5));
  history.Return(write, Outcome::kUndecided, Instant(9));
  EXPECT_EQ(history.operations()[write].returned, Instant::InfiniteFuture());
}

TEST(HistoryTest, AReadGetsItsValueWithItsAnswer) {
  History history;
  const size_t read = history.Invoke(Operation::Kind::kRead, "k", "", Instant(5));
  history.ReturnRead(read, "found", Instant(7));
  EXPECT_EQ(history.operations()[read].value, "found");
  EXPECT_EQ(history.operations()[read].outcome, Outcome::kOk);
}

TEST(HistoryTest, OperationsAreCountedByKindAndOutcome) {
  History history;
  for (const Outcome outcome : {Outcome::kOk, Outcome::kOk, Outcome::kRefused})
    history.Return(history.Invoke(Operation::Kind::kWrite, "k", "v", Instant(1)), outcome,
                   Instant(2));
  history.ReturnRead(history.Invoke(Operation::Kind::kRead, "k", "", Instant(1)), "", Instant(2));
  EXPECT_EQ(history.Count(Operation::Kind::kWrite, Outcome::kOk), 2);
  EXPECT_EQ(history.Count(Operation::Kind::kWrite, Outcome::kRefused), 1);
  EXPECT_EQ(history.Count(Operation::Kind::kRead, Outcome::kOk), 1);
  EXPECT_EQ(history.Count(Operation::Kind::kIncrement, Outcome::kOk), 0);
}

}  // namespace
}  // namespace arion::sim
