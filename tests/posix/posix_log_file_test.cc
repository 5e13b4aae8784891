// How a write ended, and which flush makes it durable. SPDX-License-Identifier: Apache-2.0
#include "posix/posix_log_file.h"

#include <absl/strings/str_cat.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <sstream>

#include "env/file_system.h"
#include "tests/support/temp_directory.h"

namespace arion {
namespace {

// The log writes the same bytes again, so it does not matter whether the write or the flush that it
// carried found no space.
TEST(PosixLogFileTest, AWriteThatCarriesItsFlushMayLackSpaceOrMemoryToo) {
  class Device : public PosixLogDevice {
   public:
    using PosixLogDevice::PosixLogDevice;
    using PosixLogDevice::WriteFailed;
    void Write(WriteRequest) override {}
    std::string method() const override { return ""; }
  };
  TempDirectory directory;
  Device device(directory.path(), {});
  PendingWrite write;
  write.request.file = *device.Open(directory.path() + "/log", /*direct=*/true);
  write.carries_flush = true;
  auto& file = static_cast<PosixLogFile&>(*write.request.file);
  EXPECT_TRUE(absl::IsResourceExhausted(Device::WriteFailed(write, ENOSPC)));
  EXPECT_EQ(WantOf(Device::WriteFailed(write, ENOMEM)), Want::kMemory);
  EXPECT_FALSE(file.has_failed());
  EXPECT_TRUE(absl::IsDataLoss(Device::WriteFailed(write, EIO)));
  EXPECT_TRUE(file.has_failed());
}

TEST(PosixLogFileTest, TheMemoryOfAWriteIsUsedAgainAndNothingOfItIsLeft) {
  PosixLogFile file(-1, "log", 1);
  std::unique_ptr<PendingWrite> first = file.TakePending();
  first->done_bytes = 7;
  first->carries_flush = true;
  PendingWrite* const memory = first.get();
  file.KeepPending(std::move(first));
  const std::unique_ptr<PendingWrite> again = file.TakePending();
  EXPECT_EQ(again.get(), memory);
  EXPECT_EQ(again->done_bytes, 0u);
  EXPECT_FALSE(again->carries_flush);
  const std::unique_ptr<PendingWrite> second = file.TakePending();
  EXPECT_NE(second.get(), memory) << "that one is in use";
}

// On every other file system each write carries its own flush.
TEST(OneFlushCoversAllTest, OnExt4ThatWritesInPlaceAndHasBarriersOnly) {
  const auto covers = [](const std::string& type_and_options) {
    std::istringstream mounts(
        "22 27 0:21 / /proc rw,relatime - proc proc rw\n"
        "27 1 8:1 / / rw,relatime shared:1 master:2 - " +
        type_and_options + "\n28 27 8:17 / /data rw - ext4 /dev/sdb1 rw,nobarrier\n");
    return OneFlushCoversAll(mounts, "8:1");
  };
  EXPECT_TRUE(covers("ext4 /dev/sda1 rw"));
  EXPECT_TRUE(covers("ext4 /dev/sda1 rw,discard,errors=remount-ro,data=ordered"));
  EXPECT_FALSE(covers("ext4 /dev/sda1 rw,nobarrier"));
  EXPECT_FALSE(covers("ext4 /dev/sda1 rw,barrier=0"));
  EXPECT_FALSE(covers("ext4 /dev/sda1 rw,nodelalloc,data=journal"));
  for (const char* type : {"xfs", "btrfs", "ext3", "ext2", "f2fs", "overlay", "tmpfs", "fuse"})
    EXPECT_FALSE(covers(absl::StrCat(type, " /dev/sda1 rw"))) << type;
  std::istringstream nothing;
  EXPECT_FALSE(OneFlushCoversAll(nothing, "8:1"));
}

}  // namespace
}  // namespace arion
