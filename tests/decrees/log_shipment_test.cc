// SPDX-License-Identifier: Apache-2.0
#include "decrees/log_shipment.h"

#include <gtest/gtest.h>

#include "tests/pacifica/harness.h"

namespace arion {
namespace {

std::vector<std::string> Contents(const LearnState& state) {
  auto parsed = ParseMutations(kTestPid, state.meta);
  EXPECT_TRUE(parsed.ok()) << parsed.status();
  std::vector<std::string> contents;
  for (const MutationPtr& m : *parsed) contents.push_back(ContentOf(*m));
  return contents;
}

LearnState Ship(Decree first, Decree committed, LogPiece piece,
                const std::vector<MutationPtr>& log) {
  return MakeLogShipment(first, ProvenHistory(first, committed, piece, log));
}

TEST(LogShipmentTest, APieceThatReachesTheEndCarriesWhatIsCommitted) {
  const std::vector<MutationPtr> log = {MakeMutation(3, 1, 0, "a"), MakeMutation(3, 2, 0, "b"),
                                        MakeMutation(3, 3, 0, "c")};
  const LearnState state = Ship(Decree(1), Decree(2), LogPiece::kReachesEnd, log);
  EXPECT_EQ(state.to_decree_included, Decree(2));
  EXPECT_EQ(Contents(state), (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(state.learn_start_decree, Decree(1));
}

// A log may hold an older version behind the newer one, and decrees the learner has.
TEST(LogShipmentTest, OfTwoVersionsTheLargerBallotCounts) {
  const std::vector<MutationPtr> log = {MakeMutation(3, 1, 0, "a"), MakeMutation(5, 2, 1, "new"),
                                        MakeMutation(4, 2, 1, "old"), MakeMutation(5, 3, 2, "c")};
  const std::vector<MutationPtr> newest = NewestVersions(log, Decree(2), Decree(2));
  ASSERT_EQ(newest.size(), 1u);
  EXPECT_EQ(ContentOf(*newest[0]), "new");
}

TEST(LogShipmentTest, ACutPieceVouchesOnlyForWhatItProves) {
  // Behind the cut the log may hold another version of 2.
  const std::vector<MutationPtr> log = {MakeMutation(3, 1, 0, "a"), MakeMutation(3, 2, 1, "b")};
  const LearnState state = Ship(Decree(1), Decree(9), LogPiece::kCutByLimit, log);
  EXPECT_EQ(state.to_decree_included, Decree(1));
  EXPECT_EQ(Contents(state), (std::vector<std::string>{"a"}));
}

TEST(LogShipmentTest, APieceThatProvesNothingIsEmpty) {
  const std::vector<MutationPtr> log = {MakeMutation(3, 5, 4, "e")};
  const LearnState state = Ship(Decree(5), Decree(9), LogPiece::kCutByLimit, log);
  EXPECT_EQ(state.to_decree_included, Decree(4));
  EXPECT_TRUE(state.meta.bytes.empty());
}

TEST(LogShipmentTest, TheLargerBallotIsSent) {
  const std::vector<MutationPtr> log = {MakeMutation(3, 1, 0, "old"), MakeMutation(4, 1, 0, "new"),
                                        MakeMutation(4, 2, 1, "b")};
  const LearnState state = Ship(Decree(1), Decree(2), LogPiece::kReachesEnd, log);
  EXPECT_EQ(Contents(state), (std::vector<std::string>{"new", "b"}));
}

TEST(LogShipmentTest, AHoleEndsIt) {
  const std::vector<MutationPtr> log = {MakeMutation(3, 1, 0, "a"), MakeMutation(3, 3, 0, "c")};
  const LearnState state = Ship(Decree(1), Decree(3), LogPiece::kReachesEnd, log);
  EXPECT_EQ(state.to_decree_included, Decree(1));
}

TEST(LogShipmentTest, ForeignAndTruncatedBytesAreRefused) {
  std::string bytes;
  AppendMutation(*MakeMutation(3, 1, 0, "a"), -1, &bytes);
  EXPECT_FALSE(ParseMutations(PartitionId{9, 9}, bytes).ok());
  for (size_t length = 1; length < bytes.size(); ++length) {
    EXPECT_FALSE(ParseMutations(kTestPid, std::string_view(bytes).substr(0, length)).ok())
        << length;
  }
  EXPECT_TRUE(ParseMutations(kTestPid, "")->empty());
}

}  // namespace
}  // namespace arion
