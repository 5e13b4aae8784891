// SPDX-License-Identifier: Apache-2.0
#include "meta_judgement/balance_request.h"
#include "messages/admin_messages.h"

#include <gtest/gtest.h>

#include "tests/meta/one_partition.h"

namespace arion {
namespace {

class BalanceRequestTest : public OnePartitionTest {
 protected:
  BalanceRequestTest() { Members(kA, {kB, kC}); }

  static ProposedAction Step(ConfigType type, Endpoint target, Endpoint node) {
    return {.target = target, .node = node, .type = type};
  }
  // kA hands over to kB.
  static std::vector<ProposedAction> HandOver() {
    return {Step(ConfigType::kDowngradeToSecondary, kA, kA),
            Step(ConfigType::kUpgradeToPrimary, kB, kB)};
  }
  BalanceJudgement Judge(std::vector<ProposedAction> actions) {
    request_.actions = std::move(actions);
    return JudgeBalanceRequest(state_, {}, request_, now_);
  }
  void ExpectRefused(std::vector<ProposedAction> actions, const std::string& reason) {
    const BalanceJudgement judged = Judge(std::move(actions));
    EXPECT_EQ(judged.error, ErrorCode::kInvalidParameters);
    EXPECT_EQ(judged.reason, reason);
  }

  ProposeBalancerRequest request_{.pid = kPid};
};

TEST_F(BalanceRequestTest, APlanIsKeptStepByStepInItsOrder) {
  const BalanceJudgement judged = Judge(HandOver());
  EXPECT_EQ(judged.error, ErrorCode::kOk) << judged.reason;
  ASSERT_EQ(judged.planned.size(), 2u);
  EXPECT_EQ(judged.planned[0].type, ConfigType::kDowngradeToSecondary);
  EXPECT_EQ(judged.planned[0].target, kA);
  EXPECT_EQ(judged.planned[0].node, kA);
  EXPECT_EQ(judged.planned[1].type, ConfigType::kUpgradeToPrimary);
  EXPECT_EQ(judged.planned[1].target, kB);
  EXPECT_EQ(judged.planned[1].node, kB);
}

TEST_F(BalanceRequestTest, OfATableOrPartitionThatIsNotThereNothingIsPlanned) {
  request_.pid = {2, 0};
  EXPECT_EQ(Judge(HandOver()).error, ErrorCode::kAppNotExist);
  request_.pid = {1, 1};
  ExpectRefused(HandOver(), "there is no such partition");
  request_.pid = kPid;
  state_.tables[1].info.status = AppStatus::kDropped;
  ExpectRefused(HandOver(), "the table is not available");
}

TEST_F(BalanceRequestTest, APlanHasOneToSixteenSteps) {
  const std::string reason = "it has no steps, or too many";
  ExpectRefused({}, reason);
  std::vector<ProposedAction> many(16, Step(ConfigType::kDowngradeToSecondary, kA, kA));
  EXPECT_EQ(Judge(many).planned.size(), 16u);
  many.push_back(many.front());
  ExpectRefused(many, reason);
}

TEST_F(BalanceRequestTest, AnEarlierPlanStaysUnlessForced) {
  partition().planned = {{.type = ConfigType::kRemove, .target = kA, .node = kC}};
  ExpectRefused(HandOver(), "an earlier plan is still being carried out");
  request_.force = false;
  ExpectRefused(HandOver(), "an earlier plan is still being carried out");
  request_.force = true;
  EXPECT_EQ(Judge(HandOver()).error, ErrorCode::kOk);
}

TEST_F(BalanceRequestTest, OneStepThatIsNoneRefusesTheWholePlan) {
  for (const ConfigType type : {ConfigType::kInvalid, ConfigType::kUpgradeToSecondary}) {
    std::vector<ProposedAction> actions = HandOver();
    actions.push_back(Step(type, kA, kB));
    ExpectRefused(actions, "a step's type is not one of a plan");
    EXPECT_TRUE(Judge(actions).planned.empty());
  }
  std::vector<ProposedAction> actions = HandOver();
  actions[1].node = {};
  ExpectRefused(actions, "a step names no server");
}

TEST_F(BalanceRequestTest, WithoutATargetAStepIsForThePrimaryIfThereIsOne) {
  const std::vector<ProposedAction> steps = {Step(ConfigType::kDowngradeToSecondary, {}, kA)};
  EXPECT_EQ(Judge(steps).error, ErrorCode::kOk);
  Members({}, {kB, kC});
  ExpectRefused(steps, "a step is for the primary, and there is none");
}

TEST_F(BalanceRequestTest, TheFirstStepMustApplyUnlessAChangeIsBeingStored) {
  // kD is no member, so it can't be upgraded.
  const std::vector<ProposedAction> steps = {Step(ConfigType::kUpgradeToPrimary, kD, kD)};
  ExpectRefused(steps, "its first step does not apply to the partition as it is");
  partition().pending = partition().config;
  EXPECT_EQ(Judge(steps).error, ErrorCode::kOk) << "judged when the change is stored";
}

TEST_F(BalanceRequestTest, NothingIsPlannedForAChildThatIsNotRegistered) {
  partition().config = {.pid = kPid, .ballot = kBallotOfUnregistered, .max_replica_count = 3};
  ExpectRefused({Step(ConfigType::kAssignPrimary, kA, kA)}, "there is no such partition");
}

}  // namespace
}  // namespace arion
