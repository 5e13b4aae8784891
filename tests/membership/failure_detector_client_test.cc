// SPDX-License-Identifier: Apache-2.0
#include "membership/failure_detector_client.h"
#include "membership/server_lease.h"
#include "messages/meta_messages.h"

#include <gtest/gtest.h>

#include <optional>
#include <set>

#include "sim/sim_environment.h"
#include "sim/sim_transport.h"

namespace arion {
namespace {

// One worker at node r1, two meta servers that answer as they are told.
class FailureDetectorClientTest : public testing::Test {
 protected:
  struct Meta {
    Meta(sim::SimWorld& world, sim::SimNetwork& network, const char* name, const char* address)
        : node(world.AddNode(name)), transport(network, node, *Endpoint::Parse(address)) {
      transport.SetHandler([this](InboundRequest request) {
        const auto beacon = DecodeWrapped<BeaconMessage>(request.body);
        ASSERT_TRUE(beacon.ok());
        ++beacons;
        stops = beacon->stops;
        processes.insert(*beacon->process_id);
        if (silent) return;
        const BeaconAck ack{.time = beacon->time,
                            .this_node = beacon->to_node,
                            .primary_node = leader,
                            .is_master = is_leader,
                            .allowed = allowed,
                            .arion_meta_life = life,
                            .arion_deaths = deaths,
                            .arion_is_frozen = is_frozen,
                            .agreed_wall_ms = agreed_wall_ms};
        request.responder.Reply(ErrorCode::kOk, EncodeWrapped(ack));
      });
    }
    sim::SimNode& node;
    bool started = (node.Start(), true);
    sim::SimTransport transport;
    bool silent = false, is_leader = true, allowed = true;
    Endpoint leader;
    std::optional<int64_t> life, deaths;  // unset: of a version that does not count
    std::optional<bool> is_frozen;
    std::optional<int64_t> agreed_wall_ms;
    int beacons = 0;
    std::optional<bool> stops;  // as the last beacon says
    std::set<int64_t> processes;
  };

  void StartWorker(std::vector<Endpoint> metas) {
    worker_ = std::make_shared<FailureDetectorClient>(
        env_, transport_, strand_, lease_,
        FailureDetectorOptions{.meta_servers = std::move(metas),
                               .beacon_interval = absl::Seconds(1),
                               .lease = absl::Seconds(4)},
        FailureDetectorClient::Events{.on_gained = [this] { events_ += "+"; },
                                      .on_lost =
                                          [this] {
                                            events_ += "-";
                                            EXPECT_FALSE(
                                                lease_->Holds(lease_->term(), env_.clock().Now()));
                                          },
                                      .on_thawed = [this] { events_ += "t"; },
                                      .on_unanswered = [this] { ++unanswered_; }});
    env_.RunOn(strand_, [this] { worker_->Start(); });
  }

  sim::SimWorld world_{7};
  sim::SimNetwork network_{world_};
  sim::SimNode& node_ = world_.AddNode("r1");
  sim::SimEnvironment& env_ = node_.Start();
  sim::SimTransport transport_{network_, node_, *Endpoint::Parse("10.0.0.1:34801")};
  StrandPtr strand_ = env_.NewStrand("worker");
  std::shared_ptr<ServerLease> lease_ = std::make_shared<ServerLease>();
  std::shared_ptr<FailureDetectorClient> worker_;
  std::string events_;
  int unanswered_ = 0;
};

TEST_F(FailureDetectorClientTest, ThatTheServerStopsIsSaidAtOnceAndFromThenOn) {
  Meta meta(world_, network_, "m1", "10.0.0.9:34601");
  StartWorker({meta.transport.local()});
  world_.RunFor(absl::Milliseconds(2100));
  EXPECT_FALSE(meta.stops);
  const int before = meta.beacons;
  env_.RunOn(strand_, [this] { worker_->SayStops(); });
  world_.RunFor(absl::Milliseconds(500));
  EXPECT_EQ(meta.beacons, before + 1);
  EXPECT_EQ(meta.stops, true);
  world_.RunFor(absl::Seconds(10));
  EXPECT_EQ(meta.stops, true);
  EXPECT_EQ(events_, "+") << "it keeps its lease until it has handed over";
}

TEST_F(FailureDetectorClientTest, AServerThatStopsWithoutAMetaServerSaysItToNobody) {
  StartWorker({});
  env_.RunOn(strand_, [this] { worker_->SayStops(); });
  world_.RunFor(absl::Seconds(2));
  EXPECT_EQ(unanswered_, 0);
}

TEST_F(FailureDetectorClientTest, AcknowledgedBeaconsKeepTheLease) {
  Meta meta(world_, network_, "m1", "10.0.0.9:34601");
  StartWorker({meta.transport.local()});
  world_.RunFor(absl::Seconds(30));
  EXPECT_EQ(events_, "+");
  EXPECT_GE(meta.beacons, 29);
  EXPECT_TRUE(lease_->Holds(lease_->term(), env_.clock().Now()));
  EXPECT_EQ(lease_->leader(), meta.transport.local());
}

TEST_F(FailureDetectorClientTest, BeaconsNameTheProcess) {
  Meta meta(world_, network_, "m1", "10.0.0.9:34601");
  StartWorker({meta.transport.local()});
  world_.RunFor(absl::Seconds(3));
  EXPECT_EQ(meta.processes.size(), 1u);
  env_.RunOn(strand_, [this] { worker_->Stop(); });
  StartWorker({meta.transport.local()});
  world_.RunFor(absl::Seconds(3));
  EXPECT_EQ(meta.processes.size(), 2u) << "another one";
}

TEST_F(FailureDetectorClientTest, MetaServersThatAreFoundLaterOrElsewhereAreAsked) {
  Meta meta(world_, network_, "m1", "10.0.0.9:34601");
  Meta other(world_, network_, "m2", "10.0.0.8:34601");
  StartWorker({});
  world_.RunFor(absl::Seconds(5));
  EXPECT_EQ(events_, "");
  env_.RunOn(strand_, [&] { worker_->SetMetaServers({meta.transport.local()}); });
  world_.RunFor(absl::Seconds(5));
  EXPECT_EQ(events_, "+");
  EXPECT_EQ(unanswered_, 0);
  env_.RunOn(strand_, [&] { worker_->SetMetaServers({other.transport.local()}); });
  world_.RunFor(absl::Seconds(5));
  EXPECT_EQ(other.beacons, 0) << "the one that answers is kept";
  meta.silent = true;
  world_.RunFor(absl::Seconds(3.5));
  EXPECT_GE(unanswered_, 1);
  EXPECT_EQ(events_, "+") << "the other one is asked before the lease is over";
  EXPECT_EQ(lease_->leader(), other.transport.local());
}

TEST_F(FailureDetectorClientTest,
       TheLeaseEndsOneLeaseAfterTheLastAcknowledgedSendingAndItsTermIsOver) {
  Meta meta(world_, network_, "m1", "10.0.0.9:34601");
  StartWorker({meta.transport.local()});
  world_.RunFor(absl::Seconds(10));
  const uint64_t term = lease_->term();
  meta.silent = true;
  world_.RunFor(absl::Seconds(2.5));
  EXPECT_EQ(events_, "+");
  world_.RunFor(absl::Seconds(2));
  EXPECT_EQ(events_, "+-");
  meta.silent = false;
  world_.RunFor(absl::Seconds(5));
  EXPECT_EQ(events_, "+-+");
  EXPECT_TRUE(lease_->Holds(lease_->term(), env_.clock().Now()));
  EXPECT_FALSE(lease_->Holds(term, env_.clock().Now()))
      << "a term that was lost never counts again";
}

TEST_F(FailureDetectorClientTest, WhoWasDeclaredDeadWhileItsClockStoodStillBeginsANewTerm) {
  Meta meta(world_, network_, "m1", "10.0.0.9:34601");
  meta.life = 7;
  meta.deaths = 3;  // of before: this server did not hold the lease yet
  StartWorker({meta.transport.local()});
  world_.RunFor(absl::Seconds(10));
  EXPECT_EQ(events_, "+");
  const uint64_t term = lease_->term();
  meta.deaths = 4;
  world_.RunFor(absl::Seconds(1));
  EXPECT_EQ(events_, "+-+");
  EXPECT_FALSE(lease_->Holds(term, env_.clock().Now()));
  EXPECT_TRUE(lease_->Holds(lease_->term(), env_.clock().Now()));
  world_.RunFor(absl::Seconds(10));
  EXPECT_EQ(events_, "+-+") << "told once";
}

TEST_F(FailureDetectorClientTest, WhoseClockStoodStillForgetsWhatTimeItWas) {
  Meta meta(world_, network_, "m1", "10.0.0.9:34601");
  meta.life = 7;
  meta.deaths = 3;
  meta.agreed_wall_ms = 1'000'000;  // long ago, as to whom the time since then is missing
  StartWorker({meta.transport.local()});
  world_.RunFor(absl::Seconds(3));
  EXPECT_LT(AgreedWallMicros(env_.clock()), 2'000'000'000);
  meta.agreed_wall_ms = 0;  // they don't agree now
  world_.RunFor(absl::Seconds(3));
  EXPECT_LT(AgreedWallMicros(env_.clock()), 2'000'000'000) << "the former agreement goes on";
  meta.deaths = 4;
  world_.RunFor(absl::Seconds(3));
  EXPECT_EQ(AgreedWallMicros(env_.clock()), env_.clock().WallMicros());
}

TEST_F(FailureDetectorClientTest, ADeathThatAnotherLifeOfTheMetaServerDeclaredCountsToo) {
  Meta meta(world_, network_, "m1", "10.0.0.9:34601");
  meta.life = 7;
  meta.deaths = 3;
  StartWorker({meta.transport.local()});
  world_.RunFor(absl::Seconds(10));
  meta.life = 8;
  meta.deaths = 0;
  world_.RunFor(absl::Seconds(3));
  EXPECT_EQ(events_, "+") << "a meta server that starts again ends no lease";
  meta.life = 9;
  meta.deaths = 1;
  world_.RunFor(absl::Seconds(3));
  EXPECT_EQ(events_, "+-+");
}

TEST_F(FailureDetectorClientTest, AMetaServerThatDoesNotCountDeathsIsBelieved) {
  Meta meta(world_, network_, "m1", "10.0.0.9:34601");
  StartWorker({meta.transport.local()});
  world_.RunFor(absl::Seconds(10));
  EXPECT_EQ(events_, "+");
}

TEST_F(FailureDetectorClientTest, TheEndOfAFreezeIsToldOnce) {
  Meta meta(world_, network_, "m1", "10.0.0.9:34601");
  meta.is_frozen = false;
  StartWorker({meta.transport.local()});
  world_.RunFor(absl::Seconds(5));
  meta.is_frozen = true;
  world_.RunFor(absl::Seconds(5));
  EXPECT_EQ(events_, "+");
  meta.is_frozen = false;
  world_.RunFor(absl::Seconds(5));
  EXPECT_EQ(events_, "+t");
}

TEST_F(FailureDetectorClientTest, AFollowersAnswerGrantsNothingAndItsHintIsFollowed) {
  Meta follower(world_, network_, "m1", "10.0.0.8:34601");
  Meta leader(world_, network_, "m2", "10.0.0.9:34601");
  follower.is_leader = false;
  StartWorker({follower.transport.local()});
  world_.RunFor(absl::Seconds(6));
  EXPECT_EQ(events_, "");
  follower.leader = leader.transport.local();
  world_.RunFor(absl::Seconds(2));
  EXPECT_EQ(events_, "+");
  EXPECT_EQ(lease_->leader(), leader.transport.local());
}

TEST_F(FailureDetectorClientTest, ASilentMetaServerIsLeftForTheNext) {
  Meta silent(world_, network_, "m1", "10.0.0.8:34601");
  Meta leader(world_, network_, "m2", "10.0.0.9:34601");
  silent.silent = true;
  StartWorker({silent.transport.local(), leader.transport.local()});
  world_.RunFor(absl::Seconds(4));
  EXPECT_EQ(events_, "+");
}

TEST_F(FailureDetectorClientTest, AServerThatIsNotAdmittedStopsAsking) {
  Meta meta(world_, network_, "m1", "10.0.0.9:34601");
  meta.allowed = false;
  StartWorker({meta.transport.local()});
  world_.RunFor(absl::Seconds(20));
  EXPECT_EQ(events_, "");
  EXPECT_EQ(meta.beacons, 1);
}

}  // namespace
}  // namespace arion
