// SPDX-License-Identifier: Apache-2.0
#include "stats/replica_figures.h"

#include <gtest/gtest.h>

#include "pacifica/invariants.h"
#include "stats/request_stats.h"

namespace arion {
namespace {

Instant At(int seconds) { return Instant() + absl::Seconds(seconds); }

Watermarks Marks(PartitionStatus role, int applied, int committed, int prepared) {
  return {.role = role,
          .last_applied = Decree(applied),
          .last_committed = Decree(committed),
          .last_prepared = Decree(prepared)};
}

class FakeMeter : public EngineMeter {
 public:
  explicit FakeMeter(uint64_t flushes) : flushes_(flushes) {}
  EngineFigures Read() const override { return {.files = 3, .counts = Counts()}; }
  std::array<uint64_t, kEngineCounts> Counts() const override {
    std::array<uint64_t, kEngineCounts> counts{};
    counts[static_cast<size_t>(EngineCount::kFlushes)] = flushes_;
    return counts;
  }

 private:
  const uint64_t flushes_;
};

TEST(ReplicaFiguresTest, TimeInARoleBeginsWithTheRole) {
  ReplicaFigures figures;
  figures.Note(Marks(PartitionStatus::kPotentialSecondary, 0, 0, 0), At(10));
  figures.Note(Marks(PartitionStatus::kPotentialSecondary, 5, 5, 5), At(20));
  EXPECT_EQ(figures.Read(At(30)).in_role, absl::Seconds(20));
  figures.Note(Marks(PartitionStatus::kSecondary, 5, 5, 5), At(30));
  EXPECT_EQ(figures.Read(At(31)).role, PartitionStatus::kSecondary);
  EXPECT_EQ(figures.Read(At(31)).in_role, absl::Seconds(1));
}

TEST(ReplicaFiguresTest, WhatWaitsForItsCommit) {
  ReplicaFigures figures;
  figures.Note(Marks(PartitionStatus::kPrimary, 5, 5, 5), At(10));
  EXPECT_EQ(figures.Read(At(20)).uncommitted, absl::ZeroDuration());
  figures.Note(Marks(PartitionStatus::kPrimary, 5, 5, 7), At(20));
  figures.Note(Marks(PartitionStatus::kPrimary, 5, 5, 8), At(25));
  EXPECT_EQ(figures.Read(At(30)).uncommitted, absl::Seconds(10));
  figures.Note(Marks(PartitionStatus::kPrimary, 5, 6, 8), At(30));
  EXPECT_EQ(figures.Read(At(31)).uncommitted, absl::Seconds(1)) << "it moved";
  EXPECT_EQ(figures.Read(At(31)).unapplied, 1);
  figures.Note(Marks(PartitionStatus::kPrimary, 8, 8, 8), At(40));
  EXPECT_EQ(figures.Read(At(50)).uncommitted, absl::ZeroDuration());
}

TEST(ReplicaFiguresTest, CountsOfEarlierEnginesAreKept) {
  ReplicaFigures figures;
  figures.SetEngine(std::make_shared<FakeMeter>(4));
  figures.SetEngine(std::make_shared<FakeMeter>(2));
  EXPECT_EQ(figures.ReadEngine().count(EngineCount::kFlushes), 6u);
  EXPECT_EQ(figures.ReadEngine().files, 3u);
  EXPECT_EQ(figures.ReadEngineCounts(), figures.ReadEngine().counts);
}

TEST(ReplicaFiguresTest, ATableKeepsWhatAReplicaThatWentCounted) {
  RequestBook book;
  const auto goes = book.Open({2, 1}, "t");
  goes->figures().SetEngine(std::make_shared<FakeMeter>(4));
  goes->figures().Count(ReplicaCount::kLearnings);
  goes->figures().Count(ReplicaCount::kCopiedBytes, 100);
  book.Close({2, 1}, goes);
  const auto rows = book.Read(RequestBook::Level::kTable);
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].counts[static_cast<size_t>(ReplicaCount::kLearnings)], 1u);
  EXPECT_EQ(rows[0].counts[static_cast<size_t>(ReplicaCount::kCopiedBytes)], 100u);
  EXPECT_EQ(rows[0].engine_counts[static_cast<size_t>(EngineCount::kFlushes)], 4u);
  EXPECT_TRUE(book.Members().empty());
}

TEST(RequestStatsTest, CapacityUnitsAreBegunPiecesOfWhatIsRead) {
  RequestStats stats(1);
  stats.Answered(RequestKind::kGet, ErrorCode::kOk, 1, 10, kCapacityUnitBytes + 1);
  stats.Answered(RequestKind::kPut, ErrorCode::kOk, 1, kCapacityUnitBytes, 10);
  stats.Answered(RequestKind::kPut, ErrorCode::kBusy, 1, kCapacityUnitBytes, 0);
  RequestStats::LoadByKind loads{};
  stats.AddTo(&loads);
  EXPECT_EQ(loads[static_cast<size_t>(RequestKind::kGet)].capacity_units, 2u);
  EXPECT_EQ(loads[static_cast<size_t>(RequestKind::kPut)].capacity_units, 1u);
  EXPECT_EQ(loads[static_cast<size_t>(RequestKind::kPut)].requests, 2u);
}

}  // namespace
}  // namespace arion
