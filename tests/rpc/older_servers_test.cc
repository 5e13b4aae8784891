// SPDX-License-Identifier: Apache-2.0
#include "rpc/older_servers.h"
#include "env/clock.h"

#include <gtest/gtest.h>

namespace arion {
namespace {

class HandClock : public Clock {
 public:
  Instant Now() const override { return now; }
  int64_t WallMicros() const override { return 0; }
  Instant now{1'000'000'000};
};

constexpr Endpoint kMeta{.ip = 1, .port = 34601};
constexpr Endpoint kOne{.ip = 2, .port = 34801}, kOther{.ip = 3, .port = 34801};
using Policy = OlderServers::Policy;

class OlderServersTest : public testing::Test {
 protected:
  HandClock clock_;
  OlderServers older_{Policy::kLetIn, clock_};
};

TEST_F(OlderServersTest, OnlyThoseThatWereNamedAreKnown) {
  EXPECT_FALSE(older_.Knows(kMeta));
  older_.SetMetaServers({kMeta});
  older_.SetListed({kOne});
  EXPECT_TRUE(older_.Knows(kMeta) && older_.Knows(kOne));
  EXPECT_FALSE(older_.Knows(kOther));
  EXPECT_FALSE(older_.Knows({.ip = kOne.ip, .port = 34802})) << "another process of that machine";
  older_.Introduce(kOther);
  EXPECT_TRUE(older_.Knows(kOther));
}

TEST_F(OlderServersTest, WhoIsListedNoMoreIsNotKnownAnyMore) {
  older_.SetMetaServers({kMeta});
  older_.SetListed({kOne});
  older_.Introduce(kOther);
  older_.SetListed({kOther});
  EXPECT_FALSE(older_.Knows(kOne));
  EXPECT_TRUE(older_.Knows(kOther) && older_.Knows(kMeta));
}

TEST_F(OlderServersTest, NobodyIsKnownWhileNobodyIsLetIn) {
  older_.Introduce(kOne);
  older_.SetPolicy(Policy::kRefused);
  EXPECT_FALSE(older_.are_let_in() || older_.Knows(kOne));
  older_.Introduce(kOther);
  EXPECT_FALSE(older_.Knows(kOther));
  older_.SetPolicy(Policy::kLetIn);
  EXPECT_TRUE(older_.Knows(kOne));
}

TEST_F(OlderServersTest, AStrangersListIsBounded) {
  for (uint32_t i = 0; i < 2 * OlderServers::kServersMax; ++i)
    older_.Introduce({.ip = i + 10, .port = 34801});
  EXPECT_TRUE(older_.Knows({.ip = OlderServers::kServersMax + 9, .port = 34801}));
  EXPECT_FALSE(older_.Knows({.ip = OlderServers::kServersMax + 10, .port = 34801}));
}

TEST_F(OlderServersTest, WhoTookPartIsShownForAWhile) {
  older_.NoteHeard(kOne);
  clock_.now = clock_.now + OlderServers::kHeardFor - absl::Seconds(1);
  older_.NoteHeard(kOther);
  EXPECT_EQ(older_.Heard(), (std::vector<Endpoint>{kOne, kOther}));
  clock_.now = clock_.now + OlderServers::kHeardFor - absl::Seconds(1);
  EXPECT_EQ(older_.Heard(), std::vector<Endpoint>{kOther});
}

TEST_F(OlderServersTest, StrangersMakeItAskOnceASecond) {
  int asked = 0;
  older_.OnStranger([&] { ++asked; });
  for (int i = 0; i < 10; ++i) older_.NoteStranger();
  EXPECT_EQ(asked, 1);
  clock_.now = clock_.now + OlderServers::kStrangerPause;
  older_.NoteStranger();
  EXPECT_EQ(asked, 2);
  clock_.now = clock_.now + OlderServers::kStrangerPause;
  older_.SetPolicy(Policy::kRefused);
  older_.NoteStranger();
  EXPECT_EQ(asked, 2) << "nobody is let in, whoever it is";
}

}  // namespace
}  // namespace arion
