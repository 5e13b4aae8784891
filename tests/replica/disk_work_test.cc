// SPDX-License-Identifier: Apache-2.0
#include "replica/disk_work.h"

#include <gmock/gmock.h>

#include <vector>

#include "tests/replica/part_world.h"

namespace arion {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class DiskWorkTest : public PartWorld {
 protected:
  // Jobs and ends by their numbers.
  void Maintain(int number) {
    work_->Maintain([](Engine&) { return absl::OkStatus(); },
                    [this, number](const absl::Status&) { ended_.push_back(number); });
  }
  std::vector<int> ended_;
};

TEST_F(DiskWorkTest, AJobRunsInThePoolAndWhatFollowsOnTheStrand) {
  bool was_on_strand = true;
  Do([&] {
    work_->InPool(
        [&] {
          was_on_strand = strand_->IsCurrent();
          return absl::CancelledError("why");
        },
        [&](const absl::Status& status) {
          EXPECT_TRUE(strand_->IsCurrent());
          EXPECT_TRUE(absl::IsCancelled(status));
          ended_.push_back(1);
        });
  });
  Run(absl::Seconds(1));
  EXPECT_FALSE(was_on_strand);
  EXPECT_THAT(ended_, ElementsAre(1));
}

TEST_F(DiskWorkTest, AJobHoldsTheOwnerUntilItHasEnded) {
  const std::weak_ptr<int> owner = owner_;
  Do([&] {
    work_->InPool([] { return absl::OkStatus(); },
                  [&](const absl::Status&) { EXPECT_FALSE(owner.expired()); });
    owner_.reset();
  });
  EXPECT_FALSE(owner.expired());
  Run(absl::Seconds(1));
  EXPECT_TRUE(owner.expired());
}

TEST_F(DiskWorkTest, MaintenanceRunsOneAtATimeInOrder) {
  Do([&] {
    for (int i = 1; i <= 3; ++i) Maintain(i);
  });
  Run(absl::Seconds(1));
  EXPECT_THAT(ended_, ElementsAre(1, 2, 3));
}

TEST_F(DiskWorkTest, WhoWaitsForQuietGoesBeforeMaintenance) {
  is_quiet_ = false;
  Do([&] {
    Maintain(1);
    work_->WhenQuiet([this] { ended_.push_back(2); });
    Maintain(3);
  });
  Run(absl::Seconds(1));
  EXPECT_EQ(quiet_wishes_, 1);
  EXPECT_EQ(catch_ups_, 3) << "each wants what is committed in the engine";
  EXPECT_TRUE(work_->IsQuietAwaited());
  EXPECT_THAT(ended_, ElementsAre(1)) << "it was under way; the next one waits";
  is_quiet_ = true;
  Do([&] { work_->CheckQuiet(); });
  Run(absl::Seconds(1));
  EXPECT_THAT(ended_, ElementsAre(1, 2, 3));
}

TEST_F(DiskWorkTest, MaintenanceWaitsWhileTheEngineIsExchanged) {
  const std::shared_ptr<Engine> kept = std::exchange(engine_, nullptr);
  Do([&] { Maintain(1); });
  Run(absl::Seconds(1));
  EXPECT_THAT(ended_, IsEmpty());
  engine_ = kept;
  Do([&] { work_->CheckQuiet(); });
  Run(absl::Seconds(1));
  EXPECT_THAT(ended_, ElementsAre(1));
}

TEST_F(DiskWorkTest, WhatIsRefusedForWantOfSpaceIsTriedAgain) {
  int tries = 0;
  Do([&] {
    work_->InPoolOnceThereIsRoom(std::make_shared<DiskWork::PoolWork>([&]() -> absl::Status {
                                   if (++tries < 3) return absl::ResourceExhaustedError("full");
                                   return absl::OkStatus();
                                 }),
                                 [this](const absl::Status& status) {
                                   EXPECT_TRUE(status.ok());
                                   ended_.push_back(1);
                                 });
  });
  Run(DiskWork::kNoSpacePause / 2);
  EXPECT_EQ(tries, 1);
  EXPECT_FALSE(host_->disks->watch->HasSpace(0));
  Run(absl::Seconds(5));
  EXPECT_EQ(tries, 3);
  EXPECT_THAT(ended_, ElementsAre(1));
}

TEST_F(DiskWorkTest, AfterCloseNothingThatWaitsRuns) {
  is_quiet_ = false;
  Do([&] {
    work_->WhenQuiet([this] { ended_.push_back(1); });
    Maintain(2);
    work_->After(absl::Seconds(1), [this] { ended_.push_back(3); });
    work_->Close();
    is_quiet_ = true;
    work_->CheckQuiet();
  });
  Run(absl::Seconds(5));
  EXPECT_THAT(ended_, IsEmpty());
  Do([&] { work_->WhenQuiet([this] { ended_.push_back(4); }); });
  EXPECT_THAT(ended_, ElementsAre(4)) << "the end itself waits for quiet";
}

TEST_F(DiskWorkTest, WhatWaitsForTimeIsDroppedWithTheOwner) {
  Do([&] { work_->After(absl::Seconds(1), [this] { ended_.push_back(1); }); });
  owner_.reset();
  Run(absl::Seconds(5));
  EXPECT_THAT(ended_, IsEmpty());
}

}  // namespace
}  // namespace arion
