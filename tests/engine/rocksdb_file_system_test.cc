// SPDX-License-Identifier: Apache-2.0
#include "engine/rocksdb_file_system.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "posix/posix_file_system.h"
#include "tests/engine/faulty_files.h"
#include "tests/engine/test_environment.h"
#include "tests/support/temp_directory.h"

namespace arion {
namespace {

using rocksdb::IOOptions;
using rocksdb::IOStatus;
using rocksdb::Slice;
using Call = FaultyFiles::Call;

class RocksdbFileSystemTest : public testing::Test {
 protected:
  std::string Path(const std::string& name) const { return directory_.path() + "/" + name; }
  void Fail(Call call, absl::Status status) {
    faulty_.FailOnce(call, 0, [status](const std::string&) { return status; });
  }
  std::unique_ptr<rocksdb::FSWritableFile> NewFile(const std::string& name) {
    std::unique_ptr<rocksdb::FSWritableFile> file;
    EXPECT_TRUE(system_.NewWritableFile(Path(name), {}, &file, nullptr).ok());
    return file;
  }
  IOStatus Open(const std::string& name, std::unique_ptr<rocksdb::FSSequentialFile>* file) {
    return system_.NewSequentialFile(Path(name), {}, file, nullptr);
  }
  void Write(const std::string& name, const std::string& content) {
    ASSERT_TRUE(WriteFileDurably(posix_, Path(name), content).ok());
  }
  std::string Content(const std::string& name) {
    return ReadFile(posix_, Path(name)).value_or("not there");
  }

  const TempDirectory directory_;
  PosixFileSystem posix_;
  FaultyFiles faulty_{posix_};
  TestEnvironment environment_{faulty_};
  RocksdbFileSystem system_{environment_, directory_.path()};
  const IOOptions options_;
};

TEST_F(RocksdbFileSystemTest, WhatIsAppendedIsThereAndCounted) {
  const auto file = NewFile("a");
  EXPECT_TRUE(file->Append("abc", options_, nullptr).ok());
  EXPECT_TRUE(file->Append("de", options_, nullptr).ok());
  EXPECT_TRUE(file->Sync(options_, nullptr).ok());
  EXPECT_EQ(file->GetFileSize(options_, nullptr), 5u);
  EXPECT_TRUE(file->Close(options_, nullptr).ok());
  EXPECT_EQ(Content("a"), "abcde");
  EXPECT_EQ(system_.stats().writes.value(), 2);
  EXPECT_EQ(system_.stats().written_bytes.value(), 5);
  EXPECT_EQ(system_.stats().failures.value(), 0);
}

// RocksDB would end the process: it looks there before each checkpoint.
TEST_F(RocksdbFileSystemTest, AnArchiveThatCantBeLookedForIsNotThere) {
  // Through a file there is no path to anything: an error other than NotFound.
  Write("file", "");
  const std::string archive = Path("file") + "/archive";
  ASSERT_FALSE(absl::IsNotFound(posix_.Stat(archive).status()));
  EXPECT_TRUE(system_.FileExists(archive, options_, nullptr).IsNotFound());
  EXPECT_EQ(system_.stats().failures.value(), 1);
  EXPECT_TRUE(system_.FileExists(Path("file") + "/other", options_, nullptr).IsIOError());
}

// Its writer would end the process if an append failed twice.
TEST_F(RocksdbFileSystemTest, AFailedAppendIsHeardOfFromSyncAndCloseAlone) {
  const auto file = NewFile("a");
  ASSERT_TRUE(file->Append("abc", options_, nullptr).ok());
  Fail(Call::kWrite, absl::ResourceExhaustedError("No space left on device"));
  EXPECT_TRUE(file->Append("lost", options_, nullptr).ok());
  EXPECT_TRUE(file->Append("gone", options_, nullptr).ok());
  EXPECT_TRUE(file->RangeSync(0, 11, options_, nullptr).ok());
  EXPECT_EQ(file->GetFileSize(options_, nullptr), 11u) << "RocksDB counts on";
  const int64_t syncs = faulty_.calls(Call::kSync);
  EXPECT_TRUE(file->Sync(options_, nullptr).IsNoSpace());
  EXPECT_EQ(faulty_.calls(Call::kSync), syncs) << "a file that lost a byte is not synced";
  EXPECT_TRUE(file->Close(options_, nullptr).IsNoSpace());
  EXPECT_EQ(Content("a"), "abc");
  EXPECT_EQ(system_.stats().failures.value(), 1);
}

TEST_F(RocksdbFileSystemTest, AFailedSyncIsNeverRepeated) {
  const auto file = NewFile("a");
  ASSERT_TRUE(file->Append("abc", options_, nullptr).ok());
  Fail(Call::kSync, absl::DataLossError("EIO"));
  EXPECT_TRUE(file->Sync(options_, nullptr).IsIOError());
  const int64_t syncs = faulty_.calls(Call::kSync);
  EXPECT_TRUE(file->Sync(options_, nullptr).IsIOError());
  EXPECT_TRUE(file->Close(options_, nullptr).IsIOError());
  EXPECT_EQ(faulty_.calls(Call::kSync), syncs);
}

TEST_F(RocksdbFileSystemTest, ATruncatedFileGoesOnAtItsEnd) {
  const auto file = NewFile("a");
  ASSERT_TRUE(file->Append("abcdef", options_, nullptr).ok());
  EXPECT_TRUE(file->Truncate(2, options_, nullptr).ok());
  EXPECT_TRUE(file->Append("xy", options_, nullptr).ok());
  EXPECT_TRUE(file->Close(options_, nullptr).ok());
  EXPECT_EQ(Content("a"), "abxy");
}

TEST_F(RocksdbFileSystemTest, WhatGrowsGoesToTheDiskPieceByPiece) {
  const auto file = NewFile("a");
  const std::string megabyte(1 << 20, 'x');
  ASSERT_TRUE(file->Append(megabyte, options_, nullptr).ok());
  EXPECT_TRUE(file->RangeSync(0, megabyte.size(), options_, nullptr).ok());
  EXPECT_EQ(faulty_.most_under_way(), TablePace::kPieceBytes);
}

TEST_F(RocksdbFileSystemTest, EachErrorHasTheKindThatRocksdbActsBy) {
  Write("a", "abc");
  const auto open_after = [&](absl::Status status) {
    Fail(Call::kOpen, std::move(status));
    std::unique_ptr<rocksdb::FSSequentialFile> file;
    return Open("a", &file);
  };
  const IOStatus no_space = open_after(absl::ResourceExhaustedError("Too many open files"));
  EXPECT_TRUE(no_space.IsNoSpace());
  EXPECT_TRUE(no_space.GetRetryable()) << "it may pass";
  EXPECT_TRUE(open_after(absl::PermissionDeniedError("another user's")).IsNoSpace());
  EXPECT_TRUE(open_after(absl::NotFoundError("gone")).IsPathNotFound());
  const IOStatus lost = open_after(absl::DataLossError("EIO"));
  EXPECT_TRUE(lost.IsIOError());
  EXPECT_FALSE(lost.IsNoSpace());
  EXPECT_EQ(system_.stats().failures.value(), 3) << "a file that is not there is no failure";
}

TEST_F(RocksdbFileSystemTest, FilesThatNeedNotExistAreNoFailures) {
  EXPECT_TRUE(system_.FileExists(Path("a"), options_, nullptr).IsNotFound());
  std::vector<std::string> names = {"from before"};
  EXPECT_TRUE(system_.GetChildren(Path("a"), options_, &names, nullptr).IsNotFound());
  EXPECT_TRUE(names.empty());
  uint64_t size = 7;
  EXPECT_FALSE(system_.GetFileSize(Path("a"), options_, &size, nullptr).ok());
  EXPECT_EQ(size, 0u);
  EXPECT_EQ(system_.stats().failures.value(), 0);
  Write("a", "abc");
  EXPECT_TRUE(system_.FileExists(Path("a"), options_, nullptr).ok());
  EXPECT_TRUE(system_.GetFileSize(Path("a"), options_, &size, nullptr).ok());
  EXPECT_EQ(size, 3u);
}

TEST_F(RocksdbFileSystemTest, ASequentialFileIsReadOnBehindWhatWasReadOrSkipped) {
  Write("a", "abcdef");
  std::unique_ptr<rocksdb::FSSequentialFile> file;
  ASSERT_TRUE(Open("a", &file).ok());
  char scratch[8];
  Slice got;
  EXPECT_TRUE(file->Read(2, options_, &got, scratch, nullptr).ok());
  EXPECT_EQ(got.ToString(), "ab");
  EXPECT_TRUE(file->Skip(1).ok());
  EXPECT_TRUE(file->Read(8, options_, &got, scratch, nullptr).ok());
  EXPECT_EQ(got.ToString(), "def");
  EXPECT_TRUE(file->Read(8, options_, &got, scratch, nullptr).ok()) << "the end is no error";
  EXPECT_TRUE(got.empty());
  EXPECT_EQ(system_.stats().read_bytes.value(), 5);
  Fail(Call::kRead, absl::DataLossError("EIO"));
  EXPECT_TRUE(file->Read(8, options_, &got, scratch, nullptr).IsIOError());
  EXPECT_TRUE(got.empty());
}

TEST_F(RocksdbFileSystemTest, ARandomFileIsReadWhereItIsAsked) {
  Write("a", "abcdef");
  std::unique_ptr<rocksdb::FSRandomAccessFile> file;
  ASSERT_TRUE(system_.NewRandomAccessFile(Path("a"), {}, &file, nullptr).ok());
  char scratch[8];
  Slice got;
  EXPECT_TRUE(file->Read(4, 8, options_, &got, scratch, nullptr).ok());
  EXPECT_EQ(got.ToString(), "ef");
  EXPECT_TRUE(file->Read(1, 2, options_, &got, scratch, nullptr).ok());
  EXPECT_EQ(got.ToString(), "bc");
}

TEST_F(RocksdbFileSystemTest, ALinkThatIsNotPermittedIsNotSupportedSoThatACopyIsMade) {
  Write("a", "abc");
  Fail(Call::kName, absl::PermissionDeniedError("Operation not permitted"));
  EXPECT_TRUE(system_.LinkFile(Path("a"), Path("b"), options_, nullptr).IsNotSupported());
  EXPECT_EQ(system_.stats().failures.value(), 0);
  Fail(Call::kName, absl::DataLossError("EIO"));
  EXPECT_TRUE(system_.LinkFile(Path("a"), Path("b"), options_, nullptr).IsIOError());
  EXPECT_TRUE(system_.LinkFile(Path("a"), Path("b"), options_, nullptr).ok());
  EXPECT_EQ(Content("b"), "abc");
}

// It names a manifest, which a power cut must leave there.
TEST_F(RocksdbFileSystemTest, CurrentGetsItsNameOnceItsDirectoryIsSynced) {
  Write("temporary", "MANIFEST-1\n");
  const int64_t syncs = faulty_.calls(Call::kSync);
  EXPECT_TRUE(system_.RenameFile(Path("temporary"), Path("other"), options_, nullptr).ok());
  EXPECT_EQ(faulty_.calls(Call::kSync), syncs);
  Fail(Call::kSync, absl::DataLossError("EIO"));
  EXPECT_TRUE(system_.RenameFile(Path("other"), Path("CURRENT"), options_, nullptr).IsIOError());
  EXPECT_EQ(Content("CURRENT"), "not there");
  EXPECT_TRUE(system_.RenameFile(Path("other"), Path("CURRENT"), options_, nullptr).ok());
  EXPECT_EQ(Content("CURRENT"), "MANIFEST-1\n");
}

TEST_F(RocksdbFileSystemTest, ADirectoryIsMadeOnceUnlessItMayBeThere) {
  EXPECT_TRUE(system_.CreateDir(Path("d"), options_, nullptr).ok());
  EXPECT_TRUE(system_.CreateDir(Path("d"), options_, nullptr).IsIOError());
  EXPECT_TRUE(system_.CreateDirIfMissing(Path("d"), options_, nullptr).ok());
  bool is_directory = false;
  EXPECT_TRUE(system_.IsDirectory(Path("d"), options_, &is_directory, nullptr).ok());
  EXPECT_TRUE(is_directory);
  EXPECT_TRUE(system_.DeleteDir(Path("d"), options_, nullptr).ok());
  EXPECT_FALSE(system_.IsDirectory(Path("d"), options_, nullptr, nullptr).ok());
}

TEST_F(RocksdbFileSystemTest, ALockKeepsTheOthersOutUntilItIsGivenBack) {
  rocksdb::FileLock *first = nullptr, *second = nullptr;
  ASSERT_TRUE(system_.LockFile(Path("LOCK"), options_, &first, nullptr).ok());
  EXPECT_FALSE(system_.LockFile(Path("LOCK"), options_, &second, nullptr).ok());
  EXPECT_TRUE(system_.UnlockFile(first, options_, nullptr).ok());
  ASSERT_TRUE(system_.LockFile(Path("LOCK"), options_, &second, nullptr).ok());
  EXPECT_TRUE(system_.UnlockFile(second, options_, nullptr).ok());
}

}  // namespace
}  // namespace arion
