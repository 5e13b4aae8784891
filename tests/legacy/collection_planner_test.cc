// SPDX-License-Identifier: Apache-2.0
#include "legacy/collection_planner.h"
#include "legacy/shared_log_catalog.h"

#include <gtest/gtest.h>

#include <optional>

namespace arion {
namespace {

constexpr PartitionId k10{1, 0}, k11{1, 1}, k21{2, 1};
using Blocking = CollectionPlan::Blocking;

// The files of slog-three-files (legacy/FORMAT.md 9.1).
std::vector<CollectionFile> ThreeFiles() {
  return {{7600, {{k10, Decree(11)}, {k11, Decree(22)}, {k21, Decree(1)}}},
          {7943, {{k10, Decree(11)}, {k11, Decree(23)}, {k21, Decree(3)}}},
          {8291, {{k10, Decree(11)}, {k11, Decree(24)}, {k21, Decree(3)}}}};
}
CollectionInput Safe(int64_t s10, std::optional<int64_t> s11, int64_t s21, int64_t valid = 6500) {
  CollectionInput input;
  input.loaded[k10] = {Decree(s10), 0};
  if (s11) input.loaded[k11] = {Decree(*s11), 0};
  input.loaded[k21] = {Decree(s21), valid};
  return input;
}
std::vector<PartitionId> Who(const CollectionPlan& plan) {
  std::vector<PartitionId> pids;
  for (const auto& blocking : plan.blocking) pids.push_back(blocking.pid);
  return pids;
}
using Pids = std::vector<PartitionId>;

TEST(CollectionPlanner, G1_NothingIsReleased) {
  const auto plan = PlanCollection(ThreeFiles(), Safe(10, 20, 0));
  EXPECT_EQ(plan.removable, 0u);
  EXPECT_EQ(Who(plan), (Pids{k10, k11, k21}));
  EXPECT_EQ(plan.blocking[1].decrees_behind, 4);
}
TEST(CollectionPlanner, G2_TheFirstFileIsReleased) {
  const auto plan = PlanCollection(ThreeFiles(), Safe(11, 22, 1));
  EXPECT_EQ(plan.removable, 1u);
  EXPECT_EQ(Who(plan), (Pids{k11, k21}));
}
TEST(CollectionPlanner, G3_OneReplicaHoldsTheNewestFile) {
  const auto plan = PlanCollection(ThreeFiles(), Safe(11, 23, 3));
  EXPECT_EQ(plan.removable, 2u);
  EXPECT_EQ(Who(plan), (Pids{k11}));
}
TEST(CollectionPlanner, G4_AllFilesGo) {
  const auto plan = PlanCollection(ThreeFiles(), Safe(11, 24, 3));
  EXPECT_EQ(plan.removable, 3u);
  EXPECT_TRUE(plan.blocking.empty());
}
TEST(CollectionPlanner, G5_VoidFilesAreReleased) {
  EXPECT_EQ(PlanCollection(ThreeFiles(), Safe(11, 24, 0, 8291)).removable, 3u);
}
TEST(CollectionPlanner, G6_AFileThatIsPartlyValidIsHeld) {
  const auto plan = PlanCollection(ThreeFiles(), Safe(11, 24, 0, 7943));
  EXPECT_EQ(plan.removable, 2u);
  EXPECT_EQ(Who(plan), (Pids{k21}));
}
TEST(CollectionPlanner, G7_AReplicaThatIsNotLoadedBlocksUnlessItIsKnownToBeGone) {
  const CollectionInput nowhere = Safe(11, std::nullopt, 3);
  EXPECT_EQ(PlanCollection(ThreeFiles(), nowhere).removable, 0u);
  EXPECT_EQ(PlanCollection(ThreeFiles(), nowhere).blocking[0].why, Blocking::Why::kNotFound);
  CollectionInput gone = nowhere;
  gone.gone.insert(k11);
  EXPECT_EQ(PlanCollection(ThreeFiles(), gone).removable, 3u) << "dropped";
  CollectionInput unopened = gone;
  unopened.unopened.insert(k11);
  EXPECT_EQ(PlanCollection(ThreeFiles(), unopened).removable, 0u);
  EXPECT_EQ(PlanCollection(ThreeFiles(), unopened).blocking[0].why, Blocking::Why::kUnopened);
  CollectionInput missing = nowhere;
  missing.disks = CollectionInput::Disks::kSomeMissing;
  EXPECT_EQ(PlanCollection(ThreeFiles(), missing).removable, 0u);
  EXPECT_EQ(PlanCollection(ThreeFiles(), missing).blocking[0].why, Blocking::Why::kDiskMissing);
}
TEST(CollectionPlanner, G8_A20_WithoutAnyReplicaAllGoesOnlyIfNobodyCanComeBack) {
  CollectionInput nothing;
  EXPECT_EQ(PlanCollection(ThreeFiles(), nothing).removable, 0u);
  nothing.disks = CollectionInput::Disks::kSomeMissing;
  EXPECT_EQ(PlanCollection(ThreeFiles(), nothing).removable, 0u);
  nothing.gone = {k10, k11, k21};
  EXPECT_EQ(PlanCollection(ThreeFiles(), nothing).removable, 3u);
}
TEST(CollectionPlanner, G9_TheLastFileGoesToo) {
  const std::vector<CollectionFile> files = {ThreeFiles()[2]};
  EXPECT_EQ(PlanCollection(files, Safe(11, 24, 3)).removable, 1u);
}
TEST(CollectionPlanner, TheNewestFilesMaximaCountItsHeaderAndItsContent) {
  std::vector<SharedLogFile> files(2);
  files[0] = {{5, 0}, "log.5.0", 100, {{k10, Decree(3)}}};
  files[1] = {{6, 100}, "log.6.100", 50, {{k10, Decree(9)}, {k11, Decree(4)}}};
  const auto maxima = CollectionFilesOf(files, {{k11, Decree(7)}, {k10, Decree(2)}});
  EXPECT_EQ(maxima[0].max, files[1].earlier);
  EXPECT_EQ(maxima[1].max, (std::map<PartitionId, Decree>{{k10, Decree(9)}, {k11, Decree(7)}}));
  EXPECT_EQ(maxima[1].end_offset, 150);
}

// legacy/FORMAT.md 9.2: 6 replicas block now.
TEST(FlushLimit, TheVectorsOfTheSpecification) {
  struct Case {
    size_t before, conf, limit, flushed;
  };
  for (const auto& [before, conf, limit, flushed] : std::vector<Case>{{0, 0, 0, 6},
                                                                      {0, 1, 0, 1},
                                                                      {0, 2, 0, 2},
                                                                      {0, 7, 0, 6},
                                                                      {6, 6, 6, 2},
                                                                      {6, 1, 2, 1},
                                                                      {7, 5, 0, 5},
                                                                      {7, 5, kUnlimited, 5},
                                                                      {8, 6, 2, 4},
                                                                      {12, 6, 6, 6},
                                                                      {9, 3, 2, 3},
                                                                      {9, 5, 2, 4}})
    EXPECT_EQ(std::min<size_t>(6, FlushLimit(before, 6, conf, limit)), flushed)
        << before << " " << conf << " " << limit;
}
TEST(FlushLimit, MoreBlockingReplicasThanBeforeAreNoProgress) {
  FlushLimiter limiter(64);
  EXPECT_EQ(limiter.Next(3), 3u);
  EXPECT_EQ(limiter.Next(10), 2u);
}

}  // namespace
}  // namespace arion
