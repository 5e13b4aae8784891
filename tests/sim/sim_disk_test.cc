// SPDX-License-Identifier: Apache-2.0
#include "sim/sim_disk.h"
#include "env/file_system.h"

#include <gtest/gtest.h>

#include <set>

#include "sim/sim_environment.h"

namespace arion::sim {
namespace {

struct Disk : ::testing::Test {
  static SimDisk Make(uint64_t seed) {
    return SimDisk(seed, [] { return int64_t{0}; });
  }
  static InodePtr File(SimDisk& disk, const std::string& path) {
    return disk.CreateFile(path).value();
  }
  // A file of `size` 'a's at /d/f whose name and bytes are durable.
  static InodePtr DurableFile(SimDisk& disk, size_t size) {
    EXPECT_TRUE(disk.CreateDirectories("/d").ok());
    InodePtr file = File(disk, "/d/f");
    EXPECT_TRUE(disk.Write(*file, 0, std::string(size, 'a'), SimDisk::Path::kCached).ok());
    disk.MakeDurable();
    return file;
  }
};

TEST_F(Disk, SyncedBytesSurviveEveryCrash) {
  for (uint64_t seed = 0; seed < 100; ++seed) {
    for (CrashMode mode : {CrashMode::kProcess, CrashMode::kPowerNone, CrashMode::kPowerPrefix,
                           CrashMode::kPowerRandom}) {
      SimDisk disk = Make(seed);
      InodePtr file = DurableFile(disk, 4096);
      ASSERT_TRUE(disk.Write(*file, 1000, "synced", SimDisk::Path::kCached).ok());
      ASSERT_TRUE(disk.SyncFile(file).ok());
      ASSERT_TRUE(disk.Write(*file, 2048, "unsynced", SimDisk::Path::kCached).ok());
      disk.Crash(mode);
      InodePtr after = disk.Find("/d/f").value();
      EXPECT_EQ(after->content.substr(1000, 6), "synced");
      EXPECT_EQ(after->content.size(), 4096u);
    }
  }
}

TEST_F(Disk, UnsyncedBytesAreKeptByAProcessCrashAndLostByAPowerCutThatKeepsNothing) {
  SimDisk disk = Make(1);
  InodePtr file = DurableFile(disk, 10);
  ASSERT_TRUE(disk.Write(*file, 5, "0123456789", SimDisk::Path::kCached).ok());
  disk.Crash(CrashMode::kProcess);
  EXPECT_EQ(disk.Find("/d/f").value()->content, "aaaaa0123456789");
  disk.Crash(CrashMode::kPowerNone);
  EXPECT_EQ(disk.Find("/d/f").value()->content, "aaaaaaaaaa");
}

TEST_F(Disk, ARandomPowerCutTearsAWriteAtSectors) {
  std::set<std::string> images;
  for (uint64_t seed = 0; seed < 1000; ++seed) {
    SimDisk disk = Make(seed);
    InodePtr file = DurableFile(disk, 2048);
    ASSERT_TRUE(disk.Write(*file, 0, std::string(2048, 'b'), SimDisk::Path::kCached).ok());
    disk.Crash(CrashMode::kPowerRandom);
    std::string content = disk.Find("/d/f").value()->content;
    for (size_t i = 0; i < 2048; i += 512) {
      EXPECT_TRUE(content.substr(i, 512) == std::string(512, 'a') ||
                  content.substr(i, 512) == std::string(512, 'b'));
    }
    images.insert(content);
  }
  EXPECT_EQ(images.size(), 16u);
}

TEST_F(Disk, APrefixPowerCutKeepsOlderWritesBeforeNewerOnes) {
  std::set<std::string> images;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    SimDisk disk = Make(seed);
    InodePtr file = DurableFile(disk, 512 * 3);
    for (uint64_t i = 0; i < 3; ++i) {
      ASSERT_TRUE(disk.Write(*file, 512 * i, std::string(512, 'b'), SimDisk::Path::kCached).ok());
    }
    disk.Crash(CrashMode::kPowerPrefix);
    std::string content = disk.Find("/d/f").value()->content;
    EXPECT_LE(content.find_last_of('b') + 1, content.find_first_of('a') == std::string::npos
                                                 ? content.size()
                                                 : content.find_first_of('a'));
    images.insert(content);
  }
  EXPECT_EQ(images.size(), 4u);
}

TEST_F(Disk, ANameWithoutASyncedDirectoryMayBeLost) {
  int kept = 0;
  for (uint64_t seed = 0; seed < 100; ++seed) {
    SimDisk disk = Make(seed);
    DurableFile(disk, 1);
    InodePtr file = File(disk, "/d/new");
    ASSERT_TRUE(disk.Write(*file, 0, "x", SimDisk::Path::kCached).ok());
    ASSERT_TRUE(disk.SyncFile(file).ok());
    disk.Crash(CrashMode::kPowerRandom);
    kept += disk.Find("/d/new").ok();
  }
  EXPECT_GT(kept, 20);
  EXPECT_LT(kept, 80);
}

TEST_F(Disk, ARenameIsAtomicAndDurableOnceTheDirectoryIsSynced) {
  for (uint64_t seed = 0; seed < 50; ++seed) {
    SimDisk disk = Make(seed);
    DurableFile(disk, 1);
    InodePtr file = File(disk, "/d/f.tmp");
    ASSERT_TRUE(disk.Write(*file, 0, "new", SimDisk::Path::kCached).ok());
    ASSERT_TRUE(disk.SyncFile(file).ok());
    ASSERT_TRUE(disk.Rename("/d/f.tmp", "/d/f").ok());
    bool synced = seed % 2 == 0;
    if (synced) {
      ASSERT_TRUE(disk.SyncDirectory(disk.Find("/d").value()).ok());
    }
    disk.Crash(CrashMode::kPowerRandom);
    std::string content = disk.Find("/d/f").value()->content;
    if (synced) {
      EXPECT_EQ(content, "new");
      EXPECT_FALSE(disk.Find("/d/f.tmp").ok());
    } else {
      EXPECT_TRUE(content == "new" || content == "a");
    }
  }
}

TEST_F(Disk, BytesThatAFailedSyncWasToCoverNeverBecomeDurable) {
  SimDisk disk = Make(1);
  InodePtr file = DurableFile(disk, 100);
  ASSERT_TRUE(disk.Write(*file, 0, "lost", SimDisk::Path::kCached).ok());
  disk.FailSyncs(1);
  EXPECT_EQ(disk.SyncFile(file).code(), absl::StatusCode::kDataLoss);
  ASSERT_TRUE(disk.Write(*file, 2, "kept", SimDisk::Path::kCached).ok());
  ASSERT_TRUE(disk.SyncFile(file).ok());
  EXPECT_EQ(file->content.substr(0, 6), "lokept");
  disk.Crash(CrashMode::kPowerRandom);
  EXPECT_EQ(disk.Find("/d/f").value()->content.substr(0, 6), "aakept");
}

TEST_F(Disk, ADeviceFlushCoversDirectWritesInPlaceOnly) {
  SimDisk disk = Make(1);
  InodePtr file = DurableFile(disk, 8192);
  ASSERT_TRUE(disk.Write(*file, 0, std::string(4096, 'b'), SimDisk::Path::kDirect).ok());
  ASSERT_TRUE(disk.Write(*file, 4096, "cached", SimDisk::Path::kCached).ok());
  ASSERT_TRUE(disk.Write(*file, 8192, std::string(4096, 'c'), SimDisk::Path::kDirect).ok());
  disk.FlushDevice({file}, disk.next_sequence());
  disk.Crash(CrashMode::kPowerNone);
  EXPECT_EQ(disk.Find("/d/f").value()->content, std::string(4096, 'b') + std::string(4096, 'a'));
}

TEST_F(Disk, AFlushDoesNotCoverWhatWasWrittenAfterItBegan) {
  SimDisk disk = Make(1);
  InodePtr file = DurableFile(disk, 8192);
  ASSERT_TRUE(disk.Write(*file, 0, std::string(4096, 'b'), SimDisk::Path::kDirect).ok());
  uint64_t begun = disk.next_sequence();
  ASSERT_TRUE(disk.Write(*file, 4096, std::string(4096, 'c'), SimDisk::Path::kDirect).ok());
  disk.FlushDevice({file}, begun);
  disk.Crash(CrashMode::kPowerNone);
  EXPECT_EQ(disk.Find("/d/f").value()->content, std::string(4096, 'b') + std::string(4096, 'a'));
}

TEST_F(Disk, RemovedFilesComeBackWhenTheDirectoryWasNotSynced) {
  SimDisk disk = Make(1);
  DurableFile(disk, 3);
  ASSERT_TRUE(disk.Remove("/d/f").ok());
  EXPECT_FALSE(disk.Find("/d/f").ok());
  disk.Crash(CrashMode::kPowerNone);
  EXPECT_EQ(disk.Find("/d/f").value()->content, "aaa");
}

TEST_F(Disk, AFullDiskRefusesGrowthOnly) {
  SimDisk disk = Make(1);
  InodePtr file = DurableFile(disk, 100);
  disk.SetFreeBytes(10);
  EXPECT_TRUE(disk.Write(*file, 0, std::string(100, 'b'), SimDisk::Path::kCached).ok());
  EXPECT_TRUE(disk.Write(*file, 100, std::string(10, 'b'), SimDisk::Path::kCached).ok());
  EXPECT_EQ(disk.Write(*file, 110, "c", SimDisk::Path::kCached).code(),
            absl::StatusCode::kResourceExhausted);
}

TEST_F(Disk, WhatFitsOfAWriteIsWritten) {
  SimDisk disk = Make(1);
  InodePtr file = DurableFile(disk, 100);
  disk.SetFreeBytes(1000);
  EXPECT_TRUE(absl::IsResourceExhausted(
      disk.Write(*file, 50, std::string(4000, 'b'), SimDisk::Path::kCached)));
  EXPECT_EQ(file->content, std::string(50, 'a') + std::string(1024 - 50, 'b'));
  EXPECT_EQ(disk.free_bytes(), 1000u - (1024 - 100));
  EXPECT_TRUE(absl::IsResourceExhausted(disk.Write(*file, 2000, "c", SimDisk::Path::kCached)));
  EXPECT_EQ(file->content.size(), 1024u);
}

TEST_F(Disk, AFailedWriteMayHaveWrittenItsBeginning) {
  std::set<size_t> arrived;
  for (uint64_t seed = 0; seed < 100; ++seed) {
    SimDisk disk = Make(seed);
    InodePtr file = DurableFile(disk, 100);
    disk.FailWrites(1);
    EXPECT_TRUE(
        absl::IsDataLoss(disk.Write(*file, 0, std::string(1024, 'b'), SimDisk::Path::kCached)));
    const size_t n = file->content.find_last_of('b') + 1;
    EXPECT_EQ(file->content.substr(0, n), std::string(n, 'b'));
    arrived.insert(n);
    EXPECT_TRUE(disk.Write(*file, 0, "c", SimDisk::Path::kCached).ok());
  }
  EXPECT_EQ(arrived, (std::set<size_t>{0, 512, 1024}));
}

TEST_F(Disk, WhatIsReadOnlyTakesNoChange) {
  SimDisk disk = Make(1);
  InodePtr file = DurableFile(disk, 100);
  ASSERT_TRUE(disk.CreateDirectories("/e").ok());
  disk.SetAccess("/d", SimDisk::Access::kReadOnly);
  EXPECT_FALSE(disk.Write(*file, 0, "b", SimDisk::Path::kCached).ok());
  EXPECT_FALSE(disk.Truncate(*file, 0).ok());
  EXPECT_FALSE(disk.SyncFile(file).ok());
  EXPECT_FALSE(disk.CreateFile("/d/g").ok());
  EXPECT_FALSE(disk.CreateDirectories("/d/g").ok());
  EXPECT_FALSE(disk.Rename("/d/f", "/e/f").ok());
  EXPECT_FALSE(disk.Remove("/d/f").ok());
  EXPECT_FALSE(disk.Link("/e", "/d/g").ok());
  EXPECT_EQ(file->content, std::string(100, 'a'));
  disk.SetAccess("/d", SimDisk::Access::kFull);
  EXPECT_TRUE(disk.Rename("/d/f", "/e/f").ok());
}

TEST_F(Disk, DiesBetweenTwoChanges) {
  SimDisk disk = Make(1);
  InodePtr file = DurableFile(disk, 100);
  bool died = false;
  disk.DieAfterChanges(1, [&] { died = true; });
  EXPECT_TRUE(disk.Write(*file, 0, "b", SimDisk::Path::kCached).ok());
  EXPECT_FALSE(died);
  EXPECT_FALSE(disk.SyncFile(file).ok());
  EXPECT_TRUE(died);
}

// Which calls fail, by what a real disk would say to them: o open, w open for write, c create, d make
// a directory, m rename, r remove, l list, s stat, y sync a directory, g write beyond the end, i in
// place, t truncate.
std::string WhatFails(DiskTrouble trouble, absl::StatusCode* code) {
  SimWorld world(1);
  SimNode& node = world.AddNode("a");
  FileSystem& files = node.Start().files();
  const auto write = [&files](const char* path) {
    return *files.OpenForWrite(path, FileSystem::CreateMode::kTruncate);
  };
  EXPECT_TRUE(files.CreateDirectories("/d/e").ok() && files.CreateDirectories("/other").ok());
  const auto file = write("/d/f");
  EXPECT_TRUE(file->WriteAt(0, "abc").ok());
  node.disk().FailCalls("/d", trouble, 100);
  EXPECT_TRUE(write("/other/f")->WriteAt(0, "x").ok());
  std::string failed;
  const auto look = [&](char call, const absl::Status& status) {
    if (status.ok()) return;
    failed += call;
    *code = status.code();
  };
  look('o', files.OpenForRead("/d/f").status());
  look('w', files.OpenForWrite("/d/f", FileSystem::CreateMode::kOpenExisting).status());
  look('c', files.OpenForWrite("/d/g", FileSystem::CreateMode::kTruncate).status());
  look('d', files.CreateDirectories("/d/h"));
  look('m', files.Rename("/d/e", "/d/i"));
  look('y', files.SyncDirectory("/d/e"));
  look('l', files.List("/d").status());
  look('s', files.Stat("/d/f").status());
  look('g', file->WriteAt(2, "de"));
  look('i', file->WriteAt(1, "d"));
  look('t', file->Truncate(1));
  look('r', files.Remove("/d/f"));
  node.disk().FailCalls("/d", trouble, 0);
  EXPECT_TRUE(write("/d/f")->WriteAt(0, "x").ok()) << "it is over";
  return failed;
}

TEST(SimDiskTrouble, FailsTheCallsThatARealDiskFails) {
  absl::StatusCode code = absl::StatusCode::kOk;
  EXPECT_EQ(WhatFails(DiskTrouble::kErrors, &code), "owcdmylsgitr");
  EXPECT_EQ(code, absl::StatusCode::kInternal);
  EXPECT_EQ(WhatFails(DiskTrouble::kNoSpace, &code), "cdmg");
  EXPECT_EQ(code, absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(WhatFails(DiskTrouble::kNoDescriptors, &code), "owcyl");
  EXPECT_EQ(code, absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(WhatFails(DiskTrouble::kReadOnly, &code), "wcdmgitr");
  EXPECT_EQ(code, absl::StatusCode::kPermissionDenied);
  EXPECT_EQ(WhatFails(DiskTrouble::kNoMemory, &code), "owcdmylsr");
  EXPECT_EQ(code, absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(WhatFails(DiskTrouble::kNameErrors, &code), "owcdmylsr");
  EXPECT_EQ(code, absl::StatusCode::kInternal);
  EXPECT_EQ(WhatFails(DiskTrouble::kNotPermitted, &code), "wcdmr");
  EXPECT_EQ(code, absl::StatusCode::kPermissionDenied);
}

}  // namespace
}  // namespace arion::sim
