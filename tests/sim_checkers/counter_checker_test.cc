// The checker of counters, against histories that it must take and that it must refuse.
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim_checkers/checkers.h"

namespace arion::sim {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

class CounterHistory {
 public:
  CounterHistory& Told(int value, int begin, int end) {
    const size_t index = Begin(begin);
    history.ReturnRead(index, std::to_string(value), At(end));
    return *this;
  }
  CounterHistory& Undecided(int begin) {
    history.Return(Begin(begin), Operation::Outcome::kUndecided, At(begin + 1));
    return *this;
  }
  CounterHistory& Refused(int begin) {
    history.Return(Begin(begin), Operation::Outcome::kRefused, At(begin + 1));
    return *this;
  }
  History history;

 private:
  static Instant At(int seconds) { return Instant() + absl::Seconds(seconds); }
  size_t Begin(int begin) {
    return history.Invoke(Operation::Kind::kIncrement, "n", "", At(begin));
  }
};

TEST(CounterChecker, AcceptsWhatCanHaveHappened) {
  EXPECT_THAT(CheckCounters(CounterHistory().Told(1, 0, 1).Told(2, 2, 3).history), IsEmpty());
  EXPECT_THAT(CheckCounters(CounterHistory().Told(2, 0, 9).Told(1, 1, 8).history), IsEmpty());
  EXPECT_THAT(CheckCounters(CounterHistory().Undecided(0).Told(1, 1, 2).Told(3, 5, 6).history),
              IsEmpty())
      << "an undecided one may count late";
  EXPECT_THAT(CheckCounters(CounterHistory().Refused(0).Told(1, 1, 2).history), IsEmpty());
}

TEST(CounterChecker, CatchesALostIncrement) {
  EXPECT_THAT(CheckCounters(CounterHistory().Told(1, 0, 1).Told(1, 2, 3).history),
              testing::Not(IsEmpty()));
  EXPECT_THAT(CheckCounters(CounterHistory().Told(1, 0, 1).Told(3, 0, 1).Told(2, 2, 3).history),
              testing::Not(IsEmpty()));
}

TEST(CounterChecker, CatchesOneThatCountsTwiceOrThoughRefused) {
  EXPECT_THAT(CheckCounters(CounterHistory().Told(2, 0, 1).history), SizeIs(1));
  EXPECT_THAT(CheckCounters(CounterHistory().Refused(0).Told(2, 1, 2).history), SizeIs(1));
  EXPECT_THAT(CheckCounters(CounterHistory().Undecided(0).Told(3, 1, 2).history), SizeIs(1));
}

TEST(CounterChecker, CatchesAnswersOutOfOrder) {
  EXPECT_THAT(
      CheckCounters(CounterHistory().Undecided(0).Undecided(0).Told(3, 1, 2).Told(2, 3, 4).history),
      SizeIs(1));
}

}  // namespace
}  // namespace arion::sim
