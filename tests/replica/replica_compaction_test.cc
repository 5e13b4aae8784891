// A replica's compaction on request by itself; with its server: manual_compaction_test.cc.
// SPDX-License-Identifier: Apache-2.0
#include "replica/replica_compaction.h"
#include "data_api/compaction_wishes.h"

#include "messages/table_environments.h"
#include "tests/replica/part_world.h"

namespace arion {
namespace {

class ReplicaCompactionTest : public PartWorld {
 protected:
  void Wish() {
    wishes_ = CompactionWishes::From(
        {{kEnvCompactOnce, std::to_string(env_.clock().WallMicros() / 1000000 - 1)}});
    Do([&] { compaction_.Consider(); });
  }
  ManualCompactStatus Status() const { return compaction_.Status(wishes_); }
  // The table has been split into so many.
  void Split(int32_t count) {
    engine_->SetOwnership({.index = 1, .count = count});
    Do([&] { compaction_.Consider(); });
  }

  CompactionWishes wishes_;
  bool is_member_ = true;
  int compactions_ = 0;
  std::shared_ptr<CompactionSlots> slots_ = std::make_shared<CompactionSlots>();
  ReplicaCompaction compaction_{env_.clock(),
                                kPart,
                                0,
                                slots_,
                                *work_,
                                engine_,
                                {.wishes = [this]() -> const CompactionWishes& { return wishes_; },
                                 .after_split =
                                     [this] {
                                       return engine_ == nullptr
                                                  ? 0
                                                  : CompactionAfterSplit(true, engine_->ownership(),
                                                                         engine_->compacted_for());
                                     },
                                 .pace = [](uint64_t) { return absl::Seconds(1); },
                                 .is_member = [this] { return is_member_; },
                                 .on_compacted = [this] { ++compactions_; },
                                 .tag = [] { return std::string("[2.1]"); }}};
};

TEST_F(ReplicaCompactionTest, WhatNobodyWishesIsNotLookedFor) {
  Do([&] { compaction_.Consider(); });
  Run(absl::Minutes(1));
  EXPECT_EQ(Status(), ManualCompactStatus::kIdle);
  EXPECT_EQ(slots_->Now().queued, 0);
}

TEST_F(ReplicaCompactionTest, WhatIsDueRunsAndIsNoted) {
  Wish();
  EXPECT_EQ(Status(), ManualCompactStatus::kRunning);
  EXPECT_EQ(slots_->Now().running, 1);
  Run(absl::Seconds(5));
  EXPECT_EQ(Status(), ManualCompactStatus::kFinished);
  EXPECT_EQ(compactions_, 1);
  EXPECT_GT(engine_->last_compacted_ms(), 0);
  EXPECT_EQ(slots_->Now().running, 0);
}

TEST_F(ReplicaCompactionTest, ItWaitsForItsTurnAndForItsRole) {
  is_member_ = false;
  auto other = slots_->TryTake(0, 9, 0);
  Wish();
  EXPECT_EQ(Status(), ManualCompactStatus::kQueuing);
  EXPECT_EQ(slots_->Now().queued, 1);
  is_member_ = true;
  Run(absl::Seconds(5));
  EXPECT_EQ(Status(), ManualCompactStatus::kQueuing) << "another one of its disk runs";
  other = nullptr;
  Run(absl::Seconds(5));
  EXPECT_EQ(Status(), ManualCompactStatus::kFinished);
}

TEST_F(ReplicaCompactionTest, NoStepBeginsWhileSomebodyWaitsForQuiet) {
  is_quiet_ = false;
  Do([&] { work_->WhenQuiet([] {}); });
  Wish();
  Run(absl::Seconds(5));
  EXPECT_EQ(Status(), ManualCompactStatus::kQueuing);
  is_quiet_ = true;
  Do([&] { work_->CheckQuiet(); });
  Run(absl::Seconds(5));
  EXPECT_EQ(Status(), ManualCompactStatus::kFinished);
}

TEST_F(ReplicaCompactionTest, WhoIsNotWantedAnyMoreLeavesTheQueue) {
  is_member_ = false;
  Wish();
  wishes_ = {};
  Run(absl::Seconds(5));
  EXPECT_EQ(Status(), ManualCompactStatus::kIdle);
  EXPECT_EQ(slots_->Now().queued, 0);
}

TEST_F(ReplicaCompactionTest, OneThatIsClosedGivesItsPlaceBack) {
  is_member_ = false;
  Wish();
  Do([&] {
    compaction_.Close();
    work_->Close();
  });
  EXPECT_EQ(slots_->Now().queued, 0);
  Run(absl::Minutes(1));
  EXPECT_EQ(engine_->last_compacted_ms(), 0);
}

TEST_F(ReplicaCompactionTest, ASplitMakesOneDueOnce) {
  auto other = slots_->TryTake(0, 9, 0);
  Split(8);
  EXPECT_EQ(slots_->Now().queued, 1);
  EXPECT_EQ(Status(), ManualCompactStatus::kIdle) << "nobody asked for it";
  EXPECT_NE(compaction_.Text().find("split into 8"), std::string::npos) << compaction_.Text();
  other = nullptr;
  Run(absl::Seconds(5));
  EXPECT_EQ(engine_->compacted_for(), 8);
  EXPECT_EQ(engine_->last_compacted_ms(), 0);
  EXPECT_EQ(compaction_.Text().find("split"), std::string::npos) << compaction_.Text();
  Do([&] { compaction_.Consider(); });
  EXPECT_EQ(slots_->Now().queued + slots_->Now().running, 0);
  Split(16);
  Run(absl::Seconds(5));
  EXPECT_EQ(engine_->compacted_for(), 16);
}

TEST_F(ReplicaCompactionTest, WhatWasAskedForGoesBeforeASplits) {
  engine_->SetOwnership({.index = 1, .count = 8});
  Wish();
  EXPECT_EQ(Status(), ManualCompactStatus::kRunning);
  Run(absl::Seconds(5));
  EXPECT_EQ(Status(), ManualCompactStatus::kFinished);
  EXPECT_EQ(engine_->compacted_for(), 0);
  Run(absl::Seconds(20));
  EXPECT_EQ(engine_->compacted_for(), 8);
}

TEST_F(ReplicaCompactionTest, AContentThatWasExchangedIsRewrittenFromItsBeginning) {
  is_member_ = false;
  Split(8);
  Run(absl::Seconds(2));
  ASSERT_TRUE(engine_->Close().ok());
  auto opened = engines_.Open(std::string(kDirectory) + "/data");
  ASSERT_TRUE(opened.ok()) << opened.status();
  engine_ = *std::move(opened);
  is_member_ = true;
  Run(absl::Seconds(2));
  EXPECT_EQ(slots_->Now().queued, 0) << "which keys are its own is not known yet";
  EXPECT_EQ(engine_->compacted_for(), 0);
  Split(8);
  Run(absl::Seconds(5));
  EXPECT_EQ(engine_->compacted_for(), 8);
}

}  // namespace
}  // namespace arion
