// SPDX-License-Identifier: Apache-2.0
#include "disks/disk_watch.h"
#include "env/disk_reserve.h"
#include "messages/meta_messages.h"

#include <gtest/gtest.h>

#include "disks/disk_layout.h"
#include "disks/disk_snapshot.h"
#include "env/log_device.h"
#include "sim/sim_environment.h"
#include "tests/replica/log_lines.h"

namespace arion {
namespace {

constexpr uint64_t kKiB = 1 << 10;
constexpr uint64_t kMiB = 1 << 20;
const absl::Status kNoSpaceLeft =
    absl::ResourceExhaustedError("fill /a/f: No space left on device");
const absl::Status kNoDescriptors =
    absl::ResourceExhaustedError("NoSpace: open /a/f: Too many open files; open files: ...");

class DiskWatchTest : public testing::Test {
 protected:
  DiskWatchTest() {
    env_.RunInPool([this] {
      for (const DataDirectory& disk : disks_)
        ASSERT_TRUE(env_.files().CreateDirectories(disk.path).ok());
    });
    watch_ = std::make_shared<DiskWatch>(
        env_, strand_,
        DiskHealthOptions{.available_bytes_min = 64 * kKiB, .reserve_bytes = 256 * kKiB}, disks_);
    watch_->Start({true, true});
  }
  ~DiskWatchTest() override {
    env_.RunOn(strand_, [this] { watch_->Stop(); });
  }
  uint64_t ReserveSize(size_t disk) {
    uint64_t size = 0;
    env_.RunInPool([&] {
      const auto status = env_.files().Stat(JoinPath(disks_[disk].path, kReserveName));
      size = status.ok() ? status->size : 0;
    });
    return size;
  }
  void Seconds(int n) { world_.RunFor(absl::Seconds(n)); }
  // Writes a log's page again and again, each when the one before is answered.
  void WriteOn(std::shared_ptr<LogFile> file, Durability durability) {
    LogDevice& device = env_.log_device("/a");
    AlignedBuffer page(AlignedBuffer::kAlignment);
    page.Resize(AlignedBuffer::kAlignment);
    device.Write({.file = file,
                  .buffer = std::move(page),
                  .coverage = Coverage::kPrewritten,
                  .durability = durability,
                  .reply_on = strand_,
                  .done = [this, file, durability](absl::Status status, AlignedBuffer) {
                    ASSERT_TRUE(status.ok()) << status;
                    WriteOn(file, durability);
                  }});
  }
  void KeepLogsBusy(int logs, Durability durability) {
    for (int i = 0; i < logs; ++i) {
      std::shared_ptr<LogFile> file;
      env_.RunInPool([&] {
        LogDevice& device = env_.log_device("/a");
        file = *device.Open(JoinPath("/a", std::to_string(i)), true);
        ASSERT_TRUE(device.FillWithZeros(*file, 0, AlignedBuffer::kAlignment).ok());
      });
      WriteOn(std::move(file), durability);
    }
  }

  const std::vector<DataDirectory> disks_ = {{"a", "/a"}, {"b", "/b"}};
  sim::SimWorld world_{5};
  sim::SimNode& node_ = world_.AddNode("n");
  sim::SimEnvironment& env_ = node_.Start();
  StrandPtr strand_ = env_.NewStrand("server");
  std::shared_ptr<DiskWatch> watch_;
};

TEST_F(DiskWatchTest, AReserveIsMadeWhereThereIsPlenty) {
  Seconds(3);
  EXPECT_EQ(ReserveSize(0), 256 * kKiB);
  EXPECT_EQ(ReserveSize(1), 256 * kKiB);
  const std::vector<DiskSnapshot> disks = watch_->Snapshot();
  ASSERT_EQ(disks.size(), 2u);
  EXPECT_EQ(disks[0].tag, "a");
  EXPECT_EQ(disks[0].reserve_bytes, 256 * kKiB);
  EXPECT_GT(disks[0].available_bytes, 0u);
  EXPECT_EQ(disks[0].available_bytes_min, 64 * kKiB);
  EXPECT_EQ(disks[0].log_method, "simulated");
}

TEST_F(DiskWatchTest, TheFirstLackOfSpaceGivesTheReserveUpAndItComesBack) {
  Seconds(3);
  node_.disk().SetFreeBytes(0);
  std::shared_ptr<void> wait = watch_->LogWaits(0, kNoSpaceLeft);
  EXPECT_FALSE(watch_->HasSpace(0));
  EXPECT_TRUE(watch_->HasSpace(1)) << "one report speaks for its disk alone";
  world_.RunFor(absl::Milliseconds(100));
  EXPECT_EQ(ReserveSize(0), 0u);
  EXPECT_GE(node_.disk().free_bytes(), 256 * kKiB);
  EXPECT_EQ(watch_->Snapshot()[0].logs_waiting, 1);

  wait.reset();  // it fits now; but what was freed is not for new writes
  Seconds(5);
  EXPECT_FALSE(watch_->HasSpace(0));
  EXPECT_EQ(ReserveSize(0), 0u);

  node_.disk().SetFreeBytes(100 * kMiB);
  Seconds(3);
  EXPECT_TRUE(watch_->HasSpace(0));
  Seconds(3);
  EXPECT_EQ(ReserveSize(0), 256 * kKiB);
}

TEST_F(DiskWatchTest, ADiskThatFillsUpWhileTheReserveGrowsGetsItLater) {
  Seconds(3);
  env_.RunInPool([this] { ASSERT_TRUE(env_.files().Remove("/a/.arion-reserve").ok()); });
  node_.disk().SetFreeBytes(100 * kMiB);
  world_.RunUntil([this] { return watch_->Snapshot()[0].reserve_bytes == 0; }, absl::Seconds(2));
  node_.disk().SetFreeBytes(1000);
  Seconds(5);
  EXPECT_FALSE(watch_->HasSpace(0));
  node_.disk().SetFreeBytes(100 * kMiB);
  Seconds(5);
  EXPECT_EQ(ReserveSize(0), 256 * kKiB);
}

TEST_F(DiskWatchTest, AFullDiskIsSeenBeforeAnybodyMeetsIt) {
  node_.disk().SetFreeBytes(60 * kKiB);
  Seconds(2);
  EXPECT_FALSE(watch_->HasSpace(0));
  EXPECT_EQ(watch_->StateForPeers(0), DiskStatus::kSpaceInsufficient);
}

TEST_F(DiskWatchTest, AWantOfOpenFilesIsNoFullDisk) {
  watch_->OnNoSpace(0, kNoDescriptors);
  EXPECT_TRUE(watch_->HasSpace(0));
  EXPECT_EQ(watch_->StateOf(0), DiskStatus::kNormal);
  Seconds(3);
  // Nor where the disk's reserve can't be made for it.
  env_.RunInPool([this] { ASSERT_TRUE(env_.files().Remove("/b/.arion-reserve").ok()); });
  node_.disk().FailCalls("/b", sim::DiskTrouble::kNoDescriptors, 100);
  Seconds(3);
  EXPECT_TRUE(watch_->HasSpace(1));
}

TEST_F(DiskWatchTest, ALogThatWaitsForOpenFilesRefusesWritesAndLeavesTheReserve) {
  Seconds(3);
  LogLines said("logs on disk a wait for open files"), said_full("lacks space");
  std::shared_ptr<void> wait = watch_->LogWaits(0, kNoDescriptors);
  EXPECT_FALSE(watch_->HasSpace(0));
  EXPECT_EQ(said.Take().size(), 1u);
  EXPECT_EQ(said_full.Take().size(), 0u);
  EXPECT_EQ(watch_->Snapshot()[0].lacks, Want::kOpenFiles);
  Seconds(3);
  EXPECT_EQ(ReserveSize(0), 256 * kKiB);
  wait.reset();
  Seconds(3);
  EXPECT_TRUE(watch_->HasSpace(0));
}

TEST_F(DiskWatchTest, AnIoErrorIsCountedAndHidesNoLackOfSpaceFromPeers) {
  watch_->OnIoError(1, "a test");
  watch_->OnIoError(1, "a test");
  EXPECT_EQ(watch_->StateOf(0), DiskStatus::kNormal);
  EXPECT_EQ(watch_->StateOf(1), DiskStatus::kIoError);
  EXPECT_EQ(watch_->Snapshot()[1].io_errors, 2);
  EXPECT_TRUE(watch_->HasSpace(1));
  watch_->OnNoSpace(1, kNoSpaceLeft);
  EXPECT_EQ(watch_->StateForPeers(1), DiskStatus::kSpaceInsufficient);
}

TEST_F(DiskWatchTest, ADiskThatCantBeReadIsNotAsked) {
  auto other = std::make_shared<DiskWatch>(env_, strand_, DiskHealthOptions{},
                                           std::vector<DataDirectory>{{"gone", "/gone"}});
  other->Start({false});
  Seconds(3);
  const std::vector<DiskSnapshot> disks = other->Snapshot();
  EXPECT_EQ(disks[0].state, DiskStatus::kIoError);
  EXPECT_EQ(disks[0].total_bytes, 0u);
  env_.RunOn(strand_, [&] { other->Stop(); });
}

// With durability os nothing is flushed, and a busy disk has a write under way at each look.
TEST_F(DiskWatchTest, ABusyDiskThatAnswersIsNotSlowWithoutFlushes) {
  node_.disk().SetSlowness(10);
  KeepLogsBusy(8, Durability::kOs);
  for (int i = 0; i < 20; ++i) {
    Seconds(1);
    ASSERT_TRUE(watch_->SlowTags().empty()) << "after " << i << " s";
  }
  EXPECT_GT(env_.log_device("/a").stats().queued.value(), 0);
  EXPECT_GT(watch_->FlushWait(0), absl::ZeroDuration());
}

TEST_F(DiskWatchTest, WithoutFlushesTheWritesTellASlowDisk) {
  node_.disk().SetSlowness(20000);
  KeepLogsBusy(8, Durability::kOs);
  Seconds(8);
  EXPECT_FALSE(watch_->SlowTags().empty());
}

// Their logs lie elsewhere, or they are only read.
TEST_F(DiskWatchTest, DisksThatNoLogIsWrittenToAreFoundSlowAndForgiven) {
  Seconds(3);
  node_.disk().SetSlowness(20000);
  Seconds(6);
  EXPECT_EQ(watch_->SlowTags(), (std::vector<std::string>{"a", "b"}));
  node_.disk().SetSlowness(1);
  Seconds(40);
  EXPECT_TRUE(watch_->SlowTags().empty());
}

TEST_F(DiskWatchTest, AnIdleDiskIsNotSlowAndItsProbesAreNobodysWait) {
  for (int i = 0; i < 60; ++i) {
    Seconds(1);
    ASSERT_TRUE(watch_->SlowTags().empty()) << "after " << i << " s";
    ASSERT_EQ(watch_->FlushWait(0), absl::ZeroDuration());
  }
  EXPECT_GT(watch_->Snapshot()[0].sync_p99, absl::ZeroDuration());
  EXPECT_LE(env_.log_device("/a").stats().writes.value(), 60) << "two directories, one disk";
}

TEST_F(DiskWatchTest, WhatTheMetaServerIsToldOfAFullDiskChangesAtOnceAndAgainWithRoom) {
  std::vector<std::vector<DiskReport>> told;
  watch_->OnChanged([&] { told.push_back(watch_->Reports()); });
  Seconds(3);
  EXPECT_TRUE(told.empty());
  ASSERT_EQ(watch_->Reports().size(), 2u);
  EXPECT_EQ(watch_->Reports()[1].tag, "b");
  EXPECT_GT(watch_->Reports()[1].available_bytes, 0);
  EXPECT_FALSE(watch_->Reports()[0].takes_no_writes);
  watch_->OnNoSpace(0, kNoSpaceLeft);
  world_.RunFor(absl::Milliseconds(10));
  ASSERT_EQ(told.size(), 1u);
  EXPECT_TRUE(told[0][0].takes_no_writes);
  EXPECT_EQ(told[0][0].lacks, static_cast<int32_t>(Want::kSpace));
  EXPECT_FALSE(told[0][1].takes_no_writes);
  Seconds(5);
  ASSERT_EQ(told.size(), 2u);
  EXPECT_FALSE(told[1][0].takes_no_writes);
}

TEST_F(DiskWatchTest, AFullDiskIsProbedAllTheSame) {
  Seconds(3);
  node_.disk().SetFreeBytes(0);
  watch_->OnNoSpace(0, kNoSpaceLeft);
  Seconds(3);
  const int64_t before = env_.log_device("/a").stats().writes.value();
  Seconds(5);
  EXPECT_GE(env_.log_device("/a").stats().writes.value(), before + 4);
  EXPECT_EQ(env_.log_device("/a").stats().failures.value(), 0);
  EXPECT_TRUE(watch_->SlowTags().empty());
}

TEST_F(DiskWatchTest, AReserveLeftFromAnEarlierLifeIsKept) {
  Seconds(3);
  env_.RunOn(strand_, [this] { watch_->Stop(); });
  watch_ = std::make_shared<DiskWatch>(
      env_, strand_,
      DiskHealthOptions{.available_bytes_min = 64 * kKiB, .reserve_bytes = 256 * kKiB}, disks_);
  watch_->Start({true, true});
  world_.RunFor(absl::Milliseconds(500));
  EXPECT_EQ(watch_->Snapshot()[0].reserve_bytes, 256 * kKiB);
}

}  // namespace
}  // namespace arion
