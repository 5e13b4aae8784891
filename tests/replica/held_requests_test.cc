// Clients' requests that arrive while a partition's configuration changes: they wait for its end, for
// a moment at most, and a primary that makes room for another leaves no write's outcome open.
// SPDX-License-Identifier: Apache-2.0
#include "client_requests/held_requests.h"

#include <gtest/gtest.h>

#include "rpc/thrift_codec.h"
#include "tests/replica/server_world.h"

namespace arion {
namespace {

// Requests by their numbers.
class HeldQueueTest : public testing::Test {
 protected:
  ClientRequest Request(int number, size_t bytes = 0) {
    Responder responder([this, number](ErrorCode error, const ReplyBody&) {
      EXPECT_EQ(error, ErrorCode::kInvalidState);
      answered_.push_back(number);
    });
    return {.header = {},
            .body = std::string(bytes, 'x'),
            .responder = ClientAnswer(std::move(responder), nullptr, RequestKind::kPut, Instant(),
                                      Endpoint(), bytes)};
  }
  void Hold(int number, size_t bytes = 0) {
    held_.Hold(Request(number, bytes), now_, [this, number](ClientRequest request) {
      gone_on_.push_back(number);
      if (are_held_again_) held_.Hold(std::move(request), now_, [](const ClientRequest&) {});
    });
  }

  HeldRequests held_;
  Instant now_ = Instant(0) + absl::Hours(1);
  std::vector<int> gone_on_, answered_;
  bool are_held_again_ = false;
};

TEST_F(HeldQueueTest, TheyGoOnInTheOrderOfTheirArrival) {
  for (int i = 1; i <= 3; ++i) Hold(i);
  held_.Release();
  EXPECT_EQ(gone_on_, (std::vector{1, 2, 3}));
  EXPECT_TRUE(held_.empty());
  EXPECT_TRUE(answered_.empty());
}

TEST_F(HeldQueueTest, WhoIsHeldAgainWaitsAnew) {
  Hold(1);
  are_held_again_ = true;
  now_ = now_ + absl::Milliseconds(400);
  held_.Release();
  ASSERT_FALSE(held_.empty());
  EXPECT_EQ(held_.NextDeadline(), now_ + HeldRequests::kAtMost);
}

TEST_F(HeldQueueTest, EachHasItsOwnTime) {
  Hold(1);
  now_ = now_ + absl::Milliseconds(200);
  Hold(2);
  held_.Expire(now_ + absl::Milliseconds(299));
  EXPECT_TRUE(answered_.empty());
  EXPECT_EQ(held_.NextDeadline(), now_ + absl::Milliseconds(300));
  held_.Expire(now_ + absl::Milliseconds(300));
  EXPECT_EQ(answered_, (std::vector{1}));
  held_.Refuse();
  EXPECT_EQ(answered_, (std::vector{1, 2}));
  EXPECT_TRUE(held_.empty());
  EXPECT_TRUE(gone_on_.empty());
}

TEST_F(HeldQueueTest, WhatTheyHoldIsBounded) {
  const ClientRequest large = Request(0, HeldRequests::kBytesMax / 2);
  EXPECT_TRUE(held_.HasRoomFor(large));
  Hold(1, HeldRequests::kBytesMax / 2);
  EXPECT_FALSE(held_.HasRoomFor(large)) << "a request takes more than its bytes";
  EXPECT_TRUE(held_.HasRoomFor(Request(0, HeldRequests::kBytesMax / 4)));
  held_.Expire(now_ + HeldRequests::kAtMost);
  EXPECT_TRUE(held_.HasRoomFor(large));
}

class HeldRequestsTest : public ReplicaServerWorld {
 protected:
  struct Reply {
    std::optional<ErrorCode> error;  // nullopt: none yet
    Instant at;
  };
  std::shared_ptr<Reply> Ask(Server& server, const char* name, std::string body) {
    auto reply = std::make_shared<Reply>();
    client_strand_->Post([this, reply, to = server.address, name, body = std::move(body)] {
      client_->Call(to, {.name = name, .body = body, .pid = kPid, .timeout = absl::Seconds(20)},
                    client_strand_, [this, reply](const RpcResult& result) {
                      *reply = {result.error, world_.now()};
                    });
    });
    return reply;
  }
  std::shared_ptr<Reply> AskPut(Server& server, int i) {
    return Ask(server, kRpcPut, EncodeWrapped(UpdateRequest{Key(i), "v", 0}));
  }
  std::shared_ptr<Reply> AskGet(Server& server, int i) {
    return Ask(server, kRpcGet, EncodeWrapped(Blob(Key(i))));
  }
  // Three members, the first is primary.
  void MakeGroup() {
    for (int i = 0; i < 3; ++i) AddServer();
    ASSERT_TRUE(MakePrimary(*servers_[0]));
    ASSERT_TRUE(AddSecondary(*servers_[0], *servers_[1]));
    ASSERT_TRUE(AddSecondary(*servers_[0], *servers_[2]));
    ASSERT_EQ(Put(*servers_[0], 0, "v"), ErrorCode::kOk);
  }
};

TEST_F(HeldRequestsTest, WhatIsAskedDuringAnUpdateWaitsForItsAnswer) {
  MakeGroup();
  Server& primary = *servers_[0];
  meta_.HoldUpdates();
  meta_.Propose(primary.address, ConfigType::kDowngradeToInactive, servers_[2]->address);
  world_.RunFor(absl::Milliseconds(100));
  ASSERT_EQ(Snapshot(primary).status, PartitionStatus::kInactive);
  const auto put = AskPut(primary, 1);
  const auto get = AskGet(primary, 0);
  world_.RunFor(absl::Milliseconds(200));
  EXPECT_FALSE(put->error) << *put->error;
  EXPECT_FALSE(get->error) << *get->error;
  meta_.AnswerUpdates();
  world_.RunFor(absl::Milliseconds(100));
  EXPECT_EQ(put->error, ErrorCode::kOk);
  EXPECT_EQ(get->error, ErrorCode::kOk);
}

TEST_F(HeldRequestsTest, WhoWaitedLongEnoughIsSentToTheMetaServer) {
  MakeGroup();
  Server& primary = *servers_[0];
  meta_.HoldUpdates();
  meta_.Propose(primary.address, ConfigType::kDowngradeToInactive, servers_[2]->address);
  world_.RunFor(absl::Milliseconds(100));
  const Instant asked = world_.now();
  const auto put = AskPut(primary, 1);
  world_.RunFor(absl::Milliseconds(300));
  const auto later = AskPut(primary, 2);
  world_.RunFor(absl::Milliseconds(300));
  EXPECT_EQ(put->error, ErrorCode::kInvalidState);
  EXPECT_LT(put->at - asked, absl::Milliseconds(510));
  EXPECT_FALSE(later->error) << "each has its own time";
  world_.RunFor(absl::Milliseconds(300));
  EXPECT_EQ(later->error, ErrorCode::kInvalidState);
}

TEST_F(HeldRequestsTest, NothingWaitsForALeaseThatIsLost) {
  MakeGroup();
  Server& primary = *servers_[0];
  meta_.HoldUpdates();
  meta_.SetSilent(true);
  world_.RunFor(options_.lease + absl::Seconds(1));
  const Instant asked = world_.now();
  const auto put = AskPut(primary, 1);
  world_.RunFor(absl::Milliseconds(100));
  ASSERT_TRUE(put->error);
  EXPECT_EQ(put->error, ErrorCode::kInvalidState);
  EXPECT_LT(put->at - asked, absl::Milliseconds(50));
}

// Many writers, as a balancer moves the primary: each write is acknowledged or was not done, and
// the old primary tells where to ask next once there is somebody.
TEST_F(HeldRequestsTest, APlannedMoveLeavesNoWriteUndecidedAndTheGapIsShort) {
  MakeGroup();
  Server& from = *servers_[0];
  Server& to = *servers_[1];
  std::vector<std::shared_ptr<Reply>> puts;
  const auto write_for = [&](absl::Duration time) {
    for (const Instant end = world_.now() + time; world_.now() < end;
         world_.RunFor(absl::Microseconds(500)))
      puts.push_back(AskPut(from, static_cast<int>(puts.size())));
  };
  write_for(absl::Milliseconds(50));
  meta_.Propose(from.address, ConfigType::kDowngradeToSecondary, from.address);
  while (meta_.configuration().primary.IsValid()) write_for(absl::Milliseconds(1));
  const Instant begin = world_.now();
  meta_.Propose(to.address, ConfigType::kUpgradeToPrimary, to.address);
  write_for(absl::Milliseconds(100));
  world_.RunFor(absl::Seconds(1));
  int done = 0;
  int refused = 0;
  for (const auto& put : puts) {
    ASSERT_TRUE(put->error);
    done += put->error == ErrorCode::kOk ? 1 : 0;
    refused += put->error == ErrorCode::kInvalidState ? 1 : 0;
  }
  EXPECT_EQ(meta_.configuration().primary, to.address);
  EXPECT_EQ(done + refused, static_cast<int>(puts.size())) << "some are undecided";
  EXPECT_GT(done, 50);
  EXPECT_GT(refused, 50);
  Instant first_refused = Instant::InfiniteFuture();
  for (const auto& put : puts)
    if (put->error == ErrorCode::kInvalidState) first_refused = std::min(first_refused, put->at);
  EXPECT_GT(first_refused, begin) << "sent away before there was anybody to go to";
  EXPECT_LT(first_refused - begin, absl::Milliseconds(100));
}

// A clean stop hands over first; the fake meta server lets the first secondary follow.
TEST_F(HeldRequestsTest, AServerThatStopsHandsItsPartitionsOverFirst) {
  MakeGroup();
  Server& from = *servers_[0];
  Server& to = *servers_[1];
  std::optional<absl::Status> stopped;
  from.server->Stop([&](absl::Status status) { stopped = std::move(status); });
  ASSERT_TRUE(world_.RunUntil([&] { return !meta_.configuration().primary.IsValid(); },
                              absl::Milliseconds(100)));
  EXPECT_FALSE(stopped);
  EXPECT_TRUE(meta_.configuration().IsSecondary(from.address)) << "it comes back";
  meta_.Propose(to.address, ConfigType::kUpgradeToPrimary, to.address);
  ASSERT_TRUE(world_.RunUntil([&] { return stopped.has_value(); }, absl::Seconds(10)));
  EXPECT_TRUE(stopped->ok()) << *stopped;
  ASSERT_TRUE(WaitFor(to, PartitionStatus::kPrimary));
  EXPECT_EQ(Get(to, 0), "v");
}

// What it was asked to prepare when it closed is refused at once, so that its primary goes on without
// it and need not wait until it is back.
TEST_F(HeldRequestsTest, ASecondaryThatStopsLeavesNoWriteWaiting) {
  MakeGroup();
  Server& secondary = *servers_[1];
  secondary.node.disk().SetSlowness(100);  // its log is still at it when it closes
  const Instant asked = world_.now();
  const auto put = AskPut(*servers_[0], 1);
  world_.RunFor(absl::Milliseconds(2));
  ASSERT_FALSE(put->error);
  secondary.server->Stop([](const absl::Status&) {});
  world_.RunFor(absl::Seconds(4));
  EXPECT_FALSE(meta_.configuration().IsMember(secondary.address));
  EXPECT_EQ(put->error, ErrorCode::kOk);
  EXPECT_LT(put->at - asked, absl::Milliseconds(50));
}

}  // namespace
}  // namespace arion
