// SPDX-License-Identifier: Apache-2.0
#include "meta/learner_proof.h"

#include <gtest/gtest.h>

#include "messages/tool_messages.h"
#include "meta_state/replica_reports.h"
#include "tests/meta/part_fixture.h"

namespace arion {
namespace {

// Server 1, of 2.5.0, leads alone under ballot 5 and wants 2 as a member.
class LearnerProofTest : public PartFixture {
 protected:
  using Answer = LearnerProof::Answer;

  LearnerProofTest() {
    for (const int n : {1, 2}) state_.nodes[ServerAt(n)] = {.alive = true, .collected = true};
    state_.nodes[ServerAt(1)].is_older = true;
    Table& table = state_.tables[1];
    table.info = {.status = AppStatus::kAvailable, .app_id = 1, .partition_count = 1};
    table.partitions.resize(1);
    table.partitions[0].config = {
        .pid = kPid, .ballot = Ballot(5), .max_replica_count = 3, .primary = ServerAt(1)};
    update_ = {.info = table.info,
               .config = table.partitions[0].config,
               .type = ConfigType::kUpgradeToSecondary,
               .node = ServerAt(2)};
    ++update_.config.ballot;
    update_.config.secondaries = {ServerAt(2)};
    update_.config.last_committed_decree = Decree(332);
  }
  void Reports(PartitionStatus status, int64_t prepared) {
    NoteReports(
        state_,
        {.node = ServerAt(1),
         .stored_replicas = std::vector{ReplicaInfo{.pid = kPid,
                                                    .ballot = Ballot(5),
                                                    .status = status,
                                                    .last_prepared_decree = Decree(prepared)}}},
        0, absl::Seconds(10), env_.clock().Now());
  }
  Answer Judge() {
    Answer answer{};
    OnStrand([&] { answer = proof_.Judge(update_); });
    return answer;
  }
  // What the server that was asked first has prepared.
  void Says(int n, int64_t prepared) {
    ASSERT_FALSE(transport_.called.empty());
    EXPECT_EQ(transport_.called.front().to, ServerAt(n));
    EXPECT_EQ(transport_.called.front().request.name, kRpcQueryReplicaInfo);
    AnswerCall({.body = EncodeWrapped(QueryReplicaInfoResponse{
                    .replicas = {{.pid = {1, 1}, .last_prepared_decree = Decree(9999)},
                                 {.pid = kPid, .last_prepared_decree = Decree(prepared)}}})});
  }

  static constexpr PartitionId kPid{1, 0};
  ClusterState state_;
  ConfigurationUpdateRequest update_;
  int times_known_ = 0;
  // As ConfigurationRequests does with what it holds.
  Answer judged_ = Answer::kAsked;
  LearnerProof proof_{{.state = state_,
                       .transport = transport_,
                       .codec = codec_,
                       .clock = env_.clock(),
                       .strand = strand_,
                       .life = owner_life_},
                      [this](PartitionId) {
                        ++times_known_;
                        judged_ = proof_.Judge(update_);
                      }};
};

TEST_F(LearnerProofTest, WhatIsNoLearnerOfAnOlderPrimaryNeedsNone) {
  update_.type = ConfigType::kRemove;
  EXPECT_EQ(Judge(), Answer::kHoldsAll);
  update_.type = ConfigType::kUpgradeToSecondary;
  state_.nodes[ServerAt(1)].is_older = false;
  EXPECT_EQ(Judge(), Answer::kHoldsAll);
  EXPECT_TRUE(transport_.called.empty());
}

TEST_F(LearnerProofTest, WhatItReportedAsPrimaryAndHasCommittedIsEnough) {
  Reports(PartitionStatus::kPrimary, 332);
  EXPECT_EQ(Judge(), Answer::kHoldsAll);
  Reports(PartitionStatus::kPrimary, 333);
  EXPECT_EQ(Judge(), Answer::kAsked);
}

TEST_F(LearnerProofTest, BeforeItLedItMayHaveHadLess) {
  Reports(PartitionStatus::kInactive, 332);
  EXPECT_EQ(Judge(), Answer::kAsked);
}

// Seen in simulation (113000824, and 7000505 of its family): the learner had one of fifteen, both
// servers crashed, and it led.
TEST_F(LearnerProofTest, TheLearnerIsAskedUntilItHasPreparedAsMuch) {
  EXPECT_EQ(Judge(), Answer::kAsked);
  EXPECT_EQ(Judge(), Answer::kAsked) << "a repetition";
  EXPECT_EQ(transport_.called.size(), 2u) << "asked once at a time";
  Says(1, 347);
  Says(2, 333);
  EXPECT_EQ(times_known_, 0);
  world_.RunFor(absl::Milliseconds(20));
  Says(2, 347);
  EXPECT_EQ(times_known_, 1);
  EXPECT_EQ(judged_, Answer::kHoldsAll);
  world_.RunFor(absl::Seconds(2));
  EXPECT_TRUE(transport_.called.empty());
  EXPECT_EQ(Judge(), Answer::kAsked) << "what was told was of that moment";
}

TEST_F(LearnerProofTest, OneThatDoesNotGetThereStaysALearner) {
  EXPECT_EQ(Judge(), Answer::kAsked);
  Says(1, 347);
  Says(2, 333);
  world_.RunFor(absl::Seconds(1));
  AnswerCall({.error = ErrorCode::kTimeout});
  EXPECT_EQ(judged_, Answer::kUnknown);
  world_.RunFor(absl::Seconds(2));
  EXPECT_TRUE(transport_.called.empty());
}

}  // namespace
}  // namespace arion
