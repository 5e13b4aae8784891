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

  CompactionWishes wishes_;
  bool is_member_ = true;
  std::shared_ptr<CompactionSlots> slots_ = std::make_shared<CompactionSlots>();
  ReplicaCompaction compaction_{env_.clock(),
                                kPart,
                                0,
                                slots_,
                                *work_,
                                engine_,
                                {.wishes = [this]() -> const CompactionWishes& { return wishes_; },
                                 .is_member = [this] { return is_member_; },
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

}  // namespace
}  // namespace arion
