// SPDX-License-Identifier: Apache-2.0
#include "meta/cluster_recovery.h"
#include "meta_overview/cluster_overview.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "messages/tool_messages.h"
#include "tests/meta/meta_fixture.h"

namespace arion {
namespace {

using Incomplete = RecoveryOptions::Incomplete;
using testing::ElementsAre;
using testing::HasSubstr;

AppInfo TableNamed(const std::string& name, int32_t app_id, int32_t partitions = 1) {
  return {.status = AppStatus::kAvailable,
          .app_type = "pegasus",
          .app_name = name,
          .app_id = app_id,
          .partition_count = partitions,
          .is_stateful = true,
          .max_replica_count = 3};
}
ReplicaInfo Replica(PartitionId pid, int64_t ballot, int64_t committed, int64_t prepared) {
  return {.pid = pid,
          .ballot = Ballot(ballot),
          .status = PartitionStatus::kInactive,
          .last_committed_decree = Decree(committed),
          .last_prepared_decree = Decree(prepared),
          .app_type = "pegasus",
          .durability = static_cast<int8_t>(Durability::kFsync),
          .last_mutation_ballot = Ballot(ballot)};
}
// Three servers with one replica each of 1.0.
std::vector<HeldByServer> ThreeServers() {
  std::vector<HeldByServer> held;
  for (int n = 1; n <= 3; ++n)
    held.push_back({.node = ServerAt(n),
                    .tables = {TableNamed("t", 1)},
                    .replicas = {Replica({1, 0}, 7, 10, 12)}});
  for (HeldByServer& server : held) server.tables[0].envs["a"] = "b";
  return held;
}

TEST(ClusterRecoveryTest, TheBestReplicaIsTheLastOfTheDroppedUnderTheLargestBallot) {
  std::vector<HeldByServer> held = ThreeServers();
  held[0].replicas = {Replica({1, 0}, 7, 11, 12)};
  held[1].replicas = {Replica({1, 0}, 8, 9, 12)};
  const RecoveredCluster recovered = RecoverCluster(held, {});
  ASSERT_EQ(recovered.error, ErrorCode::kOk);
  EXPECT_TRUE(recovered.report.empty()) << recovered.report[0];
  const PartitionConfiguration& config = recovered.tables.at(1).partitions.at(0).config;
  EXPECT_EQ(config.ballot, Ballot(8));
  EXPECT_FALSE(config.primary.IsValid());
  EXPECT_EQ(config.last_drops, (std::vector{ServerAt(3), ServerAt(1), ServerAt(2)}));
  EXPECT_EQ(config.last_committed_decree, Decree(11));
  EXPECT_EQ(recovered.tables.at(1).info.envs.at("a"), "b");
}

// Seen in simulation: a server that asked under an old ballot was told of the newest one, and led with
// its old data.
TEST(ClusterRecoveryTest, WhoWasToldOfALaterBallotIsNotTheBestForThat) {
  std::vector<HeldByServer> held = ThreeServers();
  held[0].replicas = {Replica({1, 0}, 8, 91, 91)};
  held[1].replicas = {Replica({1, 0}, 9, 80, 88)};
  held[1].replicas[0].last_mutation_ballot = Ballot(7);
  held[2].replicas = {Replica({1, 0}, 9, 85, 91)};  // it restarted: what it holds counts, as much
  held[2].replicas[0].last_mutation_ballot = Ballot(8);
  const RecoveredCluster recovered = RecoverCluster(held, {});
  const PartitionConfiguration& config = recovered.tables.at(1).partitions.at(0).config;
  EXPECT_EQ(config.ballot, Ballot(9));
  EXPECT_EQ(config.last_drops, (std::vector{ServerAt(2), ServerAt(1), ServerAt(3)}));
  // Servers that don't say what they hold, or can't (0), are compared as ever.
  held[0].replicas[0].last_mutation_ballot = Ballot(0);
  held[1].replicas[0].last_mutation_ballot.reset();
  EXPECT_EQ(RecoverCluster(held, {}).tables.at(1).partitions.at(0).config.last_drops.back(),
            ServerAt(2));
}

TEST(ClusterRecoveryTest, ABallotThatNobodyReachesIsNoBallot) {
  std::vector<HeldByServer> held = ThreeServers();
  held[1].replicas[0].ballot = Ballot(INT64_MAX);
  const RecoveredCluster recovered = RecoverCluster(held, {});
  EXPECT_EQ(recovered.tables.at(1).partitions.at(0).config.ballot, Ballot(7));
}

TEST(ClusterRecoveryTest, ALearnerIsNotTheBestHoweverLargeItsBallot) {
  std::vector<HeldByServer> held = ThreeServers();
  held[0].replicas[0].ballot = Ballot(9);
  held[0].replicas[0].last_mutation_ballot = Ballot(-1);
  const RecoveredCluster recovered = RecoverCluster(held, {});
  const PartitionConfiguration& config = recovered.tables.at(1).partitions.at(0).config;
  EXPECT_EQ(config.last_drops.front(), ServerAt(1));
  EXPECT_EQ(config.ballot, Ballot(9));
  EXPECT_EQ(recovered.report.size(), 2u) << "two whole ones of three, and the ballot";
}

TEST(ClusterRecoveryTest, WhatIsMissingRefusesOrIsSkippedAndReported) {
  std::vector<HeldByServer> held = ThreeServers();
  held[0] = {.node = ServerAt(1), .failure = "ERR_TIMEOUT"};
  RecoveredCluster recovered = RecoverCluster(held, {});
  EXPECT_EQ(recovered.error, ErrorCode::kTryAgain);
  EXPECT_TRUE(recovered.tables.empty());
  EXPECT_EQ(recovered.report.at(0), "10.0.0.1:34801 does not answer: ERR_TIMEOUT");
  recovered = RecoverCluster(held, {.servers = Incomplete::kSkip});
  EXPECT_EQ(recovered.error, ErrorCode::kOk);
  EXPECT_EQ(recovered.report.size(), 2u) << "the server, and two of three replicas";

  for (auto spoil : {+[](HeldByServer& s) { s.replicas[0].loading = true; },
                     +[](HeldByServer& s) { s.unreadable_disks = {"ssd1"}; }}) {
    held = ThreeServers();
    spoil(held[2]);
    EXPECT_EQ(RecoverCluster(held, {}).error, ErrorCode::kTryAgain);
    EXPECT_EQ(RecoverCluster(held, {.servers = Incomplete::kSkip}).error, ErrorCode::kOk);
  }
}

TEST(ClusterRecoveryTest, APartitionThatNobodyHasIsMadeEmptyOnlyWhenAskedFor) {
  std::vector<HeldByServer> held = ThreeServers();
  for (HeldByServer& server : held) server.tables[0].partition_count = 2;
  EXPECT_EQ(RecoverCluster(held, {}).error, ErrorCode::kIncompleteData);
  const RecoveredCluster recovered = RecoverCluster(held, {.partitions = Incomplete::kSkip});
  ASSERT_EQ(recovered.error, ErrorCode::kOk);
  EXPECT_EQ(recovered.report.at(0), "nobody has 1.1 of t");
  const PartitionConfiguration& config = recovered.tables.at(1).partitions.at(1).config;
  EXPECT_EQ(config.ballot, Ballot(0));
  EXPECT_TRUE(config.last_drops.empty());
}

TEST(ClusterRecoveryTest, ATableThatWasBeingSplitIsNotGuessed) {
  std::vector<HeldByServer> held = ThreeServers();
  held[1].tables[0].partition_count = 2 * held[0].tables[0].partition_count;
  RecoveredCluster recovered = RecoverCluster(held, {});
  EXPECT_EQ(recovered.error, ErrorCode::kInconsistentState);
  EXPECT_THAT(recovered.report, ElementsAre(HasSubstr("it was being split")));
  // All say that it was, and nobody has the child.
  held = ThreeServers();
  for (HeldByServer& server : held) {
    server.tables[0].partition_count = 2;
    server.tables[0].init_partition_count = 1;
  }
  recovered = RecoverCluster(held, {});
  EXPECT_EQ(recovered.error, ErrorCode::kIncompleteData);
  EXPECT_EQ(recovered.report.at(0),
            "nobody has 1.1 of t (if it was not split off yet, 1.0 holds its keys, and loses them "
            "where it is made anew)");
}

TEST(ClusterRecoveryTest, ServersThatContradictEachOtherRefuse) {
  std::vector<HeldByServer> held = ThreeServers();
  held[2].tables[0].partition_count = 4;
  RecoveredCluster recovered = RecoverCluster(held, {});
  EXPECT_EQ(recovered.error, ErrorCode::kInconsistentState);
  EXPECT_NE(recovered.report.at(0).find("10.0.0.3:34801"), std::string::npos);
  held = ThreeServers();
  held[2].tables[0].app_name = "renamed";
  EXPECT_EQ(RecoverCluster(held, {}).error, ErrorCode::kInconsistentState);
  held[2].tables[0].version = 2;
  recovered = RecoverCluster(held, {});
  ASSERT_EQ(recovered.error, ErrorCode::kOk) << "the newer description counts";
  EXPECT_EQ(recovered.tables.at(1).info.app_name, "renamed");
}

TEST(ClusterRecoveryTest, OfTwoTablesWithOneNameTheEarlierGetsItsIdAsSuffix) {
  std::vector<HeldByServer> held = ThreeServers();
  for (HeldByServer& server : held) {
    server.tables.push_back(TableNamed("t", 5));
    server.replicas.push_back(Replica({5, 0}, 2, 1, 1));
  }
  const RecoveredCluster recovered = RecoverCluster(held, {});
  ASSERT_EQ(recovered.error, ErrorCode::kOk);
  EXPECT_EQ(recovered.tables.at(1).info.app_name, "t__1");
  EXPECT_EQ(recovered.tables.at(5).info.app_name, "t");
}

TEST(ClusterRecoveryTest, CommittedDecreesThatTheBestLacksAreReported) {
  std::vector<HeldByServer> held = ThreeServers();
  held[0].replicas = {Replica({1, 0}, 8, 5, 6)};
  const RecoveredCluster recovered = RecoverCluster(held, {});
  ASSERT_EQ(recovered.error, ErrorCode::kOk);
  ASSERT_EQ(recovered.report.size(), 1u);
  EXPECT_NE(recovered.report[0].find("1.0: 10.0.0.1:34801"), std::string::npos);
}

TEST(ClusterRecoveryTest, NonsenseIsNoTable) {
  for (auto spoil : {+[](AppInfo& t) { t.app_id = 0; }, +[](AppInfo& t) { t.partition_count = 0; },
                     +[](AppInfo& t) { t.partition_count = 1 << 30; },
                     +[](AppInfo& t) { t.max_replica_count = 0; }}) {
    std::vector<HeldByServer> held = ThreeServers();
    spoil(held[1].tables[0]);
    EXPECT_EQ(RecoverCluster(held, {}).error, ErrorCode::kInconsistentState);
  }
  std::vector<HeldByServer> held = ThreeServers();
  held[0].replicas.push_back(Replica({1, 7}, 1, 1, 1));
  held[0].replicas.push_back(Replica({9, 0}, 1, 1, 1));
  EXPECT_EQ(RecoverCluster(held, {}).report.size(), 2u);
}

// ---- with what was known of the tables ----

constexpr int64_t kUnixNow = 1'800'000'000;

// As the meta server of before saw ThreeServers' table.
AppInfo Known() {
  AppInfo info = TableNamed("t", 1);
  info.envs = {{"default_ttl", "60"}};
  info.create_second = 1'700'000'000;
  info.init_partition_count = 1;
  return info;
}
RecoveryOptions With(std::map<int32_t, AppInfo> known) {
  return {.known = std::move(known), .unix_seconds = kUnixNow};
}
std::vector<HeldByServer> WithoutEnvironments() {
  std::vector<HeldByServer> held = ThreeServers();
  for (HeldByServer& server : held) server.tables[0].envs.clear();
  return held;
}

TEST(ClusterRecoveryTest, WhatOnlyTheMetaServerKnewComesBack) {
  const RecoveredCluster recovered = RecoverCluster(WithoutEnvironments(), With({{1, Known()}}));
  ASSERT_EQ(recovered.error, ErrorCode::kOk);
  EXPECT_TRUE(recovered.report.empty()) << recovered.report[0];
  EXPECT_EQ(recovered.tables.at(1).info, Known());
  EXPECT_EQ(recovered.tables.at(1).partitions.at(0).config.ballot, Ballot(7));
}

TEST(ClusterRecoveryTest, WhatWasDroppedIsDroppedAgainAndCanBeRecalledAsLong) {
  std::vector<HeldByServer> held = WithoutEnvironments();
  for (HeldByServer& server : held) {
    server.tables.push_back(TableNamed("t", 5));  // the one that has the name now
    server.replicas.push_back(Replica({5, 0}, 2, 1, 1));
  }
  AppInfo dropped = Known();
  dropped.status = AppStatus::kDropped;
  dropped.drop_second = kUnixNow - 100;
  dropped.expire_second = kUnixNow + 500;
  AppInfo second = Known();
  second.app_id = 5;
  const RecoveredCluster recovered = RecoverCluster(held, With({{1, dropped}, {5, second}}));
  ASSERT_EQ(recovered.error, ErrorCode::kOk);
  EXPECT_TRUE(recovered.report.empty()) << recovered.report[0];
  EXPECT_EQ(recovered.tables.at(1).info, dropped) << "its name, too";
  const Partition& partition = recovered.tables.at(1).partitions.at(0);
  EXPECT_TRUE(partition.IsDropped());
  EXPECT_EQ(partition.config.last_drops.size(), 3u) << "who serves it when it is recalled";
  EXPECT_EQ(recovered.tables.at(5).info.app_name, "t");
  EXPECT_FALSE(recovered.tables.at(5).partitions.at(0).IsDropped());
}

TEST(ClusterRecoveryTest, IdsOfTablesThatAreGoneForGoodAreNotGivenAgain) {
  AppInfo purged = Known();
  purged.status = AppStatus::kDropped;
  purged.expire_second = kUnixNow - 1;
  std::map<int32_t, AppInfo> known{{1, Known()}};
  for (const int32_t app_id : {2, 3}) known[app_id] = purged, known[app_id].app_id = app_id;
  RecoveredCluster recovered = RecoverCluster(WithoutEnvironments(), With(known));
  ASSERT_EQ(recovered.error, ErrorCode::kOk);
  EXPECT_TRUE(recovered.report.empty()) << recovered.report[0];
  EXPECT_EQ(recovered.tables.size(), 2u);
  EXPECT_EQ(recovered.tables.rbegin()->first, 3);
  known[3].expire_second = kUnixNow + 1;
  recovered = RecoverCluster(WithoutEnvironments(), With(known));
  ASSERT_EQ(recovered.error, ErrorCode::kOk);
  EXPECT_THAT(recovered.report, ElementsAre(HasSubstr("nobody has anything of it")));
}

TEST(ClusterRecoveryTest, ATableThatWasKnownAndThatNobodyHasRefusesOrIsMadeEmpty) {
  std::map<int32_t, AppInfo> known{{1, Known()}, {2, Known()}};
  known[2].app_id = 2;
  known[2].app_name = "u";
  RecoveredCluster recovered = RecoverCluster(WithoutEnvironments(), With(known));
  EXPECT_EQ(recovered.error, ErrorCode::kIncompleteData);
  EXPECT_THAT(recovered.report, ElementsAre("nobody has 2.0 of u"));
  RecoveryOptions skips = With(known);
  skips.partitions = Incomplete::kSkip;
  recovered = RecoverCluster(WithoutEnvironments(), skips);
  ASSERT_EQ(recovered.error, ErrorCode::kOk);
  EXPECT_EQ(recovered.tables.at(2).info.envs.size(), 1u);
}

TEST(ClusterRecoveryTest, WhatDiffersFromWhatWasKnownIsSaid) {
  std::vector<HeldByServer> held = ThreeServers();  // they act on an environment
  AppInfo known = Known();
  known.max_replica_count = 2;
  for (HeldByServer& server : held) server.tables.push_back(TableNamed("u", 4));
  for (HeldByServer& server : held) server.replicas.push_back(Replica({4, 0}, 2, 1, 1));
  const RecoveredCluster recovered = RecoverCluster(held, With({{1, known}}));
  ASSERT_EQ(recovered.error, ErrorCode::kOk);
  EXPECT_THAT(recovered.report,
              ElementsAre(HasSubstr("table 4 'u', which 10.0.0.3:34801 has, is not in the list"),
                          HasSubstr("1 partitions x 3 for 10.0.0.1:34801 and 't' of type pegasus, "
                                    "1 partitions x 2 in the list of tables: that was taken"),
                          HasSubstr("acts on other environments"),
                          HasSubstr("environments are not on replica servers' disks")));
  EXPECT_EQ(recovered.tables.at(1).info, known);
  EXPECT_EQ(recovered.tables.at(1).partitions.at(0).config.max_replica_count, 2);
}

TEST(ClusterRecoveryTest, ALaterDescriptionCountsMoreThanWhatWasKnown) {
  std::vector<HeldByServer> held = WithoutEnvironments();
  for (HeldByServer& server : held) server.tables[0].version = 3;
  held[1].tables[0].app_name = held[0].tables[0].app_name = held[2].tables[0].app_name = "later";
  const RecoveredCluster recovered = RecoverCluster(held, With({{1, Known()}}));
  ASSERT_EQ(recovered.error, ErrorCode::kOk);
  EXPECT_THAT(recovered.report, ElementsAre(HasSubstr("knows a later description")));
  EXPECT_EQ(recovered.tables.at(1).info.app_name, "later");
  EXPECT_EQ(recovered.tables.at(1).info.envs, Known().envs) << "which it has not";
}

TEST(ClusterRecoveryTest, AListOfTablesThatIsAnotherClustersRefuses) {
  for (auto spoil :
       {+[](AppInfo& t) { t.partition_count = 2; }, +[](AppInfo& t) { t.app_type = "rrdb"; },
        +[](AppInfo& t) { t.partition_count = 0; }, +[](AppInfo& t) { t.max_replica_count = 0; },
        +[](AppInfo& t) { t.app_id = 7; }}) {
    AppInfo known = Known();
    spoil(known);
    const RecoveredCluster recovered = RecoverCluster(ThreeServers(), With({{1, known}}));
    EXPECT_EQ(recovered.error, ErrorCode::kInconsistentState);
    EXPECT_TRUE(recovered.tables.empty());
  }
}

// ---- the server ----

class StartRecoveryTest : public MetaFixture {
 protected:
  std::shared_ptr<std::optional<StartRecoveryResponse>> Begin(StartRecoveryRequest request) {
    auto answer = std::make_shared<std::optional<StartRecoveryResponse>>();
    InboundRequest inbound;
    inbound.header.name = kRpcStartRecovery;
    inbound.header.framing = Framing::kRdsn;
    inbound.body = EncodeWrapped(request);
    inbound.responder = Responder([answer](ErrorCode, std::string body) {
      *answer = *DecodeWrapped<StartRecoveryResponse>(body);
    });
    transport_.handler(std::move(inbound));
    world_.RunFor(options_.grace + absl::Milliseconds(10));
    return answer;
  }
  // Servers answer as `held` says.
  void AnswerQuestions(const std::vector<HeldByServer>& held) {
    while (!transport_.called.empty()) {
      RecordingTransport::Called call = std::move(transport_.called.front());
      transport_.called.pop_front();
      RpcResult result{.error = ErrorCode::kTimeout};
      for (const HeldByServer& server : held) {
        if (server.node != call.to || !server.failure.empty()) continue;
        result = {.body =
                      call.request.name == kRpcQueryAppInfo
                          ? EncodeWrapped(QueryAppInfoResponse{.apps = server.tables})
                          : EncodeWrapped(QueryReplicaInfoResponse{.replicas = server.replicas})};
      }
      call.reply_on->Post([done = std::move(call.done), result]() mutable { done(result); });
      world_.RunFor(absl::Milliseconds(1));
    }
    world_.RunFor(absl::Milliseconds(50));
  }
  // The problem of that kind; empty: there is none.
  std::string SaidOf(const std::string& kind) {
    std::string problem;
    server_->Overview([&](const ClusterOverview& overview) {
      for (const ClusterWarning& warning : overview.warnings)
        if (warning.kind == kind) problem = warning.problem;
    });
    world_.RunFor(absl::Milliseconds(1));
    return problem;
  }
  const StartRecoveryRequest all_{.recovery_nodes = {ServerAt(1), ServerAt(2), ServerAt(3)}};
};

TEST_F(StartRecoveryTest, AMetaServerThatAwaitsItServesNothingBeforeAndAllAfterwards) {
  options_.recover_from_replica_servers = true;
  ASSERT_TRUE(StartMeta().ok());
  EXPECT_EQ(AskBytes(kRpcListApps, EncodeWrapped(ListAppsRequest()))->error,
            ErrorCode::kUnderRecovery);
  EXPECT_EQ(Query("t").err, ErrorCode::kUnderRecovery);
  EXPECT_FALSE(Beacon(1));

  std::vector<HeldByServer> held = ThreeServers();
  const auto answer = Begin(all_);
  const auto again = Begin(all_);
  EXPECT_EQ(transport_.called.size(), 6u) << "asked once";
  AnswerQuestions(held);
  ASSERT_TRUE(*answer);
  EXPECT_EQ((*answer)->err, ErrorCode::kOk) << (*answer)->hint_message;
  EXPECT_EQ(*again, *answer);
  for (int n = 1; n <= 3; ++n) StartServer(n);
  for (int n = 1; n <= 3; ++n) Sync(n, held[n - 1].replicas);
  Obey();
  EXPECT_TRUE(ConfigOf("t", 0).primary.IsValid());
  EXPECT_GT(ConfigOf("t", 0).ballot, Ballot(7));

  StopMeta(sim::CrashMode::kPowerNone);
  ASSERT_TRUE(StartMeta().ok());
  EXPECT_TRUE(ConfigOf("t", 0).primary.IsValid()) << "it was stored";
  EXPECT_EQ((*Begin(all_))->err, ErrorCode::kServiceAlreadyRunning);
}

TEST_F(StartRecoveryTest, ATableThatWasDroppedBeforeCanBeRecalledAfterwards) {
  options_.recover_from_replica_servers = true;
  ASSERT_TRUE(StartMeta().ok());
  StartRecoveryRequest with_tables = all_;
  AppInfo dropped = Known();
  dropped.status = AppStatus::kDropped;
  dropped.expire_second = absl::ToUnixSeconds(absl::InfiniteFuture()) / 2;
  with_tables.known_tables = {dropped, dropped};
  const auto twice = Begin(with_tables);
  ASSERT_TRUE(*twice);
  EXPECT_EQ((*twice)->err, ErrorCode::kInvalidParameters);
  EXPECT_EQ((*twice)->hint_message, "the list of tables has table 1 twice");
  with_tables.known_tables->pop_back();

  std::vector<HeldByServer> held = WithoutEnvironments();
  const auto answer = Begin(with_tables);
  AnswerQuestions(held);
  ASSERT_TRUE(*answer);
  EXPECT_EQ((*answer)->err, ErrorCode::kOk) << (*answer)->hint_message;
  for (int n = 1; n <= 3; ++n) StartServer(n);
  for (int n = 1; n <= 3; ++n) Sync(n, held[n - 1].replicas);
  Obey();
  EXPECT_EQ(Query("t").err, ErrorCode::kObjectNotFound);
  StopMeta(sim::CrashMode::kPowerNone);
  ASSERT_TRUE(StartMeta().ok());
  for (int n = 1; n <= 3; ++n) StartServer(n);
  for (int n = 1; n <= 3; ++n) Sync(n, held[n - 1].replicas);
  EXPECT_EQ(Ask<RecallAppResponse>(kRpcRecallApp, RecallAppRequest{.app_id = 1})->err,
            ErrorCode::kOk);
  for (int n = 1; n <= 3; ++n) Sync(n, held[n - 1].replicas);
  Obey();
  EXPECT_TRUE(ConfigOf("t", 0).primary.IsValid());
  EXPECT_GT(ConfigOf("t", 0).ballot, Ballot(7)) << "with what it held";
}

TEST_F(StartRecoveryTest, WhatIsDoubtfulOrShownToBeOlderIsSaidAfterwards) {
  ASSERT_TRUE(StartMeta().ok());
  StartAndSync(3);
  std::vector<HeldByServer> held = ThreeServers();
  for (HeldByServer& server : held) server.tables[0].envs.clear();
  const auto answer = Begin(all_);
  AnswerQuestions(held);
  ASSERT_EQ((*answer)->err, ErrorCode::kOk);
  EXPECT_THAT(SaidOf("state_learned_back"), testing::HasSubstr("had some: t"));
  EXPECT_EQ(SaidOf("state_went_back"), "");
  Sync(1, {{.pid = {1, 0}, .ballot = Ballot(20)}});
  EXPECT_THAT(SaidOf("state_went_back"), testing::HasSubstr("learned back without them"));
}

TEST_F(StartRecoveryTest, AnEmptyServingOneMayRecoverAndOneWithTablesMayNot) {
  ASSERT_TRUE(StartMeta().ok());
  StartAndSync(3);
  auto answer = Begin(all_);
  AnswerQuestions(ThreeServers());
  ASSERT_EQ((*answer)->err, ErrorCode::kOk);
  Obey();
  EXPECT_TRUE(ConfigOf("t", 0).primary.IsValid()) << "what servers answered counts as reported";
  answer = Begin(all_);
  EXPECT_EQ((*answer)->err, ErrorCode::kServiceAlreadyRunning);
  EXPECT_TRUE(transport_.called.empty());
}

// Else there would be two, and the old one's reads would miss the new one's writes.
TEST_F(StartRecoveryTest, NobodyIsAskedWhileAPrimaryOfBeforeMayHoldItsLease) {
  ASSERT_TRUE(StartMeta().ok());
  world_.RunFor(absl::Minutes(1));
  StartAndSync(3);
  InboundRequest inbound;
  inbound.header.name = kRpcStartRecovery;
  inbound.header.framing = Framing::kRdsn;
  inbound.body = EncodeWrapped(all_);
  transport_.handler(std::move(inbound));
  world_.RunFor(options_.grace - absl::Seconds(1));
  EXPECT_TRUE(transport_.called.empty());
  EXPECT_FALSE(Beacon(1));
  world_.RunFor(absl::Milliseconds(1010));
  EXPECT_EQ(transport_.called.size(), 6u);
}

TEST_F(StartRecoveryTest, WhoDoesNotAnswerRefusesItAndNothingIsStored) {
  options_.recover_from_replica_servers = true;
  ASSERT_TRUE(StartMeta().ok());
  std::vector<HeldByServer> held = ThreeServers();
  held[1].failure = "silent";
  auto answer = Begin(all_);
  AnswerQuestions(held);
  EXPECT_EQ((*answer)->err, ErrorCode::kTryAgain);
  EXPECT_NE((*answer)->hint_message.find("10.0.0.2:34801"), std::string::npos);
  StopMeta(sim::CrashMode::kPowerNone);
  ASSERT_TRUE(StartMeta().ok());
  EXPECT_EQ(Query("t").err, ErrorCode::kUnderRecovery);
  StartRecoveryRequest without = all_;
  without.skip_bad_nodes = true;
  answer = Begin(without);
  AnswerQuestions(held);
  EXPECT_EQ((*answer)->err, ErrorCode::kOk);
}

TEST_F(StartRecoveryTest, ItNamesServers) {
  ASSERT_TRUE(StartMeta().ok());
  EXPECT_EQ((*Begin({}))->err, ErrorCode::kInvalidParameters);
  EXPECT_EQ((*Begin({.recovery_nodes = {Endpoint()}}))->err, ErrorCode::kInvalidParameters);
}

}  // namespace
}  // namespace arion
