// What is counted as rare: told from prepares, answers and stored configurations. SPDX-License-Identifier: Apache-2.0
#include "sim_checkers/coverage.h"
#include "messages/replication_messages.h"

#include <gtest/gtest.h>

#include <set>

namespace arion::sim {
namespace {

constexpr PartitionId kCovered{2, 0};
constexpr Endpoint kLeader{1, 34801}, kFollower{2, 34801}, kThird{3, 34801};

class CoverageTest : public testing::Test {
 protected:
  int64_t Count(Probe probe) const { return coverage_.counts()[static_cast<size_t>(probe)]; }
  void Prepare(int64_t ballot, int64_t decree, Endpoint from = kLeader, Endpoint to = kFollower,
               PartitionStatus as = PartitionStatus::kSecondary,
               std::vector<Update> updates = {{WriteCode::kPut, 1, "x"}}) {
    PrepareRequest request;
    request.pid = kCovered;
    request.config.ballot = Ballot(ballot);
    request.config.status = as;
    request.mutation = std::make_shared<const Mutation>(
        Mutation{.decree = Decree(decree), .updates = std::move(updates)});
    coverage_.Prepared(from, to, request);
  }
  void Store(int64_t ballot, Endpoint primary, std::vector<Endpoint> secondaries) {
    PartitionConfiguration config;
    config.pid = kCovered;
    config.ballot = Ballot(ballot);
    config.primary = primary;
    config.secondaries = std::move(secondaries);
    coverage_.Stored(config);
  }
  Coverage coverage_;
};

TEST_F(CoverageTest, EachProbeHasANameOfItsOwn) {
  std::set<std::string> names;
  for (int i = 0; i < kProbeCount; ++i) names.insert(ProbeName(static_cast<Probe>(i)));
  EXPECT_EQ(names.size(), static_cast<size_t>(kProbeCount));
}

TEST_F(CoverageTest, APrepareSentAgainUnderItsBallotWasLost) {
  Prepare(3, 1);
  Prepare(3, 2);
  EXPECT_EQ(Count(Probe::kPrepareTimedOutOrLost), 0);
  Prepare(3, 2);
  EXPECT_EQ(Count(Probe::kPrepareTimedOutOrLost), 1);
  Prepare(3, 2, kLeader, kThird);
  EXPECT_EQ(Count(Probe::kPrepareTimedOutOrLost), 1) << "to another";
}

TEST_F(CoverageTest, ANewPrimaryThatPreparesAgainReconciles) {
  for (int64_t decree = 1; decree <= 3; ++decree) Prepare(3, decree);
  Prepare(4, 1, kFollower, kThird);
  EXPECT_EQ(Count(Probe::kReconciliation), 1);
  Prepare(4, 2, kFollower, kThird);
  EXPECT_EQ(Count(Probe::kReconciliationOfMany), 0);
  Prepare(4, 3, kFollower, kThird, PartitionStatus::kSecondary, {{WriteCode::kEmpty, 1, ""}});
  EXPECT_EQ(Count(Probe::kReconciliationOfMany), 1);
  EXPECT_EQ(Count(Probe::kHoleFilled), 1);
  Prepare(4, 4, kFollower, kThird, PartitionStatus::kSecondary, {{WriteCode::kEmpty, 1, ""}});
  EXPECT_EQ(Count(Probe::kHoleFilled), 1) << "a new decree fills no hole";
}

TEST_F(CoverageTest, AFormerPrimaryThatDoesNotKnowYetCountsForNothing) {
  Prepare(4, 1, kFollower, kThird);
  const ProbeCounts before = coverage_.counts();
  Prepare(3, 1);
  EXPECT_EQ(coverage_.counts(), before);
}

TEST_F(CoverageTest, RolesAreTakenFromWhoPreparesForWhom) {
  for (Endpoint server : {kLeader, kFollower, kThird})
    coverage_.Opened(server, kCovered, Decree(0));
  EXPECT_EQ(Count(Probe::kReplicaOpenedAgain), 0);
  Prepare(3, 1);
  EXPECT_EQ(Count(Probe::kInactiveToPrimary), 1);
  EXPECT_EQ(Count(Probe::kInactiveToSecondary), 1);
  coverage_.LearnAsked(kThird, kCovered);
  EXPECT_EQ(Count(Probe::kInactiveToLearner), 1);
  Prepare(3, 2, kLeader, kThird, PartitionStatus::kPotentialSecondary);
  EXPECT_EQ(Count(Probe::kLearnerTakesPrepares), 1);
  Prepare(4, 3, kFollower, kThird);
  EXPECT_EQ(Count(Probe::kSecondaryToPrimary), 1);
  EXPECT_EQ(Count(Probe::kLearnerToSecondary), 1);
  coverage_.Died(kFollower);
  EXPECT_EQ(Count(Probe::kPrimaryToInactive), 1);
  coverage_.Opened(kFollower, kCovered, Decree(3));
  EXPECT_EQ(Count(Probe::kReplicaOpenedAgain), 1);
}

TEST_F(CoverageTest, AnAnswerToALearnerCountsByItsKind) {
  coverage_.LearnAnswered({.err = ErrorCode::kInvalidState, .type = LearnType::kLog});
  EXPECT_EQ(Count(Probe::kLearnRefused), 1);
  EXPECT_EQ(Count(Probe::kLearnFromLog), 0);
  coverage_.LearnAnswered({.type = LearnType::kCache});
  coverage_.LearnAnswered({.type = LearnType::kLog});
  coverage_.LearnAnswered({.type = LearnType::kApp});
  EXPECT_EQ(Count(Probe::kLearnFromCache), 1);
  EXPECT_EQ(Count(Probe::kLearnFromLog), 1);
  EXPECT_EQ(Count(Probe::kLearnFromCheckpoint), 1);
}

TEST_F(CoverageTest, AStoredConfigurationShowsWhatChanged) {
  Store(1, kLeader, {});
  Store(2, kLeader, {kFollower});
  EXPECT_EQ(Count(Probe::kMemberAdded), 1);
  Store(2, kLeader, {});  // loaded again
  EXPECT_EQ(Count(Probe::kMemberRemoved), 0);
  Store(3, kLeader, {kFollower});
  Store(4, kFollower, {});
  EXPECT_EQ(Count(Probe::kPrimaryLost), 1);
  EXPECT_EQ(Count(Probe::kPrimaryUpgraded), 1);
  Store(5, {}, {});
  EXPECT_EQ(Count(Probe::kNobodyLeft), 1);
  EXPECT_EQ(Count(Probe::kPrimaryLost), 2);
}

}  // namespace
}  // namespace arion::sim
