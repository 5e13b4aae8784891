// SPDX-License-Identifier: Apache-2.0
#include "meta/recovery_requests.h"
#include "meta/request_handlers.h"
#include "meta/table_changes.h"
#include "meta_state/failure_detector.h"
#include "meta_state/report_numbers.h"

#include <gtest/gtest.h>

#include "messages/tool_messages.h"
#include "tests/meta/part_fixture.h"

namespace arion {
namespace {

class RecoveryRequestsTest : public PartFixture {
 protected:
  RecoveryRequestsTest() { recovery_.AddTo(handlers_); }
  void Ask(const std::string& who, std::vector<Endpoint> servers) {
    OnStrand([&] {
      InboundRequest request =
          RequestFor(who, EncodeWrapped(StartRecoveryRequest{.recovery_nodes = servers}));
      (*handlers_.Find(kRpcStartRecovery))(request);
    });
  }
  std::optional<ErrorCode> Heard(const std::string& who) {
    const auto answer = Answered<StartRecoveryResponse>(who);
    return answer ? std::optional(answer->err) : std::nullopt;
  }
  // The only server has the only partition of a table.
  void Say() {
    ASSERT_EQ(transport_.called.size(), 2u);
    const AppInfo table{.status = AppStatus::kAvailable,
                        .app_type = "pegasus",
                        .app_name = "t",
                        .app_id = 1,
                        .partition_count = 1,
                        .is_stateful = true,
                        .max_replica_count = 3};
    const ReplicaInfo replica{.pid = {1, 0},
                              .ballot = Ballot(3),
                              .status = PartitionStatus::kInactive,
                              .app_type = "pegasus"};
    AnswerCall({.body = EncodeWrapped(QueryAppInfoResponse{.apps = {table}})});
    AnswerCall({.body = EncodeWrapped(QueryReplicaInfoResponse{.replicas = {replica}})});
  }

  ClusterState state_;
  FailureDetector detector_{FailureDetector::Options{}};
  const ReportNumbers numbers_{7};
  MetaServerOptions options_;
  Instant leases_end_{0};
  std::string happened_;
  TableChanges changes_{state_,
                        store_,
                        env_.clock(),
                        {.changed = [](Table&) {},
                         .given_up = [] {},
                         .judgeable = [](PartitionId) {},
                         .again = [](InboundRequest) {}}};
  RecoveryRequests recovery_{
      {.state = state_,
       .detector = detector_,
       .numbers = numbers_,
       .store = store_,
       .changes = changes_,
       .options = options_,
       .codec = codec_,
       .transport = transport_,
       .clock = env_.clock(),
       .strand = strand_,
       .life = owner_life_},
      {.leases_end = [this] { return leases_end_; },
       .begun = [this] { happened_ += "begun "; },
       .ended =
           [this](RecoveryRequests::End end) {
             happened_ += end == RecoveryRequests::End::kRecovered ? "recovered " : "failed ";
           }}};
  RequestHandlers handlers_;
};

TEST_F(RecoveryRequestsTest, AsksWhenNoLeaseIsHeldAndInstallsWhatIsStored) {
  leases_end_ = env_.clock().Now() + absl::Seconds(3);
  Ask("a", {ServerAt(1)});
  EXPECT_EQ(happened_, "begun ");
  world_.RunFor(absl::Seconds(2));
  EXPECT_TRUE(transport_.called.empty());
  world_.RunFor(absl::Seconds(2));
  Say();
  EXPECT_TRUE(state_.tables.empty());
  EXPECT_FALSE(Heard("a").has_value());
  AnswerStore();
  EXPECT_EQ(state_.tables.at(1).info.app_name, "t");
  EXPECT_TRUE(state_.IsAlive(ServerAt(1)));
  EXPECT_EQ(Heard("a"), ErrorCode::kOk);
  EXPECT_EQ(happened_, "begun recovered ");
}

TEST_F(RecoveryRequestsTest, WhoAsksMeanwhileGetsTheSameAnswer) {
  Ask("a", {ServerAt(1)});
  Ask("b", {ServerAt(1)});
  Say();
  AnswerStore(absl::ResourceExhaustedError("full"));
  EXPECT_TRUE(state_.tables.empty());
  EXPECT_EQ(Heard("a"), ErrorCode::kDiskInsufficient);
  EXPECT_EQ(Heard("b"), ErrorCode::kDiskInsufficient);
  EXPECT_EQ(happened_, "begun failed ");
  Ask("c", {ServerAt(1)});
  EXPECT_EQ(transport_.called.size(), 2u) << "another one begins";
}

TEST_F(RecoveryRequestsTest, AServerThatDoesNotAnswerRefusesIt) {
  Ask("a", {ServerAt(1)});
  AnswerCall({.error = ErrorCode::kTimeout});
  AnswerCall({.error = ErrorCode::kTimeout});
  EXPECT_EQ(Heard("a"), ErrorCode::kTryAgain);
  EXPECT_EQ(happened_, "begun failed ");
}

TEST_F(RecoveryRequestsTest, DoesNotBeginWhereThereAreTablesOrNobodyToAsk) {
  Ask("a", {});
  EXPECT_EQ(Heard("a"), ErrorCode::kInvalidParameters);
  state_.tables[1].info.app_id = 1;
  Ask("b", {ServerAt(1)});
  EXPECT_EQ(Heard("b"), ErrorCode::kServiceAlreadyRunning);
  EXPECT_EQ(happened_, "");
}

TEST_F(RecoveryRequestsTest, OnceItIsStoppedNothingIsStored) {
  Ask("a", {ServerAt(1)});
  recovery_.Stop();
  Say();
  EXPECT_TRUE(played_.commits.empty());
  EXPECT_EQ(happened_, "begun ");
}

}  // namespace
}  // namespace arion
