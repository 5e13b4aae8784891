// SPDX-License-Identifier: Apache-2.0
#include "sim/sim_transport.h"
#include "sim/sim_environment.h"

#include <gtest/gtest.h>

namespace arion::sim {
namespace {

struct Net : ::testing::Test {
  SimWorld world{1};
  SimNetwork network{world};
  SimNode& a = world.AddNode("a");
  SimNode& b = world.AddNode("b");
  Endpoint at_a = *Endpoint::Parse("10.0.0.1:100"), at_b = *Endpoint::Parse("10.0.0.2:100");
  std::unique_ptr<SimTransport> from, to;
  StrandPtr strand;
  int requests = 0;
  std::vector<ErrorCode> results;

  Net() {
    strand = a.Start().NewStrand("s");
    b.Start();
    from = std::make_unique<SimTransport>(network, a, at_a);
    to = std::make_unique<SimTransport>(network, b, at_b);
    to->SetHandler([this](InboundRequest request) {
      ++requests;
      EXPECT_EQ(request.header.from, at_a);
      request.responder.Reply(ErrorCode::kOk, request.body + "!");
    });
  }
  void Call(absl::Duration timeout = absl::Seconds(1)) {
    OutboundRequest request;
    request.name = "RPC_PREPARE";
    request.body = "hello";
    request.timeout = timeout;
    from->Call(at_b, std::move(request), strand, [this](RpcResult result) {
      EXPECT_TRUE(strand->IsCurrent());
      if (result.error == ErrorCode::kOk) {
        EXPECT_EQ(result.body, "hello!");
      }
      results.push_back(result.error);
    });
  }
};

TEST_F(Net, AnAnswerComesBackOnTheCallersStrand) {
  Call();
  world.RunFor(absl::Milliseconds(100));
  EXPECT_EQ(results, std::vector<ErrorCode>{ErrorCode::kOk});
}

TEST_F(Net, ABlockedDirectionEndsInTheTimeout) {
  network.Block(at_b, at_a);
  Call();
  world.RunFor(absl::Milliseconds(999));
  EXPECT_EQ(requests, 1);
  EXPECT_TRUE(results.empty());
  world.RunFor(absl::Milliseconds(2));
  EXPECT_EQ(results, std::vector<ErrorCode>{ErrorCode::kTimeout});
}

TEST_F(Net, ABlockedDirectionMayHoldMessagesBackUntilItOpens) {
  network.Block(at_a, at_b);
  for (int i = 0; i < 100; ++i) Call(absl::Minutes(1));
  world.RunFor(absl::Seconds(1));
  EXPECT_EQ(requests, 0);
  network.UnblockAll();
  world.RunFor(absl::Seconds(1));
  EXPECT_GT(requests, 10);
  EXPECT_LT(requests, 60);
}

TEST_F(Net, ADeadProcessFailsCallsAtOnceAndADeadMachineByTimeout) {
  b.PauseFor(absl::Seconds(100));
  Call();
  world.RunFor(absl::Milliseconds(10));
  to.reset();
  b.Crash(CrashMode::kProcess);
  network.NodeDied(at_b, SimNetwork::Farewell::kReset);
  Call();
  world.RunFor(absl::Milliseconds(100));
  EXPECT_EQ(results, (std::vector<ErrorCode>(2, ErrorCode::kNetworkFailure)));
  network.NodeDied(at_b, SimNetwork::Farewell::kSilence);
  Call();
  world.RunFor(absl::Milliseconds(900));
  EXPECT_EQ(results.size(), 2u);
  world.RunFor(absl::Milliseconds(200));
  EXPECT_EQ(results.back(), ErrorCode::kTimeout);
}

TEST_F(Net, AResetFailsTheCallsOfBothAndSomeAreCarriedOutAllTheSame) {
  b.PauseFor(absl::Milliseconds(100));
  for (int i = 0; i < 100; ++i) Call();
  EXPECT_EQ(network.Reset(at_b, 100), 100);
  world.RunFor(absl::Milliseconds(99));
  EXPECT_EQ(results, (std::vector<ErrorCode>(100, ErrorCode::kNetworkFailure)));
  world.RunFor(absl::Milliseconds(99));
  EXPECT_GT(requests, 20);
  EXPECT_LT(requests, 80);
  results.clear();
  Call();
  EXPECT_EQ(network.Reset(at_a, 0), 0);
  world.RunFor(absl::Milliseconds(100));
  EXPECT_EQ(results, std::vector<ErrorCode>{ErrorCode::kOk});
}

TEST_F(Net, APausedNodeAnswersAfterwards) {
  b.PauseFor(absl::Milliseconds(500));
  Call();
  world.RunFor(absl::Milliseconds(400));
  EXPECT_TRUE(results.empty());
  world.RunFor(absl::Milliseconds(200));
  EXPECT_EQ(results, std::vector<ErrorCode>{ErrorCode::kOk});
}

TEST_F(Net, BadWeatherLosesAndDoublesButAnswersEachCallOnce) {
  network.weather = {.loss_percent = 20,
                     .duplicate_percent = 50,
                     .late_percent = 50,
                     .late_max = absl::Milliseconds(900)};
  for (int i = 0; i < 200; ++i) Call(absl::Seconds(3));
  world.RunFor(absl::Seconds(10));
  EXPECT_EQ(results.size(), 200u);
  EXPECT_GT(requests, 200);
  EXPECT_GT(std::count(results.begin(), results.end(), ErrorCode::kTimeout), 5);
}

TEST_F(Net, ACrashedCallerGetsNoAnswer) {
  Call();
  from.reset();
  a.Crash(CrashMode::kProcess);
  world.RunFor(absl::Seconds(10));
  EXPECT_TRUE(results.empty());
}

}  // namespace
}  // namespace arion::sim
