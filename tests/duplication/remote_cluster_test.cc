// SPDX-License-Identifier: Apache-2.0
#include "duplication/remote_cluster.h"

#include <gtest/gtest.h>

#include <optional>
#include <utility>
#include <vector>

#include "messages/duplicate_messages.h"
#include "messages/meta_messages.h"
#include "rpc/thrift_codec.h"
#include "sim/sim_environment.h"
#include "sim/sim_transport.h"

namespace arion {
namespace {

using sim::SimEnvironment;
using sim::SimNode;
using sim::SimTransport;

constexpr Endpoint kHere = {0x0a000001u, 34801};
// Its meta server, and the one primary.
constexpr Endpoint kThere = {0x0a000002u, 34801};

class RemoteClusterTest : public ::testing::Test {
 protected:
  RemoteClusterTest() {
    there_.SetHandler([this](InboundRequest request) {
      if (request.header.name == kRpcQueryConfig) {
        question_.emplace(std::move(request));
        return;
      }
      ++taken_;
      request.responder.Reply(says_, EncodeWrapped(DuplicateResponse{.error = 0}));
    });
  }

  void Send(std::function<bool()> may_go) {
    cluster_->Send({.table = "t", .partition_count = 1, .body = "b", .may_go = std::move(may_go)},
                   strand_, [this](SendOutcome outcome) { outcomes_.push_back(outcome.kind); });
    world_.RunFor(absl::Milliseconds(20));
  }
  // Who leads is told now.
  void Tell() {
    ASSERT_TRUE(question_.has_value());
    QueryConfigResponse response{.app_id = 2, .partition_count = 1};
    PartitionConfiguration partition;
    partition.pid = {2, 0};
    partition.primary = kThere;
    response.partitions = {partition};
    question_->responder.Reply(ErrorCode::kOk, EncodeWrapped(response));
    world_.RunFor(absl::Milliseconds(20));
  }

  sim::SimWorld world_{1};
  sim::SimNetwork network_{world_};
  SimNode& node_ = world_.AddNode("here");
  SimEnvironment& env_ = node_.Start();
  SimTransport here_{network_, node_, kHere};
  SimNode& there_node_ = world_.AddNode("there");
  SimEnvironment& there_env_ = there_node_.Start();
  SimTransport there_{network_, there_node_, kThere};
  StrandPtr strand_ = env_.NewStrand("replica");
  std::shared_ptr<RemoteCluster> cluster_ = std::make_shared<RemoteCluster>(
      env_, here_, "other", [] { return std::vector<Endpoint>{kThere}; });
  std::optional<InboundRequest> question_;
  ErrorCode says_ = ErrorCode::kOk;
  int taken_ = 0;
  std::vector<SendOutcome::Kind> outcomes_;
};

TEST_F(RemoteClusterTest, ARequestGoesToWhoLeadsThere) {
  Send([] { return true; });
  EXPECT_EQ(taken_, 0);
  Tell();
  EXPECT_EQ(taken_, 1);
  EXPECT_EQ(outcomes_, std::vector{SendOutcome::Kind::kTaken});
}

// A write that is too large for it is not sent for ever.
TEST_F(RemoteClusterTest, WhatPassesIsSentAgainAndWhatDoesNotIsRefused) {
  const std::pair<ErrorCode, SendOutcome::Kind> cases[] = {
      {ErrorCode::kInvalidData, SendOutcome::Kind::kRefused},
      {ErrorCode::kBusy, SendOutcome::Kind::kAgain},
      {ErrorCode::kDiskInsufficient, SendOutcome::Kind::kAgain}};
  Send([] { return true; });
  Tell();
  for (const auto& [says, becomes] : cases) {
    says_ = says;
    Send([] { return true; });
    EXPECT_EQ(outcomes_.back(), becomes) << ErrorCodeName(says);
  }
}

// partition_duplications/K2
TEST_F(RemoteClusterTest, ARequestThatWaitedGoesOnlyIfItsSenderLeadsStill) {
  bool leads = true;
  Send([&leads] { return leads; });
  leads = false;
  Tell();
  EXPECT_EQ(taken_, 0);
  EXPECT_EQ(outcomes_, std::vector{SendOutcome::Kind::kAgain});
}

}  // namespace
}  // namespace arion
