// Three meta servers in one world, with the simulated ensemble between them.
// SPDX-License-Identifier: Apache-2.0
#include "meta_ensemble/meta_member.h"

#include <gtest/gtest.h>

#include <set>

#include "meta/meta_options.h"
#include "meta_ensemble/ensemble_overview.h"
#include "meta_overview/cluster_overview.h"
#include "sim_zookeeper/sim_zookeeper.h"
#include "tests/meta/meta_fixture.h"

namespace arion {
namespace {

class MemberTransport : public RecordingTransport {
 public:
  explicit MemberTransport(Endpoint local) : local_(local) {}
  Endpoint local() const override { return local_; }
  // Between meta servers; what nobody has at that address fails.
  void Call(Endpoint to, OutboundRequest request, StrandPtr reply_on,
            absl::AnyInvocable<void(RpcResult)> done) override {
    if (!route) return RecordingTransport::Call(to, std::move(request), reply_on, std::move(done));
    InboundRequest asked;
    asked.header.name = request.name;
    asked.body = std::move(request.body);
    asked.responder =
        Responder([reply_on, done = std::move(done)](ErrorCode error, std::string body) mutable {
          reply_on->Post([done = std::move(done), error, body = std::move(body)]() mutable {
            done({.error = error, .body = std::move(body)});
          });
        });
    route(to, std::move(asked));
  }
  std::function<void(Endpoint to, InboundRequest)> route;

 private:
  const Endpoint local_;
};

// One server, and its lives.
struct Server {
  Server(sim::SimWorld& world, sim::SimZooKeeper& zookeeper, int n)
      : node(world.AddNode("meta" + std::to_string(n))),
        zookeeper(zookeeper),
        address{0x0a000000u + static_cast<uint32_t>(n), 34601},
        transport(address) {}

  // `grace`: long, where nobody sends beacons all the while.
  void Start(uint32_t known_id = 0, absl::Duration grace = absl::Seconds(60)) {
    sim::SimEnvironment& env = node.Start();
    MetaServerOptions meta;
    meta.grace = grace;
    member = std::make_unique<MetaMember>(
        env, transport, zookeeper.ClientOf(node),
        MetaMemberOptions{.root = "/c",
                          .lock_root = "/c/lock",
                          .known_cluster_id = [known_id] { return known_id; },
                          .on_cluster_id =
                              [this, known_id](uint32_t id) {
                                cluster_id = id;
                                return known_id == 0 || known_id == id
                                           ? absl::OkStatus()
                                           : absl::FailedPreconditionError("another cluster's");
                              }},
        meta);
    transport.SetHandler(member->Handler());
    member->Start();
  }
  void Crash() {
    node.Crash(sim::CrashMode::kProcess);
    member.reset();
  }

  sim::SimNode& node;
  sim::SimZooKeeper& zookeeper;
  const Endpoint address;
  MemberTransport transport;
  std::unique_ptr<MetaMember> member;
  uint32_t cluster_id = 0;
};

class MetaMemberTest : public ::testing::Test {
 protected:
  MetaMemberTest() {
    for (int n = 0; n < 3; ++n) servers_.push_back(std::make_unique<Server>(world_, zookeeper_, n));
    for (auto& server : servers_)
      server->transport.route = [this](Endpoint to, InboundRequest request) {
        for (auto& other : servers_)
          if (other->address == to && other->node.alive())
            return other->transport.handler(std::move(request));
        request.responder.Reply(ErrorCode::kNetworkFailure);
      };
  }
  ~MetaMemberTest() override {
    for (auto& server : servers_)
      if (server->node.alive()) server->Crash();
  }
  void StartAll() {
    for (auto& server : servers_) server->Start();
  }
  template <class Response, class Request>
  std::optional<Response> Ask(Server& server, const char* name, const Request& body) {
    auto reply = std::make_shared<std::optional<std::pair<ErrorCode, std::string>>>();
    InboundRequest request;
    request.header.name = name;
    request.body = EncodeWrapped(body);
    request.responder = Responder([reply](ErrorCode error, std::string bytes) {
      *reply = {error, std::move(bytes)};
    });
    server.transport.handler(std::move(request));
    world_.RunUntil([&] { return reply->has_value(); }, absl::Seconds(5));
    if (!*reply || (*reply)->first != ErrorCode::kOk) return std::nullopt;
    return *DecodeWrapped<Response>((*reply)->second);
  }
  BeaconAck Beacon(Server& server) {
    return Ask<BeaconAck>(
               server, kRpcBeacon,
               BeaconMessage{.time = 1, .from_node = ServerAt(1), .to_node = server.address})
        .value_or(BeaconAck());
  }
  // Those that answer beacons as a leader does.
  std::vector<Server*> Leaders() {
    std::vector<Server*> found;
    for (auto& server : servers_)
      if (server->node.alive() && Beacon(*server).is_master) found.push_back(server.get());
    return found;
  }
  Server* WaitForLeader(absl::Duration limit = absl::Seconds(30)) {
    const Instant end = world_.now() + limit;
    while (world_.now() < end) {
      const std::vector<Server*> leaders = Leaders();
      EXPECT_LE(leaders.size(), 1u) << "meta_member/E1";
      if (leaders.size() == 1) return leaders[0];
      world_.RunFor(absl::Milliseconds(200));
    }
    return nullptr;
  }
  ErrorCode CreateTable(Server& server, const std::string& name) {
    CreateAppRequest create{.app_name = name};
    create.options = {.partition_count = 2,
                      .replica_count = 1,
                      .success_if_exist = true,
                      .app_type = "pegasus",
                      .is_stateful = true};
    const auto answer = Ask<CreateAppResponse>(server, kRpcCreateApp, create);
    return answer ? answer->err : ErrorCode::kTimeout;
  }
  // The answer may come later.
  std::shared_ptr<std::optional<ErrorCode>> BeginCreate(Server& server, const std::string& name) {
    auto error = std::make_shared<std::optional<ErrorCode>>();
    InboundRequest request;
    request.header.name = kRpcCreateApp;
    request.body = EncodeWrapped(CreateAppRequest{.app_name = name,
                                                  .options = {.partition_count = 2,
                                                              .replica_count = 1,
                                                              .success_if_exist = true,
                                                              .app_type = "pegasus",
                                                              .is_stateful = true}});
    request.responder = Responder([error](ErrorCode, std::string body) {
      const auto answer = DecodeWrapped<CreateAppResponse>(body);
      *error = answer.ok() ? answer->err : ErrorCode::kInvalidData;
    });
    server.transport.handler(std::move(request));
    return error;
  }
  std::optional<HandOverLeadResponse> HandOver(Server& server) {
    return Ask<HandOverLeadResponse>(server, kRpcHandOverLead, HandOverLeadRequest());
  }
  // What it shows of all of them within a second.
  std::optional<EnsembleOverview> Shown(Server& server) {
    auto shown = std::make_shared<std::optional<EnsembleOverview>>();
    server.member->Ensemble([shown](EnsembleOverview overview) { *shown = std::move(overview); });
    world_.RunUntil([&] { return shown->has_value(); }, absl::Seconds(1));
    return *shown;
  }
  std::vector<std::string> Tables(Server& server) {
    std::vector<std::string> names;
    const auto answer = Ask<ListAppsResponse>(server, kRpcListApps,
                                              ListAppsRequest{.status = AppStatus::kAvailable});
    if (answer)
      for (const AppInfo& app : answer->infos) names.push_back(app.app_name);
    return names;
  }

  sim::SimWorld world_{11};
  sim::SimZooKeeper zookeeper_{world_,
                               {.session_timeout = absl::Seconds(6), .tick = absl::Seconds(1)}};
  std::vector<std::unique_ptr<Server>> servers_;
};

TEST_F(MetaMemberTest, OneLeadsAndTheOthersPointToIt) {
  StartAll();
  Server* leader = WaitForLeader();
  ASSERT_NE(leader, nullptr);
  for (auto& server : servers_) {
    if (server.get() == leader) continue;
    EXPECT_EQ(Beacon(*server).primary_node, leader->address);
    EXPECT_EQ(CreateTable(*server, "t"), ErrorCode::kForwardToOthers);
    std::optional<Leadership> shown;
    server->member->Overview([&](ClusterOverview overview) { shown = overview.leadership; });
    ASSERT_TRUE(world_.RunUntil([&] { return shown.has_value(); }, absl::Seconds(1)));
    EXPECT_FALSE(shown->is_leader);
    EXPECT_EQ(shown->leader, leader->address);
  }
}

TEST_F(MetaMemberTest, EachShowsAllCandidatesInTheirOrder) {
  StartAll();
  Server* leader = WaitForLeader();
  ASSERT_NE(leader, nullptr);
  ASSERT_EQ(CreateTable(*leader, "t"), ErrorCode::kOk);
  world_.RunFor(absl::Seconds(3));
  for (auto& server : servers_) {
    const std::optional<EnsembleOverview> shown = Shown(*server);
    ASSERT_TRUE(shown && shown->candidates) << server->address;
    ASSERT_EQ(shown->candidates->size(), 3u);
    EXPECT_EQ(shown->candidates->front().address, leader->address.ToString());
    EXPECT_EQ(shown->candidates->front().node, "LOCKNODE0000000000");
    EXPECT_EQ(shown->candidates->at(2).node, "LOCKNODE0000000002");
    EXPECT_TRUE(shown->is_connected);
    EXPECT_EQ(shown->session_timeout, absl::Seconds(6));
    const bool leads = server.get() == leader;
    EXPECT_EQ(shown->leadership.is_leader, leads);
    EXPECT_EQ(shown->leadership.leader, leader->address);
    EXPECT_EQ(shown->leads_for.has_value(), leads);
    EXPECT_EQ(shown->last_proof.has_value(), leads);
    EXPECT_EQ(shown->last_write.has_value(), leads);
  }
}

TEST_F(MetaMemberTest, OneThatIsCutOffShowsWhatItKnowsWithoutAWait) {
  StartAll();
  ASSERT_NE(WaitForLeader(), nullptr);
  ASSERT_TRUE(Shown(*servers_[2])->candidates);
  zookeeper_.Cut(servers_[2]->node);
  world_.RunFor(absl::Seconds(3));  // it has not noticed yet, and asks
  EXPECT_EQ(Shown(*servers_[2])->candidates->size(), 3u);
  zookeeper_.TakeDown();
  world_.RunFor(absl::Seconds(10));
  const std::optional<EnsembleOverview> shown = Shown(*servers_[2]);
  ASSERT_TRUE(shown.has_value());
  EXPECT_FALSE(shown->is_connected);
}

TEST_F(MetaMemberTest, WhatWasAnsweredIsThereUnderTheNext) {
  StartAll();
  Server* former = WaitForLeader();
  ASSERT_NE(former, nullptr);
  ASSERT_EQ(CreateTable(*former, "t"), ErrorCode::kOk);
  former->Crash();
  Server* leader = WaitForLeader();
  ASSERT_NE(leader, nullptr);
  EXPECT_EQ(Tables(*leader), std::vector<std::string>{"t"});
  ASSERT_EQ(CreateTable(*leader, "u"), ErrorCode::kOk);
  former->Start();
  world_.RunFor(absl::Seconds(5));
  EXPECT_EQ(Beacon(*former).primary_node, leader->address);
}

TEST_F(MetaMemberTest, ACleanStopHandsOverAtOnce) {
  StartAll();
  Server* former = WaitForLeader();
  ASSERT_NE(former, nullptr);
  bool stopped = false;
  former->member->Stop([&] { stopped = true; });
  ASSERT_TRUE(world_.RunUntil([&] { return stopped; }, absl::Seconds(1)));
  const Instant begun = world_.now();
  Server* leader = WaitForLeader(absl::Seconds(5));
  ASSERT_NE(leader, nullptr);
  EXPECT_NE(leader, former);
  EXPECT_LT(world_.now() - begun, absl::Seconds(1));
}

TEST_F(MetaMemberTest, OneThatIsCutOffLeadsNoLongerThanItMay) {
  StartAll();
  Server* former = WaitForLeader();
  ASSERT_NE(former, nullptr);
  zookeeper_.Cut(former->node);
  // In all its steps no two lead (WaitForLeader).
  Server* leader = nullptr;
  for (int i = 0; i < 100 && (leader == nullptr || leader == former); ++i) {
    leader = WaitForLeader();
    world_.RunFor(absl::Milliseconds(200));
  }
  ASSERT_NE(leader, former);
  EXPECT_NE(CreateTable(*former, "t"), ErrorCode::kOk);
  ASSERT_EQ(CreateTable(*leader, "t"), ErrorCode::kOk);
  zookeeper_.Restore(former->node);
  world_.RunFor(absl::Seconds(10));
  EXPECT_EQ(Beacon(*former).primary_node, leader->address);
}

// It may have been done or not; the next leader knows.
TEST_F(MetaMemberTest, WhoIsNotAnsweredBeforeTheLeadEndsIsToldToAskAnother) {
  StartAll();
  Server* former = WaitForLeader();
  ASSERT_NE(former, nullptr);
  zookeeper_.Cut(former->node);
  EXPECT_EQ(CreateTable(*former, "t"), ErrorCode::kForwardToOthers);
  EXPECT_FALSE(Beacon(*former).is_master);
}

TEST_F(MetaMemberTest, WithoutTheEnsembleNobodyLeadsAndAfterwardsSomebodyDoes) {
  StartAll();
  Server* former = WaitForLeader();
  ASSERT_NE(former, nullptr);
  ASSERT_EQ(CreateTable(*former, "t"), ErrorCode::kOk);
  zookeeper_.TakeDown();
  world_.RunFor(absl::Seconds(10));
  EXPECT_TRUE(Leaders().empty());
  zookeeper_.BringUp();
  Server* leader = WaitForLeader();
  ASSERT_NE(leader, nullptr);
  EXPECT_EQ(Tables(*leader), std::vector<std::string>{"t"});
}

TEST_F(MetaMemberTest, OneThatStartsBeforeTheEnsembleWaitsForIt) {
  zookeeper_.TakeDown();
  StartAll();
  world_.RunFor(absl::Minutes(1));
  EXPECT_TRUE(Leaders().empty());
  zookeeper_.BringUp();
  EXPECT_NE(WaitForLeader(), nullptr);
}

TEST_F(MetaMemberTest, ALockThatAStrangerRemovesIsTakenAnew) {
  StartAll();
  Server* former = WaitForLeader();
  ASSERT_NE(former, nullptr);
  for (const std::string& path : zookeeper_.Paths())
    if (path.ends_with("LOCKNODE0000000000")) {
      ASSERT_TRUE(zookeeper_.Remove(path).ok());
    }
  world_.RunFor(absl::Milliseconds(50));
  Server* leader = WaitForLeader();
  ASSERT_NE(leader, nullptr);
  EXPECT_EQ(CreateTable(*leader, "t"), ErrorCode::kOk);
}

TEST_F(MetaMemberTest, OneThatReplicaServersDontReachAnyMoreLetsAnotherLead) {
  for (auto& server : servers_) server->Start(0, absl::Seconds(4));
  Server* former = WaitForLeader();
  ASSERT_NE(former, nullptr);
  // Heard now and then it leads on.
  for (int i = 0; i < 10; ++i) {
    world_.RunFor(absl::Seconds(1));
    ASSERT_TRUE(Beacon(*former).is_master);
  }
  const auto others_leader = [&]() -> Server* {
    for (auto& server : servers_)
      if (server.get() != former && Beacon(*server).is_master) return server.get();
    return nullptr;
  };
  Server* leader = nullptr;
  const Instant begun = world_.now();
  while (leader == nullptr && world_.now() - begun < absl::Seconds(10)) {
    world_.RunFor(absl::Milliseconds(100));
    leader = others_leader();
  }
  ASSERT_NE(leader, nullptr);
  EXPECT_GT(world_.now() - begun, absl::Seconds(2));
  EXPECT_LT(world_.now() - begun, absl::Seconds(3));
  EXPECT_FALSE(Beacon(*former).is_master);
}

// One of them may be reached; where none is, there may be no replica servers.
TEST_F(MetaMemberTest, WhereNoReplicaServerReachesAnybodyTheLeadGoesRoundEverMoreSlowly) {
  for (auto& server : servers_) server->Start(0, absl::Seconds(4));
  Server* last = nullptr;
  std::set<Server*> leaders;
  int changes = 0;
  // Nobody asks by a beacon.
  const auto run_for = [&](absl::Duration length) {
    changes = 0;
    for (const Instant end = world_.now() + length; world_.now() < end;) {
      world_.RunFor(absl::Milliseconds(250));
      for (auto& server : servers_) {
        std::optional<Leadership> shown;
        server->member->Overview([&](ClusterOverview overview) { shown = overview.leadership; });
        world_.RunUntil([&] { return shown.has_value(); }, absl::Seconds(1));
        if (!shown || !shown->is_leader || server.get() == last) continue;
        last = server.get();
        leaders.insert(last);
        ++changes;
      }
    }
  };
  run_for(absl::Seconds(20));
  EXPECT_EQ(leaders.size(), 3u);
  run_for(absl::Minutes(10));
  run_for(absl::Minutes(5));
  EXPECT_LE(changes, 4);
  EXPECT_GE(changes, 1);
  // Once one is heard it leads on, and is missed soon.
  ASSERT_TRUE(Beacon(*last).is_master);
  for (int i = 0; i < 10; ++i) {
    world_.RunFor(absl::Seconds(1));
    ASSERT_TRUE(Beacon(*last).is_master);
  }
  run_for(absl::Seconds(4));
  EXPECT_EQ(changes, 1);
}

TEST_F(MetaMemberTest, AllAreOfOneClusterWhoeverMadeItsId) {
  StartAll();
  ASSERT_NE(WaitForLeader(), nullptr);
  world_.RunFor(absl::Seconds(2));
  EXPECT_NE(servers_[0]->cluster_id, 0u);
  for (auto& server : servers_) EXPECT_EQ(server->cluster_id, servers_[0]->cluster_id);
}

TEST_F(MetaMemberTest, OneOfAnotherClusterStaysOut) {
  servers_[0]->Start(7);
  ASSERT_EQ(WaitForLeader(), servers_[0].get());
  servers_[0]->Crash();
  servers_[1]->Start(8);
  EXPECT_EQ(WaitForLeader(), nullptr);
  servers_[2]->Start(7);
  EXPECT_EQ(WaitForLeader(), servers_[2].get());
}

TEST_F(MetaMemberTest, AStateThatCantBeUnderstoodIsLedByNobodyUntilItIsMended) {
  StartAll();
  Server* former = WaitForLeader();
  ASSERT_NE(former, nullptr);
  ASSERT_EQ(CreateTable(*former, "t"), ErrorCode::kOk);
  const std::string whole = zookeeper_.Read("/c/apps/1")->data;
  ASSERT_TRUE(zookeeper_.Set("/c/apps/1", "{").ok());
  former->Crash();
  EXPECT_EQ(WaitForLeader(absl::Minutes(1)), nullptr);
  EXPECT_EQ(zookeeper_.Read("/c/apps/1")->data, "{") << "nothing is changed";
  ASSERT_TRUE(zookeeper_.Set("/c/apps/1", whole).ok());
  Server* leader = WaitForLeader();
  ASSERT_NE(leader, nullptr);
  EXPECT_EQ(Tables(*leader), std::vector<std::string>{"t"});
}

TEST_F(MetaMemberTest, AnotherSystemsRootIsLeftAsItIs) {
  for (const char* path : {"/c", "/c/brokers"}) ASSERT_TRUE(zookeeper_.Create(path, "").ok());
  const std::vector<std::string> before = zookeeper_.Paths();
  StartAll();
  EXPECT_EQ(WaitForLeader(absl::Minutes(1)), nullptr);
  EXPECT_EQ(zookeeper_.Paths(), before);
  ASSERT_TRUE(zookeeper_.Remove("/c/brokers").ok());
  EXPECT_NE(WaitForLeader(), nullptr) << "it is looked at again";
}

TEST_F(MetaMemberTest, AStateOfALaterVersionIsLedByNobodyOfThisOne) {
  StartAll();
  Server* former = WaitForLeader();
  ASSERT_NE(former, nullptr);
  ASSERT_TRUE(zookeeper_.Create("/c/arion/min_version", "2").ok());
  former->Crash();
  EXPECT_EQ(WaitForLeader(absl::Minutes(1)), nullptr);
  ASSERT_TRUE(zookeeper_.Set("/c/arion/min_version", "1").ok());
  EXPECT_NE(WaitForLeader(), nullptr);
}

TEST_F(MetaMemberTest, ATableWhoseMakingWasInterruptedIsMadeWhole) {
  StartAll();
  Server* former = WaitForLeader();
  ASSERT_NE(former, nullptr);
  ASSERT_EQ(CreateTable(*former, "t"), ErrorCode::kOk);
  ASSERT_TRUE(zookeeper_.Remove("/c/apps/1/1").ok());
  former->Crash();
  Server* leader = WaitForLeader();
  ASSERT_NE(leader, nullptr);
  const auto config =
      Ask<QueryConfigResponse>(*leader, kRpcQueryConfig, QueryConfigRequest{.app_name = "t"});
  ASSERT_TRUE(config.has_value());
  EXPECT_EQ(config->partitions.size(), 2u);
}

TEST_F(MetaMemberTest, EachSaysWhoLeads) {
  StartAll();
  Server* leader = WaitForLeader();
  ASSERT_NE(leader, nullptr);
  for (auto& server : servers_) {
    const auto said = Ask<QueryLeadResponse>(*server, kRpcQueryLead, QueryLeadRequest());
    ASSERT_TRUE(said.has_value());
    EXPECT_EQ(said->is_leader, server.get() == leader);
    EXPECT_EQ(said->leader, leader->address);
    EXPECT_EQ(said->since_unix_ms != 0, said->is_leader);
    EXPECT_FALSE(said->is_single);
  }
}

TEST_F(MetaMemberTest, TheLeadIsHandedToTheNext) {
  StartAll();
  Server* former = WaitForLeader();
  ASSERT_NE(former, nullptr);
  // What was asked a moment before is answered, and stored.
  const auto create = BeginCreate(*former, "t");
  const Instant begun = world_.now();
  const auto answer = HandOver(*former);
  ASSERT_TRUE(answer.has_value());
  EXPECT_EQ(answer->err, ErrorCode::kOk) << answer->hint_message;
  EXPECT_EQ(create->value_or(ErrorCode::kTimeout), ErrorCode::kOk);
  Server* leader = WaitForLeader(absl::Seconds(5));
  ASSERT_NE(leader, nullptr);
  EXPECT_NE(leader, former);
  EXPECT_LT(world_.now() - begun, absl::Seconds(1));
  EXPECT_EQ(Tables(*leader), std::vector<std::string>{"t"});
  // It stands behind all others: the next two hand-overs go to them first.
  world_.RunFor(absl::Seconds(2));
  EXPECT_EQ(Beacon(*former).primary_node, leader->address);
  EXPECT_EQ(HandOver(*former)->err, ErrorCode::kForwardToOthers);
  ASSERT_EQ(HandOver(*leader)->err, ErrorCode::kOk);
  Server* third = WaitForLeader(absl::Seconds(5));
  ASSERT_NE(third, nullptr);
  EXPECT_NE(third, former);
  EXPECT_NE(third, leader);
}

TEST_F(MetaMemberTest, WithNobodyWhoWouldLeadTheLeadIsKept) {
  servers_[0]->Start();
  Server* leader = WaitForLeader();
  ASSERT_NE(leader, nullptr);
  auto answer = HandOver(*leader);
  ASSERT_TRUE(answer.has_value());
  EXPECT_EQ(answer->err, ErrorCode::kInvalidState);
  EXPECT_NE(answer->hint_message.find("no other meta server stands"), std::string::npos)
      << answer->hint_message;
  EXPECT_EQ(CreateTable(*leader, "t"), ErrorCode::kOk);
  // One that died a moment ago: its node is there, and it would not lead.
  servers_[1]->Start();
  ASSERT_TRUE(world_.RunUntil([&] { return Beacon(*servers_[1]).primary_node.IsValid(); },
                              absl::Seconds(10)));
  servers_[1]->Crash();
  answer = HandOver(*leader);
  ASSERT_TRUE(answer.has_value());
  EXPECT_EQ(answer->err, ErrorCode::kInvalidState);
  EXPECT_NE(answer->hint_message.find(servers_[1]->address.ToString()), std::string::npos)
      << answer->hint_message;
  EXPECT_EQ(CreateTable(*leader, "u"), ErrorCode::kOk);
}

TEST_F(MetaMemberTest, AnAnswerOfTheEnsembleThatIsLostIsFoundOutBeforeTheLeadGoes) {
  StartAll();
  Server* former = WaitForLeader();
  ASSERT_NE(former, nullptr);
  // Asked for when the hand-over is decided on.
  std::shared_ptr<std::optional<ErrorCode>> create;
  former->transport.route = [&, route = former->transport.route](Endpoint to,
                                                                 InboundRequest request) {
    zookeeper_.LoseAnswer(former->node, sim::ZooKeeperRequest::Kind::kCommit);
    create = BeginCreate(*former, "t");
    route(to, std::move(request));
  };
  const auto answer = HandOver(*former);
  ASSERT_TRUE(answer.has_value());
  EXPECT_EQ(answer->err, ErrorCode::kOk) << answer->hint_message;
  ASSERT_TRUE(create);
  EXPECT_EQ(create->value_or(ErrorCode::kTimeout), ErrorCode::kOk);
  Server* leader = WaitForLeader(absl::Seconds(1));
  ASSERT_NE(leader, nullptr);
  EXPECT_NE(leader, former);
  EXPECT_EQ(Tables(*leader), std::vector<std::string>{"t"});
}

TEST_F(MetaMemberTest, AnEnsembleThatDoesNotAnswerHoldsUpNoHandOver) {
  StartAll();
  Server* former = WaitForLeader();
  ASSERT_NE(former, nullptr);
  std::shared_ptr<std::optional<ErrorCode>> create;
  former->transport.route = [&, route = former->transport.route](Endpoint to,
                                                                 InboundRequest request) {
    zookeeper_.Cut(former->node);
    create = BeginCreate(*former, "t");
    route(to, std::move(request));
  };
  const Instant begun = world_.now();
  const auto answer = HandOver(*former);
  ASSERT_TRUE(answer.has_value());
  EXPECT_LT(world_.now() - begun, absl::Seconds(1));
  ASSERT_TRUE(create);
  EXPECT_FALSE(create->has_value()) << "nobody knows what became of it";
  // The ensemble waits for the session's end.
  Server* leader = WaitForLeader();
  ASSERT_NE(leader, nullptr);
  EXPECT_NE(leader, former);
  zookeeper_.Restore(former->node);
  EXPECT_EQ(CreateTable(*leader, "t"), ErrorCode::kOk);
  world_.RunFor(absl::Seconds(10));
  EXPECT_EQ(Beacon(*former).primary_node, leader->address);
}

}  // namespace
}  // namespace arion
