// SPDX-License-Identifier: Apache-2.0
#include "meta/admin_requests.h"

#include <gtest/gtest.h>

#include "tests/meta/part_fixture.h"

namespace arion {
namespace {

class AdminRequestsTest : public PartFixture {
 protected:
  AdminRequestsTest() { admin_.AddTo(handlers_); }
  template <class Request>
  void Ask(const char* name, const Request& request) {
    OnStrand([&] {
      InboundRequest inbound = RequestFor(name, EncodeWrapped(request));
      (*handlers_.Find(name))(inbound);
    });
  }

  ClusterState state_;
  std::set<std::string> reserved_names_;
  MetaServerOptions options_;
  int plans_ = 0;
  AdminRequests admin_{{.state = state_,
                        .store = store_,
                        .reserved_names = reserved_names_,
                        .options = options_,
                        .codec = codec_,
                        .clock = env_.clock(),
                        .transport = transport_,
                        .plan = [this] { ++plans_; }}};
  RequestHandlers handlers_;
};

TEST_F(AdminRequestsTest, ALevelHoldsOnceItIsStored) {
  state_.tables[1].partitions.resize(1);
  state_.tables[1].partitions[0].planned.resize(2);
  Ask(kRpcControlMeta, ControlMetaRequest{FunctionLevel::kFreezed});
  EXPECT_EQ(state_.SetLevel(), FunctionLevel::kSteady);
  EXPECT_FALSE(Answered<ControlMetaResponse>(kRpcControlMeta).has_value());
  AnswerStore();
  EXPECT_EQ(state_.SetLevel(), FunctionLevel::kFreezed);
  EXPECT_TRUE(state_.tables[1].partitions[0].planned.empty());
  EXPECT_EQ(plans_, 1);
  EXPECT_EQ(Answered<ControlMetaResponse>(kRpcControlMeta)->old_level, FunctionLevel::kSteady);
}

TEST_F(AdminRequestsTest, OneThatCanNotBeStoredDoesNotHold) {
  Ask(kRpcControlMeta, ControlMetaRequest{FunctionLevel::kFreezed});
  AnswerStore(absl::ResourceExhaustedError("full"));
  EXPECT_EQ(state_.SetLevel(), FunctionLevel::kSteady);
  EXPECT_EQ(plans_, 0);
  EXPECT_EQ(Answered<ControlMetaResponse>(kRpcControlMeta)->err, ErrorCode::kDiskInsufficient);
}

TEST_F(AdminRequestsTest, AsksForNamesThatAreBeingStored) {
  reserved_names_.insert("soon");
  Ask(kRpcQueryConfig, QueryConfigRequest{"soon"});
  EXPECT_EQ(Answered<QueryConfigResponse>(kRpcQueryConfig)->err, ErrorCode::kBusyCreating);
}

TEST_F(AdminRequestsTest, TheOnlyMetaServerLeadsAndKeepsTheLead) {
  Ask(kRpcQueryLead, QueryLeadRequest());
  EXPECT_EQ(
      *Answered<QueryLeadResponse>(kRpcQueryLead),
      (QueryLeadResponse{.is_leader = true, .is_single = true, .leader = transport_.local()}));
  Ask(kRpcHandOverLead, HandOverLeadRequest());
  const auto refused = Answered<HandOverLeadResponse>(kRpcHandOverLead);
  EXPECT_EQ(refused->err, ErrorCode::kInvalidState);
  EXPECT_NE(refused->hint_message.find("journal"), std::string::npos);
}

TEST_F(AdminRequestsTest, WhatArionDoesNotHaveIsAnsweredSo) {
  InboundRequest load = RequestFor("load", "");
  load.header.name = "RPC_CM_START_BULK_LOAD";
  EXPECT_TRUE(admin_.AnswersAsDisabled(load));
  EXPECT_EQ(answers_.count("load"), 1u);
  InboundRequest unknown = RequestFor("RPC_CM_WHATEVER", "");
  EXPECT_FALSE(admin_.AnswersAsDisabled(unknown));
}

}  // namespace
}  // namespace arion
