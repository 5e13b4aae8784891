// SPDX-License-Identifier: Apache-2.0
#include "posix/posix_file_system.h"

#include <absl/strings/str_cat.h>
#include <fcntl.h>
#include <grp.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/log.h"
#include "tests/support/temp_directory.h"

namespace arion {
namespace {

using CreateMode = FileSystem::CreateMode;

class PosixFileSystemTest : public ::testing::Test {
 protected:
  std::string Path(const std::string& name) const { return directory_.path() + "/" + name; }
  TempDirectory directory_;
  PosixFileSystem files_;
};

TEST_F(PosixFileSystemTest, CreateModesMeanWhatTheySay) {
  EXPECT_TRUE(absl::IsNotFound(files_.OpenForWrite(Path("f"), CreateMode::kOpenExisting).status()));
  auto file = files_.OpenForWrite(Path("f"), CreateMode::kMustNotExist);
  ASSERT_TRUE(file.ok());
  ASSERT_TRUE((*file)->WriteAt(0, "hello").ok());
  ASSERT_TRUE((*file)->Sync().ok());
  ASSERT_TRUE((*file)->Close().ok());
  EXPECT_TRUE(
      absl::IsAlreadyExists(files_.OpenForWrite(Path("f"), CreateMode::kMustNotExist).status()));
  auto again = *files_.OpenForWrite(Path("f"), CreateMode::kOpenExisting);
  ASSERT_TRUE(again->WriteAt(5, " you").ok());
  EXPECT_EQ(*ReadFile(files_, Path("f")), "hello you");
  ASSERT_TRUE(again->Truncate(2).ok());
  EXPECT_EQ(*ReadFile(files_, Path("f")), "he");
  (void)*files_.OpenForWrite(Path("f"), CreateMode::kTruncate);
  EXPECT_EQ(*ReadFile(files_, Path("f")), "");
}

// Whoever has none waits; the disk and what lies there are not to blame.
TEST_F(PosixFileSystemTest, AWantOfDescriptorsIsNoFailureOfTheDisk) {
  ASSERT_TRUE(WriteFileDurably(files_, Path("f"), "x").ok());
  rlimit before;
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const int next = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  rlimit none = before;
  none.rlim_cur = static_cast<rlim_t>(next) + 1;
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  const absl::Status read = files_.OpenForRead(Path("f")).status();
  const absl::Status write = files_.OpenForWrite(Path("g"), CreateMode::kTruncate).status();
  const absl::Status sync = files_.SyncDirectory(directory_.path());
  ::setrlimit(RLIMIT_NOFILE, &before);
  ::close(next);
  EXPECT_TRUE(absl::IsResourceExhausted(sync)) << sync;  // none was tried
  EXPECT_TRUE(absl::IsResourceExhausted(read)) << read;
  EXPECT_TRUE(absl::IsResourceExhausted(write)) << write;
}

TEST_F(PosixFileSystemTest, AWritebackIsBegunAndAwaited) {
  auto file = *files_.OpenForWrite(Path("f"), CreateMode::kMustNotExist);
  ASSERT_TRUE(file->WriteAt(0, std::string(100000, 'x')).ok());
  EXPECT_TRUE(file->StartWriteback(0, 65536).ok());
  EXPECT_TRUE(file->AwaitWriteback(0, 65536).ok());
  EXPECT_TRUE(file->AwaitWriteback(65536, 100000).ok()) << "nothing was begun there";
  EXPECT_TRUE(file->Sync().ok());
}

TEST_F(PosixFileSystemTest, ReadsShortOnlyAtTheEnd) {
  ASSERT_TRUE(WriteFileDurably(files_, Path("f"), "0123456789").ok());
  auto file = *files_.OpenForRead(Path("f"));
  std::string out = "old";
  ASSERT_TRUE(file->ReadAt(4, 3, &out).ok());
  EXPECT_EQ(out, "456");
  ASSERT_TRUE(file->ReadAt(8, 100, &out).ok());
  EXPECT_EQ(out, "89");
  ASSERT_TRUE(file->ReadAt(100, 5, &out).ok());
  EXPECT_EQ(out, "");
  EXPECT_EQ(*file->Size(), 10u);
}

TEST_F(PosixFileSystemTest, StatTellsIdentityAndDoesNotFollowLinks) {
  ASSERT_TRUE(WriteFileDurably(files_, Path("f"), "12345").ok());
  const FileStatus before = *files_.Stat(Path("f"));
  EXPECT_EQ(before.size, 5u);
  EXPECT_NE(before.inode, 0u);
  EXPECT_FALSE(before.is_directory);
  ASSERT_TRUE(files_.Rename(Path("f"), Path("g")).ok());
  const FileStatus after = *files_.Stat(Path("g"));
  EXPECT_EQ(after.inode, before.inode);
  EXPECT_EQ(after.birth_nanos, before.birth_nanos);
  ASSERT_EQ(::symlink(Path("g").c_str(), Path("link").c_str()), 0);
  EXPECT_TRUE(files_.Stat(Path("link"))->is_symlink);
  EXPECT_TRUE(files_.Stat(directory_.path())->is_directory);
  EXPECT_TRUE(absl::IsNotFound(files_.Stat(Path("f")).status()));
}

TEST_F(PosixFileSystemTest, DirectoriesAreMadeWithParentsListedSortedAndRemovedWhole) {
  ASSERT_TRUE(files_.CreateDirectories(Path("a/b/c")).ok());
  ASSERT_TRUE(files_.CreateDirectories(Path("a/b/c")).ok());
  for (const char* name : {"z", "b", "m"})
    ASSERT_TRUE(WriteFileDurably(files_, Path("a/b/c/") + name, "x").ok());
  EXPECT_EQ(*files_.List(Path("a/b/c")), (std::vector<std::string>{"b", "m", "z"}));
  ASSERT_TRUE(files_.SyncDirectory(Path("a/b/c")).ok());
  EXPECT_FALSE(files_.Remove(Path("a")).ok());
  EXPECT_FALSE(files_.CreateDirectories(Path("a/b/c/z")).ok());
  ASSERT_TRUE(files_.RemoveAll(Path("a")).ok());
  ASSERT_TRUE(files_.RemoveAll(Path("a")).ok());
  EXPECT_TRUE(absl::IsNotFound(files_.List(Path("a")).status()));
}

TEST_F(PosixFileSystemTest, RemoveAllDoesNotFollowLinks) {
  ASSERT_TRUE(files_.CreateDirectories(Path("kept")).ok());
  ASSERT_TRUE(WriteFileDurably(files_, Path("kept/f"), "x").ok());
  ASSERT_TRUE(files_.CreateDirectories(Path("gone")).ok());
  ASSERT_EQ(::symlink(Path("kept").c_str(), Path("gone/link").c_str()), 0);
  ASSERT_TRUE(files_.RemoveAll(Path("gone")).ok());
  EXPECT_TRUE(Exists(files_, Path("kept/f")));
}

TEST_F(PosixFileSystemTest, HardLinksShareTheFile) {
  ASSERT_TRUE(WriteFileDurably(files_, Path("f"), "x").ok());
  ASSERT_TRUE(files_.Link(Path("f"), Path("g")).ok());
  EXPECT_EQ(files_.Stat(Path("f"))->inode, files_.Stat(Path("g"))->inode);
}

TEST_F(PosixFileSystemTest, ALockNamesItsHolder) {
  auto lock = files_.Lock(Path("lock"));
  ASSERT_TRUE(lock.ok());
  const auto second = files_.Lock(Path("lock"));
  ASSERT_TRUE(absl::IsFailedPrecondition(second.status())) << second.status();
  EXPECT_NE(std::string(second.status().message()).find(std::to_string(::getpid())),
            std::string::npos);
  lock->reset();
  EXPECT_TRUE(files_.Lock(Path("lock")).ok());
}

TEST_F(PosixFileSystemTest, AFullDiskHasNoRoomForTheHoldersNameAndIsLockedAllTheSame) {
  ASSERT_EQ(::symlink("/dev/full", Path("lock").c_str()), 0);
  const auto lock = files_.Lock(Path("lock"));
  ASSERT_TRUE(lock.ok()) << lock.status();
  EXPECT_TRUE(absl::IsFailedPrecondition(files_.Lock(Path("lock")).status()));
}

TEST_F(PosixFileSystemTest, TellsSpaceAndDevice) {
  const auto space = files_.SpaceOf(directory_.path());
  ASSERT_TRUE(space.ok());
  EXPECT_GT(space->total_bytes, 0u);
  EXPECT_LE(space->available_bytes, space->total_bytes);
  EXPECT_EQ(*files_.DeviceOf(directory_.path()), *files_.DeviceOf(directory_.path()));
}

TEST_F(PosixFileSystemTest, APipeUnderAFilesNameIsRefusedAndNotWaitedFor) {
  ASSERT_EQ(::mkfifo(Path("log.1.0").c_str(), 0644), 0);
  const absl::Status refused = files_.OpenForRead(Path("log.1.0")).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << refused;
}

TEST_F(PosixFileSystemTest, ErrorsNameStepAndPath) {
  const auto status = files_.OpenForRead(Path("missing")).status();
  EXPECT_TRUE(absl::IsNotFound(status));
  EXPECT_NE(std::string(status.message()).find("open"), std::string::npos);
  EXPECT_NE(std::string(status.message()).find(Path("missing")), std::string::npos);
  EXPECT_TRUE(absl::IsResourceExhausted(PosixError(ENOSPC, "write", "f")));
  EXPECT_TRUE(absl::IsPermissionDenied(PosixError(EROFS, "write", "f")));
  EXPECT_TRUE(absl::IsPermissionDenied(PosixError(EACCES, "open", "/proc/no/such")));
}

constexpr uid_t kNobody = 65534;

// What user kNobody is told. Of root only.
std::string ToldToNobody(const std::string& path) {
  int ends[2];
  CHECK_EQ(pipe(ends), 0);
  const pid_t child = fork();
  if (child == 0) {
    CHECK_EQ(setgroups(0, nullptr) | setgid(kNobody) | setuid(kNobody), 0);
    const std::string told = WhoIsRefused(path);
    CHECK_EQ(write(ends[1], told.data(), told.size()), static_cast<ssize_t>(told.size()));
    _exit(0);
  }
  close(ends[1]);
  std::string told(1000, '\0');
  told.resize(static_cast<size_t>(std::max<ssize_t>(read(ends[0], told.data(), told.size()), 0)));
  close(ends[0]);
  waitpid(child, nullptr, 0);
  return told;
}

TEST_F(PosixFileSystemTest, WhoIsRefusedIsToldWhatIsInTheWay) {
  if (geteuid() != 0) GTEST_SKIP() << "gives files to another user";
  const std::string& top = directory_.path();
  const std::string remedy =
      absl::StrCat(", and this server runs as user ", kNobody, ": give it to that user (chown -R)");
  const auto roots = [&](const std::string& path, const char* mode) {
    return absl::StrCat("; ", path, " belongs to user 0, group 0, mode ", mode, remedy);
  };
  EXPECT_EQ(ToldToNobody(Path("d/f")), roots(top, "0700")) << "what can't be seen";
  ASSERT_EQ(chmod(top.c_str(), 0755), 0);
  EXPECT_EQ(ToldToNobody(Path("d/f")), roots(top, "0755")) << "what is to be made";
  ASSERT_EQ(mkdir(Path("d").c_str(), 0700), 0);
  ASSERT_EQ(chown(Path("d").c_str(), kNobody, 0), 0);
  EXPECT_EQ(ToldToNobody(Path("d")), roots(top, "0755")) << "its name is another's";
  ASSERT_TRUE(WriteFileDurably(files_, Path("d/f"), "x").ok());
  EXPECT_EQ(ToldToNobody(Path("d/f")), roots(Path("d/f"), "0644"));
  ASSERT_EQ(chown(Path("d/f").c_str(), kNobody, 0) | chmod(Path("d/f").c_str(), 0400), 0);
  EXPECT_EQ(
      ToldToNobody(Path("d/f")),
      absl::StrCat("; ", Path("d/f"), " belongs to user ", kNobody, ", group 0, mode 0400, ",
                   "and this server runs as user ", kNobody, ": let it write there (chmod u+rwX)"));
  ASSERT_EQ(chmod(Path("d/f").c_str(), 0600), 0);
  EXPECT_EQ(ToldToNobody(Path("d/f")),
            absl::StrCat("; owner and mode of ", Path("d/f"),
                         " allow it: look at lsattr, at security modules and at ReadWritePaths= of "
                         "the service"));
}

}  // namespace
}  // namespace arion
