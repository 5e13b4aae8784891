// SPDX-License-Identifier: Apache-2.0
#include "meta/server_requests.h"
#include "meta/older_server_vetting.h"
#include "meta/request_handlers.h"
#include "meta/wall_clocks.h"
#include "meta_state/failure_detector.h"
#include "meta_state/report_numbers.h"

#include <gtest/gtest.h>

#include "tests/meta/part_fixture.h"

namespace arion {
namespace {

class ServerRequestsTest : public PartFixture {
 protected:
  ServerRequestsTest() {
    Table& table = state_.tables[1];
    table.info = {.status = AppStatus::kAvailable, .app_id = 1, .partition_count = 1};
    table.partitions.resize(1);
    partition().config = {.pid = {1, 0}, .ballot = Ballot(5), .primary = ServerAt(1)};
    state_.nodes[ServerAt(1)] = {};
    servers_.AddTo(handlers_);
    servers_.Begin();
  }
  Partition& partition() { return state_.tables[1].partitions[0]; }
  template <class Response, class Request>
  std::optional<Response> Ask(const char* name, const Request& request) {
    answers_.clear();
    OnStrand([&] {
      InboundRequest inbound = RequestFor(name, EncodeWrapped(request));
      (*handlers_.Find(name))(inbound);
    });
    return Answered<Response>(name);
  }
  std::optional<BeaconAck> Beacon(int n, int64_t process_id = 1, bool stops = false) {
    BeaconMessage beacon{.time = 77, .from_node = ServerAt(n), .process_id = process_id};
    if (stops) beacon.stops = true;
    return Ask<BeaconAck>(kRpcBeacon, beacon);
  }
  ConfigSyncResponse Sync(int n, std::optional<int64_t> number) {
    return *Ask<ConfigSyncResponse>(
        kRpcConfigSync,
        ConfigSyncRequest{
            .node = ServerAt(n), .stored_replicas = std::vector<ReplicaInfo>(), .number = number});
  }

  ClusterState state_;
  FailureDetector detector_{{.grace = absl::Seconds(10), .max_successive_unstable_restarts = 0}};
  ReportNumbers numbers_{7};
  MetaServerOptions options_;
  int plans_ = 0;
  Counter deaths_;
  WallClocks wall_clocks_{env_.clock(), state_, absl::Seconds(5), [] {}};
  OlderServerVetting older_servers_{transport_, env_.clock(),         strand_, owner_life_, state_,
                                    codec_,     [](InboundRequest) {}};
  ServerRequests servers_{
      {.state = state_,
       .detector = detector_,
       .numbers = numbers_,
       .wall_clocks = wall_clocks_,
       .older_servers = older_servers_,
       .options = options_,
       .codec = codec_,
       .clock = env_.clock(),
       .life = 3,
       .deaths = deaths_},
      {.excused_until = [] { return Instant(0); }, .plan = [this] { ++plans_; }}};
  RequestHandlers handlers_;
};

TEST_F(ServerRequestsTest, KnownServersAreAliveForAGraceAfterTheStart) {
  EXPECT_TRUE(state_.IsAlive(ServerAt(1)));
  state_.awaited = {ServerAt(1)};
  servers_.Expire();
  EXPECT_TRUE(state_.IsAlive(ServerAt(1)));
  world_.RunFor(options_.grace);
  servers_.Expire();
  EXPECT_FALSE(state_.IsAlive(ServerAt(1)));
  EXPECT_TRUE(state_.awaited.empty());
  EXPECT_EQ(deaths_.value(), 1);
}

TEST_F(ServerRequestsTest, ABeaconThatIsAnsweredMovesTheEndOfLeases) {
  world_.RunFor(absl::Seconds(4));
  const auto ack = Beacon(2);
  ASSERT_TRUE(ack.has_value());
  EXPECT_EQ(ack->time, 77);
  EXPECT_EQ(ack->arion_meta_life, 3);
  EXPECT_EQ(servers_.leases_end(), env_.clock().Now() + options_.grace);
  EXPECT_LT(servers_.start_ends(), servers_.leases_end());
  EXPECT_TRUE(state_.IsAlive(ServerAt(2)));
  EXPECT_EQ(plans_, 1);
}

TEST_F(ServerRequestsTest, WhoLedNothingAtTheStartMayHaveBeenDead) {
  EXPECT_EQ(Beacon(1)->arion_deaths, 0);
  EXPECT_EQ(Beacon(2)->arion_deaths, 1);
}

TEST_F(ServerRequestsTest, ARestartEndsTheIncarnation) {
  Beacon(1, 1);
  partition().serving = {ServerAt(1)};
  Beacon(1, 2);
  EXPECT_EQ(state_.nodes[ServerAt(1)].incarnation, 1);
  EXPECT_TRUE(partition().serving.empty());
  EXPECT_FALSE(Beacon(1, 1).has_value()) << "a former process";
}

TEST_F(ServerRequestsTest, WhoStopsIsSeenAtOnceAndOnce) {
  Beacon(1);
  plans_ = 0;
  Beacon(1, 1, /*stops=*/true);
  Beacon(1, 1, /*stops=*/true);
  EXPECT_TRUE(state_.IsStopping(ServerAt(1)));
  EXPECT_EQ(plans_, 1);
}

TEST_F(ServerRequestsTest, OnlyTheReportThatIsAwaitedIsRead) {
  EXPECT_EQ(Sync(2, 0).err, ErrorCode::kObjectNotFound) << "it is not alive";
  Beacon(1);
  const ConfigSyncResponse first = Sync(1, 0);
  EXPECT_EQ(first.err, ErrorCode::kInvalidVersion);
  EXPECT_FALSE(state_.nodes[ServerAt(1)].collected);
  const ConfigSyncResponse second = Sync(1, first.next_number);
  EXPECT_EQ(second.err, ErrorCode::kOk);
  EXPECT_TRUE(state_.nodes[ServerAt(1)].collected);
  ASSERT_EQ(second.partitions.size(), 1u);
  EXPECT_EQ(Sync(1, first.next_number).err, ErrorCode::kInvalidVersion) << "doubled";
}

TEST_F(ServerRequestsTest, WhileAPartitionIsPendingItsMembersHearNothing) {
  Beacon(1);
  partition().pending = partition().config;
  const ConfigSyncResponse answer = Sync(1, Sync(1, 0).next_number);
  EXPECT_EQ(answer.err, ErrorCode::kBusy);
  EXPECT_TRUE(answer.partitions.empty());
}

}  // namespace
}  // namespace arion
