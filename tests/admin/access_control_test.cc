// SPDX-License-Identifier: Apache-2.0
#include "admin/access_control.h"
#include "env/clock.h"
#include "http/http_message.h"
#include "messages/replication_messages.h"
#include "rpc/older_servers.h"

#include <gtest/gtest.h>

#include "messages/admin_messages.h"
#include "messages/tool_messages.h"
#include "rpc/admin_token.h"
#include "rpc/thrift_codec.h"

namespace arion {
namespace {

constexpr char kToken[] = "a-token-of-sixteen";
constexpr Endpoint kHere{.ip = 0x7f000001, .port = 40000};
constexpr Endpoint kOffice{.ip = 0x0a010203, .port = 40000};  // 10.1.2.3

std::string BodyWith(std::string_view token) {
  std::string body = EncodeWrapped(DropAppRequest{.app_name = "t"});
  AddAdminToken(token, &body);
  return body;
}
AccessRules Only(std::string_view ranges, std::string token = "") {
  return {.admin_addresses = *ParseAddressRanges(ranges), .admin_token = std::move(token)};
}
HttpRequest PostFrom(Endpoint peer, std::string authorization = "") {
  HttpRequest request{.method = "POST", .path = "/checkpoint", .peer = peer};
  if (!authorization.empty()) request.headers.push_back({"authorization", authorization});
  return request;
}

TEST(AddressRangeTest, IsWrittenAsAnAddressOrARange) {
  const auto ranges = *ParseAddressRanges("10.1.0.0/16, 127.0.0.1,0.0.0.0/0");
  ASSERT_EQ(ranges.size(), 3u);
  EXPECT_TRUE(ranges[0].Contains(0x0a010000) && ranges[0].Contains(0x0a01ffff));
  EXPECT_FALSE(ranges[0].Contains(0x0a020000) || ranges[0].Contains(0x0a00ffff));
  EXPECT_TRUE(ranges[1].Contains(0x7f000001));
  EXPECT_FALSE(ranges[1].Contains(0x7f000002));
  EXPECT_TRUE(ranges[2].Contains(0) && ranges[2].Contains(0xffffffff));
  EXPECT_TRUE(ParseAddressRanges("")->empty());
  for (const char* bad : {"10.1", "10.1.0.0/33", "10.1.0.0/-1", "10.1.0.0/", "host", "10.1.2.3/16"})
    EXPECT_FALSE(ParseAddressRanges(bad).ok()) << bad;
}

TEST(AccessControlTest, WithoutRulesEverythingIsAdmitted) {
  ClusterIdentity cluster("a");
  AccessControl access({}, cluster);
  EXPECT_EQ(access.Admit({.name = kRpcDropApp}, kHere, 0, ""), ErrorCode::kOk);
  EXPECT_FALSE(access.RefuseHttp(PostFrom(kOffice)).has_value());
}

TEST(AccessControlTest, ChangesNeedTheAddress) {
  ClusterIdentity cluster("a");
  AccessControl access(Only("10.1.0.0/16"), cluster);
  EXPECT_EQ(access.Admit({.name = kRpcDropApp}, kOffice, 0, ""), ErrorCode::kOk);
  EXPECT_EQ(access.Admit({.name = kRpcDropApp}, kHere, 0, ""), ErrorCode::kAclDeny);
  EXPECT_FALSE(access.RefuseHttp(PostFrom(kOffice)).has_value());
  EXPECT_EQ(access.RefuseHttp(PostFrom(kHere))->status, 403);
  EXPECT_EQ(access.refused_admins().value(), 2);
}

TEST(AccessControlTest, ChangesNeedTheToken) {
  ClusterIdentity cluster("a");
  AccessControl access(Only("", kToken), cluster);
  EXPECT_EQ(access.Admit({.name = kRpcDropApp}, kHere, 0, BodyWith(kToken)), ErrorCode::kOk);
  for (const std::string& body :
       {std::string(), EncodeWrapped(DropAppRequest{}), BodyWith(""),
        BodyWith("a-token-of-sixteeM"), BodyWith(std::string(kToken) + kToken),
        std::string("\x0c\xff\xff", 3)})
    EXPECT_EQ(access.Admit({.name = kRpcDropApp}, kHere, 0, body), ErrorCode::kAclDeny);
  EXPECT_FALSE(access.RefuseHttp(PostFrom(kHere, std::string("Bearer ") + kToken)).has_value());
  for (const char* wrong : {"", "a-token-of-sixteen", "Bearer ", "Bearer a-token-of-sixteeN"})
    EXPECT_EQ(access.RefuseHttp(PostFrom(kHere, wrong))->status, 401) << wrong;
}

TEST(AccessControlTest, WhereBothAreConfiguredBothAreNeeded) {
  ClusterIdentity cluster("a");
  AccessControl access(Only("10.1.0.0/16", kToken), cluster);
  EXPECT_EQ(access.Admit({.name = kRpcDropApp}, kOffice, 0, BodyWith(kToken)), ErrorCode::kOk);
  EXPECT_EQ(access.Admit({.name = kRpcDropApp}, kHere, 0, BodyWith(kToken)), ErrorCode::kAclDeny);
  EXPECT_EQ(access.Admit({.name = kRpcDropApp}, kOffice, 0, ""), ErrorCode::kAclDeny);
}

TEST(AccessControlTest, WhatIsNotKnownToBeHarmlessIsAChange) {
  for (const char* open : {"RPC_RRDB_RRDB_PUT", kRpcQueryConfig, kRpcListApps, kRpcClusterInfo,
                           kRpcBeacon, kRpcPrepare, kRpcLearn, kRpcQueryReplicaInfo, kRpcQueryLead})
    EXPECT_TRUE(IsOpenToAll(open)) << open;
  for (const char* change :
       {kRpcCreateApp, kRpcDropApp, kRpcRecallApp, kRpcRenameApp, kRpcUpdateAppEnv,
        kRpcSetMaxReplicaCount, kRpcSetAtomicIdempotent, kRpcControlMeta, kRpcProposeBalancer,
        kRpcStartRecovery, kRpcHandOverLead, kRpcCommand, "RPC_ADD_NEW_DISK", "RPC_SOMETHING_NEW",
        ""})
    EXPECT_FALSE(IsOpenToAll(change)) << change;
}

TEST(AccessControlTest, ServersOfAnotherClusterAreRefusedWhateverTheyWant) {
  ClusterIdentity cluster("a"), other("b"), namesake("a");
  ASSERT_TRUE(cluster.Adopt(1) && namesake.Adopt(2));
  AccessControl access({}, cluster);
  for (const char* name :
       {kRpcBeacon, kRpcConfigSync, kRpcPrepare, kRpcLearn, kRpcConfigProposal}) {
    EXPECT_EQ(access.Admit({.name = name}, kHere, cluster.tag(), ""), ErrorCode::kOk);
    EXPECT_EQ(access.Admit({.name = name}, kHere, other.tag(), ""), ErrorCode::kClusterNotFound);
    EXPECT_EQ(access.Admit({.name = name}, kHere, namesake.tag(), ""), ErrorCode::kClusterNotFound);
  }
  EXPECT_EQ(access.refused_servers().value(), 10);
}

TEST(AccessControlTest, WhoIsRefusedAsAnotherClustersIsTold) {
  ClusterIdentity cluster("a"), namesake("a");
  ASSERT_TRUE(cluster.Adopt(1) && namesake.Adopt(2));
  AccessControl access({}, cluster);
  std::vector<std::pair<Endpoint, uint64_t>> told;
  access.OnRefusedServer([&](Endpoint server, uint64_t tag) { told.emplace_back(server, tag); });
  access.Admit({.name = kRpcBeacon}, kHere, cluster.tag(), "");
  access.Admit({.name = kRpcBeacon, .from = kOffice}, kHere, namesake.tag(), "");
  EXPECT_EQ(told, (std::vector<std::pair<Endpoint, uint64_t>>{{kOffice, namesake.tag()}}));
}

TEST(AccessControlTest, ToolsNameNoClusterAndServersMust) {
  ClusterIdentity cluster("a");
  AccessControl access({}, cluster);
  for (const char* tools : {"RPC_RRDB_RRDB_PUT", kRpcQueryConfig, kRpcListApps, kRpcCreateApp,
                            kRpcProposeBalancer, kRpcCommand, kRpcQueryReplicaInfo})
    EXPECT_EQ(access.Admit({.name = tools}, kHere, 0, ""), ErrorCode::kOk) << tools;
  for (const char* servers : {kRpcBeacon, kRpcConfigSync, kRpcUpdateConfiguration, kRpcPrepare,
                              kRpcAddLearner, kRpcConfigProposal}) {
    EXPECT_EQ(access.Admit({.name = servers}, kHere, 0, ""), ErrorCode::kClusterNotFound)
        << servers;
    EXPECT_EQ(access.Admit({.name = servers}, kHere, cluster.tag(), ""), ErrorCode::kOk) << servers;
  }
  EXPECT_EQ(access.refused_servers().value(), 6);
  // What was handed out may be copied by a follower cluster, which names none, not by a namesake.
  ClusterIdentity other("b");
  for (const char* copies : {kRpcGetFileSize, kRpcCopyFile, kRpcQueryLastCheckpoint}) {
    EXPECT_EQ(access.Admit({.name = copies}, kHere, 0, ""), ErrorCode::kOk) << copies;
    EXPECT_EQ(access.Admit({.name = copies}, kHere, other.tag(), ""), ErrorCode::kClusterNotFound);
  }
}

class HandClock : public Clock {
 public:
  Instant Now() const override { return Instant(1); }
  int64_t WallMicros() const override { return 0; }
};

// A server that names no cluster, which is let in.
class GuestsTest : public testing::Test {
 protected:
  static constexpr Endpoint kServer{.ip = 0x0a010203, .port = 34801};
  static constexpr Endpoint kConnection{.ip = kServer.ip, .port = 40000};

  ErrorCode Admit(const char* name, Endpoint from, Endpoint peer, std::string body = "") {
    return access_.Admit({.name = name, .from = from}, peer, 0, body);
  }
  std::string Beacon(Endpoint from) { return EncodeWrapped(BeaconMessage{.from_node = from}); }

  HandClock clock_;
  ClusterIdentity cluster_{"a"};
  OlderServers older_{OlderServers::Policy::kLetIn, clock_};
  AccessControl access_{{}, cluster_};
};

TEST_F(GuestsTest, BeforeAMetaServerSaidWhoThereIsNobodyIsCalledAnotherClusters) {
  access_.LetIn(older_, AccessControl::Introduce::kNobody);
  EXPECT_EQ(Admit(kRpcPrepare, kServer, kConnection), ErrorCode::kHandlerNotFound);
  EXPECT_EQ(Admit(kRpcPrepare, kServer, kHere), ErrorCode::kClusterNotFound);
  EXPECT_EQ(access_.refused_servers().value(), 1);
  older_.SetListed({kServer});
  EXPECT_EQ(Admit(kRpcPrepare, kServer, kConnection), ErrorCode::kOk);
  EXPECT_EQ(Admit(kRpcPrepare, kHere, kHere), ErrorCode::kClusterNotFound);
}

TEST_F(GuestsTest, OfAReplicaServerAreWhomAMetaServerNamedFromTheirOwnAddress) {
  access_.LetIn(older_, AccessControl::Introduce::kNobody);
  older_.SetListed({});
  EXPECT_EQ(Admit(kRpcPrepare, kServer, kConnection), ErrorCode::kClusterNotFound);
  older_.Introduce(kServer);
  EXPECT_EQ(Admit(kRpcPrepare, kServer, kConnection), ErrorCode::kOk);
  EXPECT_EQ(Admit(kRpcPrepare, kServer, kHere), ErrorCode::kClusterNotFound)
      << "it comes from here";
  EXPECT_EQ(Admit(kRpcPrepare, kHere, kHere), ErrorCode::kClusterNotFound);
  EXPECT_EQ(Admit(kRpcBeacon, kHere, kHere, Beacon(kHere)), ErrorCode::kClusterNotFound)
      << "a beacon introduces nobody to a replica server";
  EXPECT_EQ(older_.Heard(), std::vector<Endpoint>{kServer});
  older_.SetPolicy(OlderServers::Policy::kRefused);
  EXPECT_EQ(Admit(kRpcPrepare, kServer, kConnection), ErrorCode::kClusterNotFound);
  EXPECT_EQ(access_.refused_servers().value(), 5);
}

TEST_F(GuestsTest, OfAMetaServerAreWhoSendBeaconsFromTheirOwnAddress) {
  access_.LetIn(older_, AccessControl::Introduce::kByBeacon);
  EXPECT_EQ(Admit(kRpcConfigSync, kServer, kConnection), ErrorCode::kClusterNotFound);
  for (const std::string& body : {std::string(), std::string("\x0c\xff\xff", 3), Beacon(kHere)})
    EXPECT_EQ(Admit(kRpcBeacon, kServer, kConnection, body), ErrorCode::kClusterNotFound);
  EXPECT_EQ(Admit(kRpcBeacon, kServer, kHere, Beacon(kServer)), ErrorCode::kClusterNotFound);
  EXPECT_EQ(Admit(kRpcConfigSync, kServer, kConnection), ErrorCode::kClusterNotFound);
  EXPECT_EQ(Admit(kRpcBeacon, kServer, kConnection, Beacon(kServer)), ErrorCode::kOk);
  EXPECT_EQ(Admit(kRpcConfigSync, kServer, kConnection), ErrorCode::kOk);
}

TEST_F(GuestsTest, AnAnswerWithoutATagCountsFromThemOnly) {
  EXPECT_FALSE(access_.Accept("RPC_LEARN_ACK", kServer, 0));
  access_.LetIn(older_, AccessControl::Introduce::kNobody);
  EXPECT_FALSE(access_.Accept("RPC_LEARN_ACK", kServer, 0));
  older_.Introduce(kServer);
  EXPECT_TRUE(access_.Accept("RPC_LEARN_ACK", kServer, 0));
  EXPECT_TRUE(access_.Accept("RPC_QUERY_REPLICA_INFO_ACK", kHere, 0)) << "what tools ask, too";
  EXPECT_TRUE(access_.Accept("RPC_LEARN_ACK", kServer, cluster_.tag())) << "ours, carried back";
}

TEST_F(GuestsTest, ThatTheyAreLetInOpensNothingElse) {
  ClusterIdentity other("b");
  AccessControl access(Only("10.9.0.0/16"), cluster_);
  access.LetIn(older_, AccessControl::Introduce::kNobody);
  older_.Introduce(kServer);
  EXPECT_EQ(access.Admit({.name = kRpcDropApp, .from = kServer}, kConnection, 0, ""),
            ErrorCode::kAclDeny);
  EXPECT_EQ(access.Admit({.name = kRpcPrepare, .from = kServer}, kConnection, other.tag(), ""),
            ErrorCode::kClusterNotFound);
}

TEST(AccessControlTest, TheIdIsLearnedOnceFromWhoIsToTell) {
  ClusterIdentity cluster("a"), meta("a"), namesake("a");
  ASSERT_TRUE(meta.Adopt(7) && namesake.Adopt(8));
  std::vector<uint32_t> learned;
  AccessControl access({}, cluster, "RPC_FD_FAILURE_DETECTOR_PING_ACK",
                       [&](uint32_t id) { learned.push_back(id); });
  EXPECT_TRUE(access.Accept("RPC_PREPARE_ACK", kOffice, meta.tag()));
  EXPECT_EQ(cluster.id(), 0u) << "not from anybody";
  EXPECT_TRUE(access.Accept("RPC_FD_FAILURE_DETECTOR_PING_ACK", kOffice, meta.tag()));
  EXPECT_TRUE(access.Accept("RPC_FD_FAILURE_DETECTOR_PING_ACK", kOffice, meta.tag()));
  EXPECT_FALSE(access.Accept("RPC_FD_FAILURE_DETECTOR_PING_ACK", kOffice, namesake.tag()));
  EXPECT_EQ(learned, std::vector<uint32_t>{7});
  EXPECT_EQ(access.OurTag(), meta.tag());
}

}  // namespace
}  // namespace arion
