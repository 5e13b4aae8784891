// Each promise has effects that break it.
// SPDX-License-Identifier: Apache-2.0
#include "pacifica/promises.h"

#include <gtest/gtest.h>

#include "tests/pacifica/harness.h"

namespace arion {
namespace {

class PromisesDeathTest : public testing::Test {
 protected:
  PromisesDeathTest() {
    s_.ballot = Ballot(7);
    s_.list.Reset(Decree(10));
    s_.last_applied = s_.last_handed = Decree(10);
    const auto mutation = std::make_shared<Mutation>();
    mutation->ballot = Ballot(7);
    mutation->decree = Decree(11);
    s_.list.Put(mutation, PrepareList::LogState::kPending, 1);
  }
  static CoreOptions Options() {
    CoreOptions options;
    options.self = NodeAt('A');
    return options;
  }
  void Acknowledge(Ballot ballot, Decree decree) {
    s_.effects = {};
    PrepareAck ack;
    ack.err = ErrorCode::kOk;
    ack.ballot = ballot;
    ack.decree = decree;
    s_.Reply(1, ack);
  }

  ReplicaState s_{Options()};
};

TEST_F(PromisesDeathTest, WhatIsAcknowledgedIsLogged) {
  Acknowledge(Ballot(7), Decree(10));
  CheckPromises(s_, LearnerStatus::kInvalid);
  Acknowledge(Ballot(7), Decree(11));
  EXPECT_DEATH(CheckPromises(s_, LearnerStatus::kInvalid), "replica_core/P1");
  s_.list.MarkLogged(Decree(11), 1);
  CheckPromises(s_, LearnerStatus::kInvalid);
}

TEST_F(PromisesDeathTest, NothingIsAcknowledgedUnderAnotherBallot) {
  Acknowledge(Ballot(6), Decree(10));
  EXPECT_DEATH(CheckPromises(s_, LearnerStatus::kInvalid), "replica_core/P4");
}

TEST_F(PromisesDeathTest, AClientIsToldWhatIsApplied) {
  s_.effects.client_replies.push_back({1, ErrorCode::kOk, Decree(10)});
  CheckPromises(s_, LearnerStatus::kInvalid);
  s_.effects.client_replies.push_back({2, ErrorCode::kTimeout, kInvalidDecree});
  CheckPromises(s_, LearnerStatus::kInvalid);
  s_.effects.client_replies.push_back({3, ErrorCode::kOk, Decree(11)});
  EXPECT_DEATH(CheckPromises(s_, LearnerStatus::kInvalid), "replica_core/P2");
}

TEST_F(PromisesDeathTest, AFailedReplicaAcknowledgesNothing) {
  s_.role = PartitionStatus::kError;
  Acknowledge(Ballot(7), Decree(10));
  EXPECT_DEATH(CheckPromises(s_, LearnerStatus::kInvalid), "replica_core/P5");
  s_.effects = {};
  s_.effects.client_replies.push_back({1, ErrorCode::kTimeout, kInvalidDecree});
  CheckPromises(s_, LearnerStatus::kInvalid);
  s_.effects.client_replies.push_back({2, ErrorCode::kOk, Decree(10)});
  EXPECT_DEATH(CheckPromises(s_, LearnerStatus::kInvalid), "replica_core/P5");
}

TEST_F(PromisesDeathTest, ALearnerAcknowledgesOnceItHasWhatLiesBelow) {
  s_.role = PartitionStatus::kPotentialSecondary;
  Acknowledge(Ballot(7), Decree(10));
  CheckPromises(s_, LearnerStatus::kWithPrepare);
  CheckPromises(s_, LearnerStatus::kSucceeded);
  EXPECT_DEATH(CheckPromises(s_, LearnerStatus::kWithoutPrepare), "replica_core/P6");
}

TEST_F(PromisesDeathTest, WhatIsSentIsOfThisBallot) {
  SendPrepare prepare;
  prepare.request.config.ballot = Ballot(7);
  prepare.request.mutation = MakeMutation(7, 11, 10, "a");
  s_.effects.send = {prepare};
  CheckPromises(s_, LearnerStatus::kInvalid);
  prepare.request.mutation = MakeMutation(6, 11, 10, "a");
  s_.effects.send = {prepare};
  EXPECT_DEATH(CheckPromises(s_, LearnerStatus::kInvalid), "replica_core/P4");
  SendGroupCheck check;
  check.request.config.ballot = Ballot(6);
  s_.effects.send = {check};
  EXPECT_DEATH(CheckPromises(s_, LearnerStatus::kInvalid), "replica_core/P4");
  SendConfigurationUpdate wish;
  wish.request.config.ballot = Ballot(7);
  s_.effects.send = {wish};
  EXPECT_DEATH(CheckPromises(s_, LearnerStatus::kInvalid), "replica_core/P4");
  wish.request.config.ballot = Ballot(8);
  s_.effects.send = {wish};
  CheckPromises(s_, LearnerStatus::kInvalid);
}

TEST_F(PromisesDeathTest, InvitationsAndRemovalsAreOfThisBallot) {
  SendAddLearner invitation;
  invitation.request.config.ballot = Ballot(6);
  s_.effects.send = {invitation};
  EXPECT_DEATH(CheckPromises(s_, LearnerStatus::kInvalid), "replica_core/P4: invited");
  SendRemove removal;
  removal.config.ballot = Ballot(8);
  s_.effects.send = {removal};
  EXPECT_DEATH(CheckPromises(s_, LearnerStatus::kInvalid), "replica_core/P4: removed");
}

TEST_F(PromisesDeathTest, TheEngineIsHandedConsecutiveCommittedDecrees) {
  s_.effects.apply = {MakeMutation(7, 9, 8, "a"), MakeMutation(7, 10, 9, "b")};
  CheckPromises(s_, LearnerStatus::kInvalid);
  s_.effects.apply = {MakeMutation(7, 8, 7, "a"), MakeMutation(7, 10, 9, "b")};
  EXPECT_DEATH(CheckPromises(s_, LearnerStatus::kInvalid), "replica_core/P3: a hole");
  s_.effects.apply = {MakeMutation(7, 11, 10, "a")};
  EXPECT_DEATH(CheckPromises(s_, LearnerStatus::kInvalid), "replica_core/P3: the engine");
}

TEST_F(PromisesDeathTest, OthersAreToldOfWhatIsCommittedOnly) {
  SendGroupCheck check;
  check.request.config.ballot = Ballot(7);
  check.request.last_committed_decree = Decree(11);
  s_.effects.send = {check};
  EXPECT_DEATH(CheckPromises(s_, LearnerStatus::kInvalid), "replica_core/P3");
  s_.effects = {};
  s_.effects.ship.push_back({.committed = Decree(11)});
  EXPECT_DEATH(CheckPromises(s_, LearnerStatus::kInvalid), "replica_core/P3");
}

}  // namespace
}  // namespace arion
