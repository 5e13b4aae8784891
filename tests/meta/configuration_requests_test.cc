// SPDX-License-Identifier: Apache-2.0
#include "meta/configuration_requests.h"
#include "meta/learner_proof.h"
#include "meta/request_handlers.h"
#include "meta_state/configuration_change.h"
#include "meta_state/failure_detector.h"
#include "meta_state/report_numbers.h"

#include <gtest/gtest.h>

#include "tests/meta/part_fixture.h"

namespace arion {
namespace {

class ConfigurationRequestsTest : public PartFixture {
 protected:
  ConfigurationRequestsTest() {
    requests_.AddTo(handlers_);
    for (const int n : {1, 2, 3}) state_.nodes[ServerAt(n)] = {.alive = true, .collected = true};
    Table& table = state_.tables[1];
    table.info = {.status = AppStatus::kAvailable, .app_id = 1, .partition_count = 1};
    table.partitions.resize(1);
    partition().config = {.pid = {1, 0},
                          .ballot = Ballot(5),
                          .max_replica_count = 3,
                          .primary = ServerAt(1),
                          .secondaries = {ServerAt(2), ServerAt(3)}};
    for (const int n : {1, 2, 3}) partition().serving.insert(ServerAt(n));
  }
  Partition& partition() { return state_.tables[1].partitions[0]; }
  // The primary asks to remove server 3.
  void AskToRemove(const std::string& who) {
    ConfigurationUpdateRequest update{.info = state_.tables[1].info,
                                      .config = partition().config,
                                      .type = ConfigType::kRemove,
                                      .node = ServerAt(3)};
    ++update.config.ballot;
    std::erase(update.config.secondaries, ServerAt(3));
    OnStrand([&] {
      InboundRequest request = RequestFor(who, EncodeWrapped(update));
      request.header.from = ServerAt(1);
      (*handlers_.Find(kRpcUpdateConfiguration))(request);
    });
  }
  std::optional<ErrorCode> Heard(const std::string& who) {
    const auto answer = Answered<ConfigurationUpdateResponse>(who);
    return answer ? std::optional(answer->err) : std::nullopt;
  }

  ClusterState state_;
  FailureDetector detector_{FailureDetector::Options{}};
  ReportNumbers numbers_{7};
  MetaServerOptions options_;
  Counter stored_;
  std::string happened_;
  LearnerProof learners_{{.state = state_,
                          .transport = transport_,
                          .codec = codec_,
                          .clock = env_.clock(),
                          .strand = strand_,
                          .life = owner_life_},
                         [this](PartitionId pid) { requests_.JudgeHeld(pid); }};
  ConfigurationRequests requests_{{.state = state_,
                                   .detector = detector_,
                                   .numbers = numbers_,
                                   .store = store_,
                                   .learners = learners_,
                                   .options = options_,
                                   .codec = codec_,
                                   .clock = env_.clock(),
                                   .changes = stored_},
                                  {.settled = [this](int32_t) { happened_ += "settled "; },
                                   .plan = [this] { happened_ += "plan "; }}};
  RequestHandlers handlers_;
};

TEST_F(ConfigurationRequestsTest, IsStoredThenShownThenAnswered) {
  AskToRemove("a");
  EXPECT_TRUE(partition().pending.has_value());
  EXPECT_EQ(partition().config.ballot, Ballot(5));
  EXPECT_FALSE(Heard("a").has_value());
  ASSERT_EQ(played_.commits.size(), 1u);
  EXPECT_EQ(played_.commits[0].need, StoreNeed::kToServe);
  AnswerStore();
  EXPECT_EQ(partition().config.ballot, Ballot(6));
  EXPECT_EQ(partition().older_reports, 7);
  EXPECT_EQ(Heard("a"), ErrorCode::kOk);
  EXPECT_EQ(happened_, "settled plan ");
  EXPECT_EQ(stored_.value(), 1);
}

TEST_F(ConfigurationRequestsTest, WhoAsksMeanwhileIsJudgedWhenItIsStored) {
  AskToRemove("a");
  AskToRemove("b");
  EXPECT_EQ(played_.commits.size(), 1u);
  EXPECT_FALSE(Heard("b").has_value());
  AnswerStore();
  EXPECT_EQ(Heard("b"), ErrorCode::kOk) << "a repetition";
}

TEST_F(ConfigurationRequestsTest, WhatCanNotBeWrittenIsGivenUpAndTheGuardianWaits) {
  AskToRemove("a");
  AnswerStore(absl::UnavailableError("no"));
  EXPECT_FALSE(partition().pending.has_value());
  EXPECT_EQ(partition().config.ballot, Ballot(5));
  EXPECT_EQ(Heard("a"), ErrorCode::kFileOperationFailed);
  EXPECT_FALSE(store_.CanStore(env_.clock().Now()));
  EXPECT_EQ(happened_, "settled plan ");
}

TEST_F(ConfigurationRequestsTest, AfterAFailedSyncItStaysPendingAndNobodyIsAnswered) {
  AskToRemove("a");
  AnswerStore(absl::DataLossError("sync"));
  EXPECT_TRUE(partition().pending.has_value());
  EXPECT_FALSE(Heard("a").has_value());
  EXPECT_EQ(happened_, "");
}

TEST_F(ConfigurationRequestsTest, TheGuardiansOwnAreStoredTheSameWay) {
  OnStrand([&] { requests_.Store(partition(), WithoutPrimary(partition().config)); });
  AnswerStore();
  EXPECT_FALSE(partition().config.primary.IsValid());
  EXPECT_DEATH(requests_.Store(partition(), partition().config), "ballot|primary");
}

TEST_F(ConfigurationRequestsTest, WhomItIsAboutRestartedMeanwhile) {
  AskToRemove("a");
  state_.nodes[ServerAt(3)].incarnation = 1;
  AnswerStore();
  EXPECT_EQ(Heard("a"), ErrorCode::kOk);
  EXPECT_FALSE(partition().serving.contains(ServerAt(3)));
}

}  // namespace
}  // namespace arion
