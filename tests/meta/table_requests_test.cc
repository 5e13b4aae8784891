// SPDX-License-Identifier: Apache-2.0
#include "meta/table_requests.h"
#include "meta/request_handlers.h"
#include "meta/table_changes.h"

#include <gtest/gtest.h>

#include "messages/tool_messages.h"
#include "tests/meta/part_fixture.h"

namespace arion {
namespace {

class TableRequestsTest : public PartFixture {
 protected:
  TableRequestsTest() {
    for (const int n : {1, 2, 3}) state_.nodes[ServerAt(n)].alive = true;
    tables_.AddTo(handlers_);
  }
  template <class Request>
  void Ask(const char* name, const Request& request) {
    OnStrand([&] {
      InboundRequest inbound = RequestFor(name, EncodeWrapped(request));
      (*handlers_.Find(name))(inbound);
    });
  }
  void AskToCreate() {
    Ask(kRpcCreateApp, CreateAppRequest{.app_name = "t",
                                        .options = {.partition_count = 1,
                                                    .replica_count = 3,
                                                    .app_type = "pegasus",
                                                    .is_stateful = true}});
  }
  void CreateAndDrop() {
    AskToCreate();
    AnswerStore();
    Ask(kRpcDropApp, DropAppRequest{.app_name = "t"});
    AnswerStore();
    ASSERT_EQ(Answered<DropAppResponse>(kRpcDropApp)->err, ErrorCode::kOk);
  }

  ClusterState state_;
  MetaServerOptions options_;
  int plans_ = 0;
  TableChanges changes_{
      state_,
      store_,
      env_.clock(),
      {.changed = [this](Table& table) { table.untold = {ServerAt(1)}; },
       .given_up = [] {},
       .judgeable = [](PartitionId) {},
       .again =
           [this](InboundRequest request) { (*handlers_.Find(request.header.name))(request); }}};
  TableRequests tables_{{.state = state_,
                         .store = store_,
                         .changes = changes_,
                         .options = options_,
                         .codec = codec_,
                         .clock = env_.clock(),
                         .strand = strand_,
                         .life = owner_life_,
                         .plan = [this] { ++plans_; }}};
  RequestHandlers handlers_;
};

TEST_F(TableRequestsTest, ATableIsThereOnceItIsStored) {
  AskToCreate();
  EXPECT_TRUE(state_.tables.empty());
  EXPECT_TRUE(changes_.reserved_names().contains("t"));
  EXPECT_FALSE(Answered<CreateAppResponse>(kRpcCreateApp).has_value());
  AnswerStore();
  EXPECT_EQ(Answered<CreateAppResponse>(kRpcCreateApp)->appid, 1);
  EXPECT_EQ(state_.tables.at(1).partitions.size(), 1u);
  EXPECT_TRUE(changes_.reserved_names().empty());
  EXPECT_EQ(plans_, 1);
}

TEST_F(TableRequestsTest, OneThatCanNotBeStoredIsNotThereAndItsNameIsFree) {
  AskToCreate();
  AnswerStore(absl::ResourceExhaustedError("full"));
  EXPECT_EQ(Answered<CreateAppResponse>(kRpcCreateApp)->err, ErrorCode::kDiskInsufficient);
  EXPECT_TRUE(state_.tables.empty());
  EXPECT_TRUE(changes_.reserved_names().empty());
  answers_.clear();
  AskToCreate();
  EXPECT_EQ(Answered<CreateAppResponse>(kRpcCreateApp)->err, ErrorCode::kDiskInsufficient)
      << "known to be full";
  EXPECT_TRUE(played_.commits.empty());
}

TEST_F(TableRequestsTest, ARequestForATableThatChangesWaitsForTheChange) {
  AskToCreate();
  AnswerStore();
  Ask(kRpcRenameApp, RenameAppRequest{.old_app_name = "t", .new_app_name = "u"});
  Ask(kRpcUpdateAppEnv,
      UpdateAppEnvRequest{
          .app_name = "t", .op = EnvOperation::kSet, .keys = {{"default_ttl"}}, .values = {{"1"}}});
  EXPECT_EQ(played_.commits.size(), 1u);
  AnswerStore();
  EXPECT_EQ(Answered<RenameAppResponse>(kRpcRenameApp)->err, ErrorCode::kOk);
  EXPECT_EQ(Answered<UpdateAppEnvResponse>(kRpcUpdateAppEnv)->err, ErrorCode::kAppNotExist);
  EXPECT_TRUE(changes_.reserved_names().empty());
}

TEST_F(TableRequestsTest, ARecallWaitsUntilAllHaveHeardOfTheDrop) {
  CreateAndDrop();
  Ask(kRpcRecallApp, RecallAppRequest{.app_id = 1});
  world_.RunFor(absl::Seconds(1));
  EXPECT_TRUE(played_.commits.empty());
  state_.tables[1].untold.clear();
  world_.RunFor(2 * TableRequests::kRecallLook);
  AnswerStore();
  EXPECT_EQ(Answered<RecallAppResponse>(kRpcRecallApp)->err, ErrorCode::kOk);
  EXPECT_EQ(state_.tables[1].info.status, AppStatus::kAvailable);
}

TEST_F(TableRequestsTest, ARecallDoesNotWaitForEver) {
  CreateAndDrop();
  Ask(kRpcRecallApp, RecallAppRequest{.app_id = 1});
  world_.RunFor(TableRequests::kRecallPatience + absl::Seconds(1));
  EXPECT_EQ(Answered<RecallAppResponse>(kRpcRecallApp)->err, ErrorCode::kBusyDropping);
}

TEST_F(TableRequestsTest, NorOnceTheServerStops) {
  CreateAndDrop();
  Ask(kRpcRecallApp, RecallAppRequest{.app_id = 1});
  tables_.Stop();
  state_.tables[1].untold.clear();
  world_.RunFor(absl::Seconds(10));
  EXPECT_TRUE(played_.commits.empty());
  EXPECT_TRUE(answers_.count(kRpcRecallApp) == 0);
}

}  // namespace
}  // namespace arion
