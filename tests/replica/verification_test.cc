// Whole servers whose copies are compared; one of them is changed behind its back.
// SPDX-License-Identifier: Apache-2.0
#include "verification/verification.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "base/crc.h"
#include "server_world.h"
#include "verification/content_count.h"
#include "verification/verification_book.h"

namespace arion {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

class VerificationTest : public ReplicaServerWorld {
 protected:
  // Keys of this partition.
  static std::string Key(int i) {
    for (int n = 0;; ++n) {
      std::string key = JoinRawKey("hash" + std::to_string(n), "sort" + std::to_string(i));
      if (PartitionHash(key) % 4 == static_cast<uint64_t>(kPid.index)) return key;
    }
  }
  ErrorCode Put(Server& server, int i, std::string value) {
    const RpcResult result =
        Call(server, kRpcPut, EncodeWrapped(UpdateRequest{Key(i), std::move(value)}));
    if (result.error == ErrorCode::kOk)
      last_decree_ = Decree(DecodeWrapped<UpdateResponse>(result.body)->decree);
    return result.error;
  }
  // The first is primary; they hold `records`.
  void Fill(int members, int records) {
    for (int i = 0; i < members; ++i) AddServer();
    ASSERT_TRUE(MakePrimary(*servers_[0]));
    for (int i = 1; i < members; ++i) ASSERT_TRUE(AddSecondary(*servers_[0], *servers_[i]));
    for (int i = 0; i < records; ++i)
      ASSERT_EQ(Put(*servers_[0], i, "v" + std::to_string(i)), ErrorCode::kOk);
    // Until the secondaries have applied them.
    world_.RunFor(ApplyQueue::kGatheredFor);
  }
  std::string DataOf(Server& server) { return Snapshot(server).directory + "/data"; }
  void Change(Server& server, int i, std::optional<std::string> value) {
    ASSERT_EQ(server.engines->ChangeSilently(DataOf(server), Key(i), std::move(value)), Key(i));
  }
  VerifyReplicasResponse Ask(Server& server, VerifyAction action) {
    const RpcResult result =
        Call(server, kRpcVerifyReplicas,
             EncodeWrapped(VerifyReplicasRequest{.pid = kPid, .action = action}));
    EXPECT_EQ(result.error, ErrorCode::kOk);
    const auto response = DecodeWrapped<VerifyReplicasResponse>(result.body);
    EXPECT_TRUE(response.ok());
    return response.value_or(VerifyReplicasResponse{});
  }
  VerifyReplicasResponse Verify(
      Server& server, std::function<void()> meanwhile = [] {}) {
    const int64_t before = Ask(server, VerifyAction::kQuery).run;
    EXPECT_EQ(Ask(server, VerifyAction::kStart).err, ErrorCode::kOk);
    for (int i = 0; i < 600; ++i) {
      meanwhile();
      world_.RunFor(absl::Milliseconds(100));
      VerifyReplicasResponse now = Ask(server, VerifyAction::kQuery);
      if (now.state == VerificationState::kDone && now.run != before) return now;
    }
    ADD_FAILURE() << "not verified in time";
    return {};
  }
  bool IsSetAside(Server& server) { return CountDirectories(server, ".err") > 0; }
};

TEST_F(VerificationTest, EqualCopiesOfAnIdlePartitionAreFoundEqual) {
  ASSERT_NO_FATAL_FAILURE(Fill(3, 30));
  const VerifyReplicasResponse result = Verify(*servers_[0]);
  EXPECT_EQ(result.verdict, ContentVerdictKind::kEqual) << result.why;
  EXPECT_GE(result.decree, last_decree_);
  ASSERT_THAT(result.members, SizeIs(3));
  for (const VerifiedMember& member : result.members) {
    EXPECT_EQ(member.records, 30);
    EXPECT_EQ(member.sum, result.members[0].sum);
  }
  for (const auto& server : servers_) EXPECT_FALSE(IsSetAside(*server));
}

TEST_F(VerificationTest, CopiesAreComparedAtOneDecreeWhileWritesGoOn) {
  ASSERT_NO_FATAL_FAILURE(Fill(3, 30));
  int written = 0;
  const VerifyReplicasResponse result = Verify(*servers_[0], [&] {
    for (int i = 0; i < 20; ++i, ++written)
      ASSERT_EQ(Put(*servers_[0], written % 40, "w" + std::to_string(written)), ErrorCode::kOk);
  });
  EXPECT_EQ(result.verdict, ContentVerdictKind::kEqual) << result.why;
  EXPECT_GT(written, 20);
}

TEST_F(VerificationTest, ASecondaryThatDiffersSetsItselfAsideAndNobodyElse) {
  ASSERT_NO_FATAL_FAILURE(Fill(3, 30));
  ASSERT_NO_FATAL_FAILURE(Change(*servers_[2], 7, "spoiled"));
  const VerifyReplicasResponse result = Verify(*servers_[0]);
  EXPECT_EQ(result.verdict, ContentVerdictKind::kMajority) << result.why;
  ASSERT_THAT(result.members, SizeIs(3));
  for (const VerifiedMember& member : result.members)
    EXPECT_EQ(member.differs, member.node == servers_[2]->address);
  ASSERT_THAT(result.ranges, SizeIs(1));
  EXPECT_EQ(result.ranges[0].first, Key(7));
  world_.RunFor(absl::Seconds(1));
  EXPECT_TRUE(IsSetAside(*servers_[2]));
  EXPECT_FALSE(IsSetAside(*servers_[0]));
  EXPECT_FALSE(IsSetAside(*servers_[1]));

  // Its primary asks it once in a group check, and goes on without it.
  world_.RunFor(options_.group_check_interval);
  ASSERT_TRUE(AddSecondary(*servers_[0], *servers_[2]));
  EXPECT_EQ(Verify(*servers_[0]).verdict, ContentVerdictKind::kEqual);
}

TEST_F(VerificationTest, APrimaryThatDiffersSetsItselfAside) {
  ASSERT_NO_FATAL_FAILURE(Fill(3, 30));
  ASSERT_NO_FATAL_FAILURE(Change(*servers_[0], 7, std::nullopt));
  const VerifyReplicasResponse result = Verify(*servers_[0]);
  EXPECT_EQ(result.verdict, ContentVerdictKind::kMajority) << result.why;
  world_.RunFor(absl::Seconds(1));
  EXPECT_TRUE(IsSetAside(*servers_[0]));
  EXPECT_FALSE(IsSetAside(*servers_[1]));
  EXPECT_FALSE(IsSetAside(*servers_[2]));
  EXPECT_EQ(Ask(*servers_[0], VerifyAction::kQuery).run, result.run) << "it is told afterwards too";
}

TEST_F(VerificationTest, OfTwoCopiesThatDifferNoneIsSetAside) {
  ASSERT_NO_FATAL_FAILURE(Fill(2, 30));
  ASSERT_NO_FATAL_FAILURE(Change(*servers_[1], 7, "spoiled"));
  const VerifyReplicasResponse result = Verify(*servers_[0]);
  EXPECT_EQ(result.verdict, ContentVerdictKind::kUndecided) << result.why;
  EXPECT_THAT(result.ranges, SizeIs(1));
  world_.RunFor(absl::Seconds(5));
  for (const auto& server : servers_) EXPECT_FALSE(IsSetAside(*server));
}

TEST_F(VerificationTest, OfThreeThatAllDifferNoneIsSetAside) {
  ASSERT_NO_FATAL_FAILURE(Fill(3, 30));
  ASSERT_NO_FATAL_FAILURE(Change(*servers_[1], 7, "spoiled"));
  ASSERT_NO_FATAL_FAILURE(Change(*servers_[2], 9, std::nullopt));
  EXPECT_EQ(Verify(*servers_[0]).verdict, ContentVerdictKind::kUndecided);
  world_.RunFor(absl::Seconds(5));
  for (const auto& server : servers_) EXPECT_FALSE(IsSetAside(*server));
}

TEST_F(VerificationTest, OneCopyAloneIsNotVerified) {
  meta_.SetReplicaCount(1);
  options_.mutation_2pc_min_replica_count = 1;
  ASSERT_NO_FATAL_FAILURE(Fill(1, 3));
  const VerifyReplicasResponse result = Verify(*servers_[0]);
  EXPECT_EQ(result.verdict, ContentVerdictKind::kUnverified);
  EXPECT_FALSE(result.why.empty());
}

TEST_F(VerificationTest, AMemberWhoseClockIsOffIsNotCounted) {
  ASSERT_NO_FATAL_FAILURE(Fill(3, 3));
  servers_[1]->node.JumpWall(absl::Hours(1));
  servers_[1]->node.agreed().Forget();  // no meta server tells it the time
  const VerifyReplicasResponse result = Verify(*servers_[0]);
  EXPECT_EQ(result.verdict, ContentVerdictKind::kUnverified);
  EXPECT_THAT(result.why, testing::HasSubstr("clock"));
}

TEST_F(VerificationTest, ATableWithCompactionRulesIsPassedOver) {
  meta_.app().envs["user_specified_compaction"] = "{}";
  ASSERT_NO_FATAL_FAILURE(Fill(3, 3));
  const VerifyReplicasResponse result = Verify(*servers_[0]);
  EXPECT_EQ(result.verdict, ContentVerdictKind::kUnverified);
  EXPECT_THAT(result.why, testing::HasSubstr("user_specified_compaction"));
}

// Nobody is told to go: who is not of the run, or counted what most have, stays.
TEST_F(VerificationTest, AVerdictOfARunThatTheMemberDoesNotKnowChangesNothing) {
  ASSERT_NO_FATAL_FAILURE(Fill(3, 30));
  const CountContentRequest verdict{.pid = kPid,
                                    .ballot = Snapshot(*servers_[0]).ballot,
                                    .primary = servers_[0]->address,
                                    .run = 77,
                                    .decree = last_decree_,
                                    .verdict = ContentVerdictKind::kMajority,
                                    .records = 1,
                                    .sum = 1};
  Call(*servers_[1], kRpcCountContent, EncodeWrapped(verdict));
  world_.RunFor(absl::Seconds(2));
  EXPECT_FALSE(IsSetAside(*servers_[1]));
}

TEST_F(VerificationTest, WhatNoCorrectPrimaryAsksForIsRefused) {
  ASSERT_NO_FATAL_FAILURE(Fill(3, 30));
  const int64_t now = ExpiryNow(servers_[1]->node.environment().clock());
  for (const int64_t at : {INT64_MIN, int64_t{-1}, now, INT64_MAX})
    for (const int64_t decree : {INT64_MIN, int64_t{-1}, int64_t{0}, int64_t{1}, INT64_MAX})
      for (const int64_t run : {int64_t{-1}, int64_t{0}, INT64_MAX}) {
        const CountContentRequest request{.pid = kPid,
                                          .ballot = Snapshot(*servers_[0]).ballot,
                                          .primary = servers_[0]->address,
                                          .run = run,
                                          .decree = Decree(decree),
                                          .now = at};
        Call(*servers_[1], kRpcCountContent, EncodeWrapped(request));
      }
  CountContentRequest of_another{
      .pid = kPid, .ballot = Ballot(99), .primary = servers_[2]->address};
  const auto answer = DecodeWrapped<CountContentResponse>(
      Call(*servers_[1], kRpcCountContent, EncodeWrapped(of_another)).body);
  EXPECT_EQ(answer->err, ErrorCode::kInvalidState);
  EXPECT_EQ(Verify(*servers_[0]).verdict, ContentVerdictKind::kEqual);
}

TEST_F(VerificationTest, EachPartitionIsVerifiedOnceInAnInterval) {
  options_.verify_interval = absl::Minutes(2);
  ASSERT_NO_FATAL_FAILURE(Fill(3, 30));
  world_.RunFor(absl::Minutes(5));
  EXPECT_EQ(Ask(*servers_[0], VerifyAction::kQuery).verdict, ContentVerdictKind::kEqual);
}

TEST_F(VerificationTest, WithoutAnIntervalNothingIsVerifiedUnasked) {
  options_.verify_interval = absl::ZeroDuration();
  ASSERT_NO_FATAL_FAILURE(Fill(3, 30));
  world_.RunFor(absl::Hours(1));
  EXPECT_EQ(Ask(*servers_[0], VerifyAction::kQuery).state, VerificationState::kNever);
}

}  // namespace
}  // namespace arion
