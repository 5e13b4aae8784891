// SPDX-License-Identifier: Apache-2.0
#include "env/blocking_call.h"

#include <gtest/gtest.h>

#include "env/log_device.h"
#include "env/loop_thread.h"
#include "posix/posix_file_system.h"
#include "posix/posix_log_device.h"
#include "tests/support/temp_directory.h"

namespace arion {
namespace {

TEST(BlockingCall, TheRecordNamesTheCallWhileItLasts) {
  CallRecord record;
  const CallRecordMark mark(&record);
  {
    const BlockingCall call("read", "/data/1/x");
    EXPECT_EQ(record.Now(), "read /data/1/x");
  }
  EXPECT_EQ(record.Now(), "");
}

TEST(BlockingCall, OffLoopsNothingIsCounted) {
  const int64_t before = BlockingCallsOnLoops().value();
  EXPECT_TRUE(PosixFileSystem().Stat("/tmp").ok());
  EXPECT_EQ(BlockingCallsOnLoops().value(), before);
}

#ifdef ARION_CHECK_LOOP_THREADS
TEST(BlockingCallDeathTest, AFileCallOnALoopThreadEndsTheProcess) {
  EXPECT_DEATH(
      {
        const LoopThreadMark loop;
        (void)PosixFileSystem().Stat("/tmp");
      },
      "an event loop waits for a disk: stat /tmp");
}
#else
TEST(BlockingCall, AFileCallOnALoopThreadIsCounted) {
  const int64_t before = BlockingCallsOnLoops().value();
  const LoopThreadMark loop;
  EXPECT_TRUE(PosixFileSystem().Stat("/tmp").ok());
  EXPECT_EQ(BlockingCallsOnLoops().value(), before + 1);
}

TEST(BlockingCall, ALogDevicesFileCallsAreCountedToo) {
  const TempDirectory directory;
  const auto device = NewPosixLogDevice(directory.path(), {});
  const int64_t before = BlockingCallsOnLoops().value();
  {
    const LoopThreadMark loop;
    const auto file = device->Open(directory.path() + "/log.1", true);
    ASSERT_TRUE(file.ok()) << file.status();
    EXPECT_EQ(BlockingCallsOnLoops().value(), before + 1);
    EXPECT_TRUE(device->Sync(**file).ok());
    EXPECT_EQ(BlockingCallsOnLoops().value(), before + 2);
    EXPECT_TRUE(device->TruncateAndSync(**file, 0).ok());
    EXPECT_EQ(BlockingCallsOnLoops().value(), before + 3);
    EXPECT_TRUE(device->FillWithZeros(**file, 0, 4096).ok());
    EXPECT_GT(BlockingCallsOnLoops().value(), before + 3);
  }
}
#endif

}  // namespace
}  // namespace arion
