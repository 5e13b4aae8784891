// What a replica gives to learners, by itself; with servers: replica_learning_test.cc.
// SPDX-License-Identifier: Apache-2.0
#include "replica/replica_shipping.h"
#include "replica/replica_checkpoints.h"
#include "replica/replica_messages.h"

#include <gmock/gmock.h>

#include <variant>

#include "rpc/thrift_codec.h"
#include "tests/replica/part_world.h"

namespace arion {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class ReplicaShippingTest : public PartWorld {
 protected:
  ReplicaShippingTest() {
    const auto owner = [this] { return std::weak_ptr<void>(owner_); };
    const auto tag = [] { return std::string("[2.1]"); };
    messages_.emplace(host_, strand_, kPart, 0, 0, *office_, std::make_shared<RequestStats>(0),
                      engine_, log_, ReplicaMessages::Hooks{.owner = owner, .step = {}});
    checkpoints_.emplace(
        host_, strand_, kDirectory, 0, 0, *core_, *office_, *work_, engine_, log_,
        ReplicaCheckpoints::Hooks{
            .owner = owner, .needed_by_child = [] { return std::nullopt; }, .tag = tag});
    shipping_.emplace(
        host_,
        LearnSource(env_.files(), host_->served, kPart, std::string(kDirectory) + "/data", "ssd1"),
        0, *core_, *work_, *checkpoints_, *messages_, engine_, log_,
        ReplicaShipping::Hooks{.step = [this](const Event& event) { steps_.push_back(event); },
                               .tag = tag});
  }
  void Ask(ReplyToken token) {
    messages_->Keep(token, Responder([this](ErrorCode, const ReplyBody& body) {
                      const auto response = DecodeWrapped<LearnResponse>(body.bytes);
                      answers_.push_back(response.ok() ? response->err : ErrorCode::kInvalidData);
                    }));
    shipping_->NoteAsking(token, *Endpoint::Parse("10.0.0.2:34801"));
  }

  std::optional<ReplicaMessages> messages_;
  std::optional<ReplicaCheckpoints> checkpoints_;
  std::optional<ReplicaShipping> shipping_;
  std::vector<Event> steps_;
  std::vector<ErrorCode> answers_;
};

TEST_F(ReplicaShippingTest, WhoAsksIsAnsweredOnce) {
  Ask(1);
  shipping_->Answer(1, LearnResponse{.err = ErrorCode::kInactiveState});
  shipping_->Answer(1, LearnResponse{.err = ErrorCode::kOk});
  EXPECT_THAT(answers_, ElementsAre(ErrorCode::kInactiveState));
}

TEST_F(ReplicaShippingTest, WhatCantBeShippedIsSaid) {
  Ask(1);
  Do([&] {
    shipping_->Ship({.token = 1,
                     .what = ShipState::What::kCheckpoint,
                     .first = Decree(100),
                     .committed = Decree(100)});
  });
  Run(absl::Seconds(5));
  EXPECT_THAT(steps_, IsEmpty()) << "nothing is on its way";
  ASSERT_EQ(answers_.size(), 1u);
  EXPECT_NE(answers_.front(), ErrorCode::kOk);
}

TEST_F(ReplicaShippingTest, ACheckpointIsMadeForWhoLacksWhatTheLogHasNot) {
  EXPECT_TRUE(engine_->Apply(Decree(1), 0, {}).ok());
  Ask(1);
  Do([&] {
    shipping_->Ship({.token = 1,
                     .what = ShipState::What::kCheckpoint,
                     .first = Decree(1),
                     .committed = Decree(1)});
  });
  Run(absl::Seconds(5));
  ASSERT_EQ(steps_.size(), 1u);
  EXPECT_EQ(std::get<Shipped>(steps_.front()).token, 1u);
  EXPECT_THAT(answers_, ElementsAre(ErrorCode::kOk));
}

}  // namespace
}  // namespace arion
