// What servers may keep: too much of anything is told. SPDX-License-Identifier: Apache-2.0
#include "sim_checkers/bounds.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace arion::sim {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr BoundSettings kBoundSettings = {
    .prepare_list_capacity = 110, .log_segment_bytes = 64 << 10, .log_for_member_bytes = 4 << 20};

TEST(Bounds, TellsOnceWhatIsKeptWithoutEnd) {
  Bounds bounds(kBoundSettings);
  bounds.Note(Kept::kUncommitted, 110, "a");
  bounds.Note(Kept::kCheckpoints, 10, "a");
  EXPECT_THAT(bounds.violations(), IsEmpty());
  for (int64_t decrees : {111, 500, 112}) bounds.Note(Kept::kUncommitted, decrees, "a");
  EXPECT_THAT(bounds.violations(), SizeIs(1));
  EXPECT_EQ(bounds.most()[static_cast<size_t>(Kept::kUncommitted)], 500);
  for (int kept = 1; kept < kKeptCount; ++kept) {
    Bounds one(kBoundSettings);
    one.Note(static_cast<Kept>(kept), int64_t{1} << 40, "a");
    EXPECT_THAT(one.violations(), SizeIs(1)) << kept;
  }
}

TEST(Bounds, FollowTheSettings) {
  const auto is_too_much = [](BoundSettings settings, Kept what, int64_t amount) {
    Bounds bounds(settings);
    bounds.Note(what, amount, "a");
    return !bounds.violations().empty();
  };
  BoundSettings settings = kBoundSettings;
  EXPECT_FALSE(is_too_much(settings, Kept::kLogBytes, 24 << 20));
  EXPECT_FALSE(is_too_much(settings, Kept::kLogFiles, 24 * 16));
  EXPECT_TRUE(is_too_much(settings, Kept::kUncommitted, 111));
  settings = {.prepare_list_capacity = 50, .log_segment_bytes = 256 << 10};
  EXPECT_TRUE(is_too_much(settings, Kept::kLogBytes, 24 << 20)) << "nothing is kept for a member";
  EXPECT_TRUE(is_too_much(settings, Kept::kLogFiles, 24 * 16)) << "larger files are fewer";
  EXPECT_TRUE(is_too_much(settings, Kept::kUncommitted, 51));
}

TEST(Bounds, AreDescribedEachByItsName) {
  Bounds bounds(kBoundSettings);
  bounds.Note(Kept::kUncommitted, 20, "a");
  bounds.Note(Kept::kLogFiles, 4, "a");
  EXPECT_THAT(Describe(bounds.most()), HasSubstr("uncommitted 20, log-files 4"));
}

}  // namespace
}  // namespace arion::sim
