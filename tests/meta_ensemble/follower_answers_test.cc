// SPDX-License-Identifier: Apache-2.0
#include "meta_ensemble/follower_answers.h"

#include <gtest/gtest.h>

#include "messages/admin_messages.h"
#include "messages/meta_messages.h"
#include "rpc/transport.h"

namespace arion {
namespace {

const Endpoint kLeader{0x0a000001, 34601};

class FollowerAnswersTest : public ::testing::Test {
 protected:
  template <class Request>
  void Ask(const char* name, const Request& body, std::optional<Endpoint> leader) {
    InboundRequest request;
    request.header.name = name;
    request.header.framing = framing_;
    request.header.forward_supported = forward_supported_;
    request.body = EncodeWrapped(body);
    request.responder = Responder([this](ErrorCode error, std::string answer) {
      error_ = error;
      body_ = std::move(answer);
    });
    AnswerAsFollower(leader, PeerGeneration::k25, request);
  }

  Framing framing_ = Framing::kRdsn;
  bool forward_supported_ = false;
  ErrorCode error_ = ErrorCode::kUnknown;
  std::string body_;
};

TEST_F(FollowerAnswersTest, BeaconsHearWhoLeads) {
  // Replica servers of 2.5.0 say that they follow an address, and end where they get one.
  forward_supported_ = true;
  const BeaconMessage beacon{.time = 5, .from_node = {1, 34801}, .to_node = {2, 34602}};
  Ask(kRpcBeacon, beacon, kLeader);
  ASSERT_EQ(error_, ErrorCode::kOk);
  BeaconAck ack = *DecodeWrapped<BeaconAck>(body_);
  EXPECT_FALSE(ack.is_master);
  EXPECT_TRUE(ack.allowed);
  EXPECT_EQ(ack.time, 5);
  EXPECT_EQ(ack.this_node, beacon.to_node);
  EXPECT_EQ(ack.primary_node, kLeader);
  Ask(kRpcBeacon, beacon, std::nullopt);
  ack = *DecodeWrapped<BeaconAck>(body_);
  EXPECT_FALSE(ack.primary_node.IsValid());
}

TEST_F(FollowerAnswersTest, WhoAsksForRoutesHearsItInAPartition) {
  framing_ = Framing::kThriftV0;
  Ask(kRpcQueryConfig, QueryConfigRequest{.app_name = "t"}, kLeader);
  ASSERT_EQ(error_, ErrorCode::kOk);
  QueryConfigResponse answer = *DecodeWrapped<QueryConfigResponse>(body_);
  EXPECT_EQ(answer.err, ErrorCode::kForwardToOthers);
  EXPECT_FALSE(answer.is_stateful);
  ASSERT_EQ(answer.partitions.size(), 1u);
  EXPECT_EQ(answer.partitions[0].primary, kLeader);
  Ask(kRpcQueryConfig, QueryConfigRequest{.app_name = "t"}, std::nullopt);
  EXPECT_TRUE(DecodeWrapped<QueryConfigResponse>(body_)->partitions.empty());
}

TEST_F(FollowerAnswersTest, OlderClientsHearItAsAnAddress) {
  forward_supported_ = true;
  for (const char* name : {kRpcQueryConfig, kRpcCreateApp, kRpcListNodes}) {
    Ask(name, QueryConfigRequest(), kLeader);
    EXPECT_EQ(error_, ErrorCode::kForwardToOthers) << name;
    EXPECT_EQ(*DecodeWrapped<Endpoint>(body_), kLeader) << name;
    Ask(name, QueryConfigRequest(), std::nullopt);
    EXPECT_EQ(error_, ErrorCode::kOk) << "there is none: " << name;
  }
}

TEST_F(FollowerAnswersTest, AllOthersHearAnErrorAndOursTheLeader) {
  for (const char* name : {kRpcCreateApp, kRpcConfigSync, kRpcUpdateConfiguration}) {
    Ask(name, QueryConfigRequest(), kLeader);
    ASSERT_EQ(error_, ErrorCode::kOk);
    EXPECT_EQ(DecodeWrapped<ForwardResponse>(body_)->arion_leader, kLeader.ToString());
    EXPECT_EQ(DecodeWrapped<CreateAppResponse>(body_)->err, ErrorCode::kForwardToOthers);
  }
}

TEST_F(FollowerAnswersTest, ABeaconThatIsNoneIsRefused) {
  Ask(kRpcBeacon, std::string("?"), kLeader);
  EXPECT_NE(error_, ErrorCode::kUnknown);
}

}  // namespace
}  // namespace arion
