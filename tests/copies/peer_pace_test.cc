// SPDX-License-Identifier: Apache-2.0
#include "copies/peer_pace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace arion {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

const Endpoint kA = *Endpoint::Parse("10.0.0.1:34801");
const Endpoint kB = *Endpoint::Parse("10.0.0.2:34801");
const Endpoint kC = *Endpoint::Parse("10.0.0.3:34801");

class PeerPaceTest : public testing::Test {
 protected:
  // A hundred acknowledgements; the slowest two take `p99`, the others a millisecond.
  void Acks(Endpoint peer, absl::Duration p99, int count = 100) {
    for (int i = 0; i < count; ++i) pace_.OnAck(peer, i < 2 ? p99 : absl::Milliseconds(1));
  }
  // Returns whether something changed in the last of them.
  bool Seconds(int n, absl::Duration a, absl::Duration b) {
    bool has_changed = false;
    for (int i = 0; i < n; ++i) {
      Acks(kA, a);
      Acks(kB, b);
      now_ = now_ + absl::Seconds(1);
      has_changed = pace_.OnSecond(now_);
    }
    return has_changed;
  }
  bool Idle(absl::Duration length) {
    now_ = now_ + length;
    return pace_.OnSecond(now_);
  }

  Instant now_{absl::ToInt64Nanoseconds(absl::Seconds(1000))};
  PeerPace pace_{{.ratio = 5, .calm_max = absl::Seconds(90)}};
};

TEST_F(PeerPaceTest, WhoStaysFarSlowerThanTheOthersIsSlow) {
  EXPECT_FALSE(Seconds(7, absl::Milliseconds(10), absl::Milliseconds(300)));
  EXPECT_THAT(pace_.Slow(), IsEmpty());
  EXPECT_TRUE(Seconds(1, absl::Milliseconds(10), absl::Milliseconds(300)));
  EXPECT_THAT(pace_.Slow(), ElementsAre(kB));
}

TEST_F(PeerPaceTest, AFewSlowSecondsAmongGoodOnesAreNone) {
  for (int i = 0; i < 20; ++i) {
    Seconds(4, absl::Milliseconds(10), absl::Milliseconds(300));
    Seconds(4, absl::Milliseconds(10), absl::Milliseconds(12));
  }
  EXPECT_THAT(pace_.Slow(), IsEmpty());
}

TEST_F(PeerPaceTest, WhereAllAreSlowNobodyIs) {
  Seconds(60, absl::Milliseconds(400), absl::Milliseconds(900));
  EXPECT_THAT(pace_.Slow(), IsEmpty());
}

TEST_F(PeerPaceTest, ShortTimesAreNoReason) {
  Seconds(60, absl::Microseconds(300), absl::Milliseconds(40));
  EXPECT_THAT(pace_.Slow(), IsEmpty());
}

TEST_F(PeerPaceTest, AloneOrWithFewAcknowledgementsNobodyIsJudged) {
  for (int i = 0; i < 60; ++i) {
    Acks(kB, absl::Milliseconds(300));
    if (i % 10 == 0) Acks(kA, absl::Milliseconds(1), 1);  // never ten of them
    Idle(absl::Seconds(1));
  }
  EXPECT_THAT(pace_.Slow(), IsEmpty());
}

TEST_F(PeerPaceTest, AmongManyTheMedianOfTheOthersCounts) {
  for (int i = 0; i < 8; ++i) {
    Acks(kC, absl::Milliseconds(11));
    Seconds(1, absl::Milliseconds(10), absl::Milliseconds(300));
  }
  EXPECT_THAT(pace_.Slow(), ElementsAre(kB));
}

TEST_F(PeerPaceTest, ASlowOneThatIsAskedNothingMayTryAgainLater) {
  Seconds(8, absl::Milliseconds(10), absl::Milliseconds(300));
  EXPECT_FALSE(Idle(absl::Seconds(29)));
  EXPECT_THAT(pace_.Slow(), ElementsAre(kB));
  EXPECT_TRUE(Idle(absl::Seconds(1)));
  EXPECT_THAT(pace_.Slow(), IsEmpty());
}

TEST_F(PeerPaceTest, ASlowOneStaysSlowUntilItIsClearlyFaster) {
  Seconds(8, absl::Milliseconds(20), absl::Milliseconds(300));
  Seconds(100, absl::Milliseconds(20), absl::Milliseconds(60));  // three times as long
  EXPECT_THAT(pace_.Slow(), ElementsAre(kB));
  Seconds(29, absl::Milliseconds(20), absl::Milliseconds(30));
  EXPECT_THAT(pace_.Slow(), ElementsAre(kB));
  EXPECT_TRUE(Seconds(1, absl::Milliseconds(20), absl::Milliseconds(30)));
  EXPECT_THAT(pace_.Slow(), IsEmpty());
}

TEST_F(PeerPaceTest, WhoRelapsesIsWaitedForTwiceAsLong) {
  Seconds(8, absl::Milliseconds(10), absl::Milliseconds(300));
  Idle(absl::Seconds(30));
  Seconds(8, absl::Milliseconds(10), absl::Milliseconds(300));
  EXPECT_FALSE(Idle(absl::Seconds(59)));
  EXPECT_TRUE(Idle(absl::Seconds(1)));
  Seconds(8, absl::Milliseconds(10), absl::Milliseconds(300));
  EXPECT_FALSE(Idle(absl::Seconds(89)));
  EXPECT_TRUE(Idle(absl::Seconds(1))) << "never longer than that";
  Idle(absl::Minutes(11));
  Seconds(8, absl::Milliseconds(10), absl::Milliseconds(300));
  EXPECT_TRUE(Idle(absl::Seconds(30))) << "long ago counts no more";
}

TEST_F(PeerPaceTest, ARatioOfZeroTurnsItOff) {
  PeerPace off({.ratio = 0});
  for (int second = 0; second < 60; ++second) {
    for (int i = 0; i < 100; ++i) {
      off.OnAck(kA, absl::Milliseconds(1));
      off.OnAck(kB, absl::Seconds(2));
    }
    EXPECT_FALSE(off.OnSecond(Instant(absl::ToInt64Nanoseconds(absl::Seconds(1000 + second)))));
  }
}

}  // namespace
}  // namespace arion
