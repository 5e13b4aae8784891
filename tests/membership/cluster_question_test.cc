// What a meta server is asked about its cluster, and what becomes of each answer. SPDX-License-Identifier: Apache-2.0
#include "membership/cluster_question.h"
#include "rpc/transport.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "messages/admin_messages.h"
#include "rpc/thrift_codec.h"

namespace arion {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr Endpoint kAsked{0x0a000005, 34601}, kOne{1, 34801}, kOther{2, 34801};

// Answers each call at once, by its name.
class AnsweringTransport : public Transport {
 public:
  Endpoint local() const override { return {1, 1}; }
  void Call(Endpoint to, OutboundRequest request, StrandPtr,
            absl::AnyInvocable<void(RpcResult)> done) override {
    EXPECT_EQ(to, kAsked);
    asked.push_back(request.name);
    const auto found = answers.find(request.name);
    if (found == answers.end()) return done({.error = ErrorCode::kHandlerNotFound});
    done({.body = found->second});
  }
  void SetHandler(RequestHandler) override {}
  void SendOneWay(Endpoint, OutboundRequest) override { FAIL(); }

  template <class Response>
  void Answers(const char* name, const Response& response) {
    answers[name] = EncodeWrapped(response);
  }
  std::map<std::string, std::string> answers;
  std::vector<std::string> asked;
};

class ClusterQuestionTest : public testing::Test {
 protected:
  ClusterQuestionTest() {
    transport_.Answers(kRpcClusterInfo, ClusterInfoResponse{.keys = {"zone", "cluster_name"},
                                                            .values = {"z", "production"}});
    AppInfo table;
    table.status = AppStatus::kAvailable;
    table.app_id = 2;
    table.app_name = "t";
    table.partition_count = 2;
    tables_.infos = {table};
    transport_.Answers(kRpcListApps, tables_);
    ListNodesResponse nodes;
    nodes.infos = {{.node = kOne}, {.node = kOther}};
    transport_.Answers(kRpcListNodes, nodes);
  }
  absl::StatusOr<ClusterListing> Ask(QuestionDepth depth) {
    absl::StatusOr<ClusterListing> answer;
    int answers = 0;
    AskForListing(transport_, nullptr, kAsked, depth, [&](absl::StatusOr<ClusterListing> listing) {
      answer = std::move(listing);
      ++answers;
    });
    EXPECT_EQ(answers, 1);
    return answer;
  }
  // The table was split from one partition to two.
  void WasSplit() {
    tables_.infos[0].init_partition_count = 1;
    transport_.Answers(kRpcListApps, tables_);
  }
  AnsweringTransport transport_;
  ListAppsResponse tables_;
};

TEST_F(ClusterQuestionTest, AgainOnlyWhatAnswersQuicklyIsAsked) {
  const auto listing = Ask(QuestionDepth::kAgain);
  ASSERT_TRUE(listing.ok()) << listing.status();
  EXPECT_FALSE(listing->is_arion);
  EXPECT_EQ(listing->name, "production");
  EXPECT_NE(listing->Find(2), nullptr);
  EXPECT_THAT(listing->servers, ElementsAre(kOne, kOther));
  EXPECT_THAT(transport_.asked, ElementsAre(kRpcClusterInfo, kRpcListApps, kRpcListNodes));
}

TEST_F(ClusterQuestionTest, AnArionMetaServerIsAskedForItsServersOnly) {
  transport_.Answers(kRpcClusterInfo, ClusterInfoResponse{.arion_caps = 0});
  const auto listing = Ask(QuestionDepth::kBeforeJoining);
  ASSERT_TRUE(listing.ok()) << listing.status();
  EXPECT_TRUE(listing->is_arion);
  EXPECT_THAT(listing->servers, ElementsAre(kOne, kOther));
  EXPECT_THAT(transport_.asked, ElementsAre(kRpcClusterInfo, kRpcListNodes));
}

TEST_F(ClusterQuestionTest, ATableInTheMakingIsAskedForItsPartitionsAndOthersAreNot) {
  ASSERT_TRUE(Ask(QuestionDepth::kBeforeJoining).ok());
  EXPECT_THAT(transport_.asked, testing::Not(testing::Contains(kRpcQueryConfig)));
  WasSplit();
  QueryConfigResponse partitions;
  partitions.partitions.resize(2);
  partitions.partitions[0].ballot = Ballot(3);
  partitions.partitions[1].ballot = Ballot(3);
  transport_.Answers(kRpcQueryConfig, partitions);
  EXPECT_TRUE(Ask(QuestionDepth::kBeforeJoining)->being_split.empty()) << "that is over";
  partitions.partitions[1].ballot = Ballot(-1);
  transport_.Answers(kRpcQueryConfig, partitions);
  EXPECT_THAT(Ask(QuestionDepth::kBeforeJoining)->being_split, ElementsAre(2));
}

TEST_F(ClusterQuestionTest, ARestoredTableWhosePartitionIsEmptyIsBeingRestored) {
  tables_.infos[0].envs[kEnvRestorePolicy] = "p";
  transport_.Answers(kRpcListApps, tables_);
  QueryConfigResponse partitions;
  partitions.partitions.resize(1);
  partitions.partitions[0].ballot = Ballot(0);
  transport_.Answers(kRpcQueryConfig, partitions);
  EXPECT_THAT(Ask(QuestionDepth::kBeforeJoining)->being_restored, ElementsAre(2));
}

TEST_F(ClusterQuestionTest, ABackupThatHasNotEndedRuns) {
  QueryBackupPolicyResponse backups;
  backups.backup_infos = {{{.end_time_ms = 5, .app_ids = {3}}}, {{.app_ids = {2, 4}}}};
  transport_.Answers(kRpcQueryBackupPolicy, backups);
  EXPECT_THAT(Ask(QuestionDepth::kBeforeJoining)->being_backed_up, ElementsAre(2, 4));
}

TEST_F(ClusterQuestionTest, WhoMakesNoBackupsRefusesThatQuestionAndNothingElseIsLost) {
  const auto listing = Ask(QuestionDepth::kBeforeJoining);
  ASSERT_TRUE(listing.ok()) << listing.status();
  EXPECT_TRUE(listing->being_backed_up.empty());
  EXPECT_EQ(transport_.asked.back(), kRpcQueryBackupPolicy);
}

TEST_F(ClusterQuestionTest, AnErrorEndsItAndIsNamedWithItsQuestion) {
  transport_.Answers(kRpcListApps, ListAppsResponse{.err = ErrorCode::kForwardToOthers});
  const auto refused = Ask(QuestionDepth::kAgain);
  EXPECT_TRUE(absl::IsFailedPrecondition(refused.status()));
  EXPECT_THAT(refused.status().message(),
              HasSubstr("meta server 10.0.0.5:34601 answers RPC_CM_LIST_APPS by "
                        "ERR_FORWARD_TO_OTHERS"));
  EXPECT_THAT(transport_.asked, ElementsAre(kRpcClusterInfo, kRpcListApps));

  transport_.answers[kRpcClusterInfo] = "nonsense";
  EXPECT_THAT(Ask(QuestionDepth::kAgain).status().message(), HasSubstr("ERR_INVALID_DATA"));
  transport_.answers.erase(kRpcClusterInfo);
  EXPECT_THAT(Ask(QuestionDepth::kAgain).status().message(), HasSubstr("ERR_HANDLER_NOT_FOUND"));
}

}  // namespace
}  // namespace arion
