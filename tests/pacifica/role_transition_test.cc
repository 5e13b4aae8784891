// SPDX-License-Identifier: Apache-2.0
#include "pacifica/role_transition.h"

#include <gtest/gtest.h>

namespace arion {
namespace {

using enum PartitionStatus;
using enum TransitionVerdict;

TransitionVerdict Judge(PartitionStatus from, PartitionStatus to, int64_t ballot,
                        Inactivity inactivity = Inactivity::kTransient) {
  return JudgeTransition({from, Ballot(7), inactivity}, to, Ballot(ballot));
}

TEST(RoleTransitionTest, ASmallerBallotIsRefusedWhateverItSays) {
  for (PartitionStatus from : {kPrimary, kSecondary, kPotentialSecondary, kInactive, kError}) {
    for (PartitionStatus to : {kPrimary, kSecondary, kPotentialSecondary, kInactive}) {
      EXPECT_EQ(Judge(from, to, 6), kRefuse);
    }
  }
}

TEST(RoleTransitionTest, TheSameAgainIsNoChange) {
  for (PartitionStatus role : {kPrimary, kSecondary, kPotentialSecondary, kInactive}) {
    EXPECT_EQ(Judge(role, role, 7), kNoChange);
  }
}

TEST(RoleTransitionTest, TheTableUnderALargerBallot) {
  EXPECT_EQ(Judge(kPrimary, kPrimary, 8), kAccept);
  EXPECT_EQ(Judge(kPrimary, kSecondary, 8), kAccept);
  EXPECT_EQ(Judge(kPrimary, kPotentialSecondary, 8), kRefuse);
  EXPECT_EQ(Judge(kPrimary, kInactive, 8), kAccept);
  EXPECT_EQ(Judge(kSecondary, kPrimary, 8), kAccept);
  EXPECT_EQ(Judge(kSecondary, kSecondary, 8), kAccept);
  EXPECT_EQ(Judge(kSecondary, kPotentialSecondary, 8), kAccept);
  EXPECT_EQ(Judge(kSecondary, kInactive, 8), kAccept);
  EXPECT_EQ(Judge(kPotentialSecondary, kPrimary, 8), kRefuse);
  EXPECT_EQ(Judge(kPotentialSecondary, kSecondary, 8), kAccept);
  EXPECT_EQ(Judge(kPotentialSecondary, kPotentialSecondary, 8), kAccept);
  EXPECT_EQ(Judge(kPotentialSecondary, kInactive, 8), kAccept);
  EXPECT_EQ(Judge(kInactive, kPotentialSecondary, 8), kAccept);
  EXPECT_EQ(Judge(kInactive, kInactive, 8), kAccept);
}

TEST(RoleTransitionTest, OnlyATransientOneReturnsToTheGroup) {
  EXPECT_EQ(Judge(kInactive, kPrimary, 8, Inactivity::kTransient), kAccept);
  EXPECT_EQ(Judge(kInactive, kSecondary, 8, Inactivity::kTransient), kAccept);
  EXPECT_EQ(Judge(kInactive, kPrimary, 8, Inactivity::kRemoved), kRefuse);
  EXPECT_EQ(Judge(kInactive, kSecondary, 8, Inactivity::kRemoved), kRefuse);
  EXPECT_EQ(Judge(kInactive, kPotentialSecondary, 8, Inactivity::kRemoved), kAccept);
}

TEST(RoleTransitionTest, WhatTheSameBallotAllows) {
  EXPECT_EQ(Judge(kInactive, kPotentialSecondary, 7), kAccept);
  EXPECT_EQ(Judge(kPotentialSecondary, kSecondary, 7), kAccept);
  EXPECT_EQ(Judge(kInactive, kSecondary, 7), kAccept);
  EXPECT_EQ(Judge(kInactive, kPrimary, 7), kAccept);
  EXPECT_EQ(Judge(kPrimary, kSecondary, 7), kRefuse);
  EXPECT_EQ(Judge(kSecondary, kPrimary, 7), kRefuse);
  EXPECT_EQ(Judge(kSecondary, kPotentialSecondary, 7), kRefuse);
  EXPECT_EQ(Judge(kPotentialSecondary, kInactive, 7), kRefuse);
  EXPECT_EQ(Judge(kPrimary, kInactive, 7), kRefuse);
}

TEST(RoleTransitionTest, ErrorAndSplitAreNoConfigurationsToAdopt) {
  for (PartitionStatus from : {kPrimary, kSecondary, kPotentialSecondary, kInactive}) {
    for (PartitionStatus to : {kError, kSplit, kInvalid}) {
      EXPECT_EQ(Judge(from, to, 7), kRefuse);
      EXPECT_EQ(Judge(from, to, 8), kRefuse);
    }
  }
}

TEST(RoleTransitionTest, ErrorIsTheEnd) {
  for (PartitionStatus to : {kPrimary, kSecondary, kPotentialSecondary, kInactive}) {
    EXPECT_EQ(Judge(kError, to, 8), kRefuse);
  }
}

}  // namespace
}  // namespace arion
