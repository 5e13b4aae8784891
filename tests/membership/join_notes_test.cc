// What is told of a server that joins an older version's cluster. SPDX-License-Identifier: Apache-2.0
#include "membership/join_notes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace arion {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr Endpoint kMeta{0x0a000005, 34601};

// Table 2 "t", table 3 "d", which is duplicated.
ClusterListing TwoTables() {
  ClusterListing listing;
  listing.tables.resize(2);
  listing.tables[0].app_id = 2;
  listing.tables[0].app_name = "t";
  listing.tables[0].status = AppStatus::kAvailable;
  listing.tables[1] = listing.tables[0];
  listing.tables[1].app_id = 3;
  listing.tables[1].app_name = "d";
  listing.tables[1].duplicating = true;
  return listing;
}

TEST(JoinNotesTest, WhoJoinsNothingSaysSo) {
  const JoinNotes notes;
  EXPECT_EQ(notes.Text(), "this server joins no older version's cluster\n");
  EXPECT_EQ(notes.obstacles(), 0u);
  EXPECT_EQ(notes.ObstacleOf(2), std::nullopt);
}

TEST(JoinNotesTest, WhileItWaitsEachReasonHasALine) {
  JoinNotes notes;
  notes.SetWaiting({"one", "another"});
  EXPECT_EQ(notes.Text(), "takes no part yet\nwaits: one\nwaits: another\n");
  EXPECT_EQ(notes.obstacles(), 2u);
  notes.SetWaiting({"another"});
  EXPECT_EQ(notes.Text(), "takes no part yet\nwaits: another\n");
}

TEST(JoinNotesTest, OnceItTakesPartItWaitsForNothing) {
  JoinNotes notes;
  notes.SetWaiting({"one"});
  notes.SetJoined(kMeta);
  EXPECT_EQ(notes.Text(), "takes part; admitted with meta server 10.0.0.5:34601\n");
  EXPECT_EQ(notes.obstacles(), 0u);
}

TEST(JoinNotesTest, ATableThatOthersWorkOnTakesNoNewCopyUntilTheyAreDone) {
  JoinNotes notes;
  notes.SetJoined(kMeta);
  ClusterListing listing = TwoTables();
  notes.SetListing(listing);
  EXPECT_EQ(notes.ObstacleOf(3), Obstacle::kDuplicated);
  EXPECT_EQ(notes.ObstacleOf(2), std::nullopt);
  EXPECT_EQ(notes.obstacles(), 1u);
  EXPECT_THAT(notes.Text(), HasSubstr("takes no new copy: table \"d\" (id 3) is duplicated\n"));
  listing.tables[1].duplicating = false;
  notes.SetListing(listing);
  EXPECT_EQ(notes.ObstacleOf(3), std::nullopt);
  EXPECT_THAT(notes.Text(), Not(HasSubstr("takes no new copy")));
}

TEST(JoinNotesTest, WhatTheMetaServerDoesNotKnowIsShownUntilItDoes) {
  JoinNotes notes;
  notes.SetJoined(kMeta);
  notes.SetUnreported({{7, 0}, {7, 1}});
  EXPECT_THAT(notes.Text(), HasSubstr("not reported: 7.0 is of no table of the meta server's\n"
                                      "not reported: 7.1 is of"));
  EXPECT_EQ(notes.obstacles(), 0u) << "they keep nothing from happening";
  notes.SetUnreported({});
  EXPECT_THAT(notes.Text(), Not(HasSubstr("not reported")));
}

}  // namespace
}  // namespace arion
