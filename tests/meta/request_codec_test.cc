// SPDX-License-Identifier: Apache-2.0
#include "meta/request_codec.h"

#include <gtest/gtest.h>

#include "messages/admin_messages.h"
#include "meta/request_handlers.h"

namespace arion {
namespace {

class RequestCodecTest : public testing::Test {
 protected:
  InboundRequest Request(std::string body, Framing framing = Framing::kRdsn) {
    InboundRequest request;
    request.header.framing = framing;
    request.body = std::move(body);
    request.responder = Responder([this](ErrorCode error, std::string bytes) {
      error_ = error;
      bytes_ = std::move(bytes);
      ++answers_;
    });
    return request;
  }
  int answers_ = 0;
  ErrorCode error_ = ErrorCode::kOk;
  std::string bytes_;
};

TEST_F(RequestCodecTest, WhatDoesNotDecodeIsAnsweredAtOnce) {
  InboundRequest good = Request(EncodeWrapped(DropAppRequest{.app_name = "t"}));
  const auto drop = RequestCodec::Decode<DropAppRequest>(good);
  ASSERT_TRUE(drop.has_value());
  EXPECT_EQ(drop->app_name, "t");
  EXPECT_EQ(answers_, 0);
  InboundRequest bad = Request("no request");
  EXPECT_FALSE(RequestCodec::Decode<DropAppRequest>(bad).has_value());
  EXPECT_EQ(answers_, 1);
  EXPECT_EQ(error_, ErrorCode::kInvalidData);
}

TEST_F(RequestCodecTest, OnlyServersGetWhatTheirGenerationHas) {
  const RequestCodec codec(PeerGeneration::k26);
  const QueryConfigResponse answer{.partitions = {{.primary = {1, 34801}}}};
  InboundRequest client = Request("", Framing::kThriftV1);
  codec.Answer(client, answer);
  EXPECT_EQ(bytes_, EncodeWrapped(answer));
  InboundRequest server = Request("");
  codec.Answer(server, answer);
  EXPECT_EQ(bytes_, EncodeWrapped(answer, PeerGeneration::k26));
  codec.Answer(server, answer);
  EXPECT_EQ(answers_, 2) << "each is answered once";
}

struct Counting {
  void Handle(InboundRequest&) { ++handled; }
  int handled = 0;
};

TEST(RequestHandlersTest, FindsTheOneThatIsThere) {
  RequestHandlers handlers;
  Counting part;
  handlers.Add("RPC_A", &part, &Counting::Handle);
  EXPECT_EQ(handlers.Find("RPC_B"), nullptr);
  InboundRequest request;
  ASSERT_NE(handlers.Find("RPC_A"), nullptr);
  (*handlers.Find("RPC_A"))(request);
  EXPECT_EQ(part.handled, 1);
  EXPECT_DEATH(handlers.Add("RPC_A", &part, &Counting::Handle), "request_handlers/H1");
}

}  // namespace
}  // namespace arion
