// SPDX-License-Identifier: Apache-2.0
#include "replica/replica_messages.h"

#include <gmock/gmock.h>

#include <variant>

#include "rpc/thrift_codec.h"
#include "tests/replica/part_world.h"

namespace arion {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

class ReplicaMessagesTest : public PartWorld {
 protected:
  ReplicaMessagesTest() {
    peer_.SetHandler([this](InboundRequest request) {
      asked_.push_back(request.header.name);
      if (request.header.name == kRpcPrepare)
        request.responder.Reply(ErrorCode::kOk,
                                EncodeWrapped(PrepareAck{.pid = kPart, .err = ErrorCode::kOk}));
      else
        request.responder.Reply(ErrorCode::kOk, "no answer");
    });
    messages_.emplace(
        host_, strand_, kPart, 0, 0, *office_, std::make_shared<RequestStats>(0), engine_, log_,
        ReplicaMessages::Hooks{.owner = [this] { return std::weak_ptr<void>(owner_); },
                               .step = [this](const Event& event) { steps_.push_back(event); },
                               .duplicated = [] { return std::optional<Decree>(); }});
  }
  Responder Note(int number) {
    return Responder([this, number](ErrorCode error, const ReplyBody&) {
      answers_.emplace_back(number, error);
    });
  }
  static SendPrepare Prepare(Endpoint to) {
    const auto mutation = std::make_shared<Mutation>();
    mutation->pid = kPart;
    mutation->decree = Decree(1);
    SendPrepare prepare{.to = to, .serial = 4, .timeout = absl::Seconds(5)};
    prepare.request.mutation = mutation;
    return prepare;
  }
  void Send(Envelope envelope) {
    Do([&] { messages_->Send(std::move(envelope)); });
    Run(absl::Seconds(20));
  }

  sim::SimNode& peer_node_ = world_.AddNode("peer");
  sim::SimTransport peer_{(peer_node_.Start(), network_), peer_node_,
                          *Endpoint::Parse("10.0.0.2:34801")};
  std::vector<std::string> asked_;
  std::vector<Event> steps_;
  std::vector<std::pair<int, ErrorCode>> answers_;
  std::optional<ReplicaMessages> messages_;
};

TEST_F(ReplicaMessagesTest, AnAnswerIsAnEvent) {
  Send(Prepare(peer_.local()));
  EXPECT_THAT(asked_, ElementsAre(kRpcPrepare));
  ASSERT_EQ(steps_.size(), 1u);
  const auto& acked = std::get<PrepareAcked>(steps_.front());
  EXPECT_EQ(acked.serial, 4u);
  EXPECT_EQ(acked.rpc, ErrorCode::kOk);
}

TEST_F(ReplicaMessagesTest, NoAnswerIsAnEventAndSoIsOneThatDoesNotDecode) {
  Send(Prepare(*Endpoint::Parse("10.0.0.3:34801")));
  Send(SendGroupCheck{.to = peer_.local(), .timeout = absl::Seconds(5)});
  ASSERT_EQ(steps_.size(), 2u);
  EXPECT_NE(std::get<PrepareAcked>(steps_[0]).rpc, ErrorCode::kOk);
  EXPECT_EQ(std::get<GroupCheckAnswered>(steps_[1]).rpc, ErrorCode::kInvalidData);
}

TEST_F(ReplicaMessagesTest, WithoutAMetaServerAnUpdateFailsAtOnce) {
  Send(SendConfigurationUpdate{.serial = 2, .timeout = absl::Seconds(5)});
  ASSERT_EQ(steps_.size(), 1u);
  EXPECT_EQ(std::get<ConfigurationUpdateAnswered>(steps_.front()).rpc, ErrorCode::kNetworkFailure);
}

TEST_F(ReplicaMessagesTest, WhatComesAfterTheOwnerWentIsDropped) {
  Do([&] {
    messages_->Send(Prepare(peer_.local()));
    owner_.reset();
  });
  Run(absl::Seconds(10));
  EXPECT_THAT(steps_, IsEmpty());
}

TEST_F(ReplicaMessagesTest, WhoAskedIsAnsweredOnceOrGivenUp) {
  for (int i = 1; i <= 4; ++i) messages_->Keep(static_cast<ReplyToken>(i), Note(i));
  messages_->Answer({.token = 1, .body = PrepareAck{.pid = kPart}});
  messages_->Answer({.token = 1, .body = PrepareAck{.pid = kPart}});
  EXPECT_THAT(answers_, ElementsAre(Pair(1, ErrorCode::kOk)));
  messages_->GiveUp(2);
  EXPECT_TRUE(messages_->Take(3));
  EXPECT_FALSE(messages_->Take(3));
  answers_.clear();
  messages_->Refuse();
  EXPECT_THAT(answers_, ElementsAre(Pair(4, ErrorCode::kInvalidState)));
}

}  // namespace
}  // namespace arion
