// SPDX-License-Identifier: Apache-2.0
#include "env/file_system.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "posix/posix_file_system.h"
#include "tests/support/temp_directory.h"

namespace arion {
namespace {

TEST(PathTest, JoinParentAndBaseAgree) {
  EXPECT_EQ(JoinPath("/a/b", "c"), "/a/b/c");
  EXPECT_EQ(JoinPath("/a/b/", "c"), "/a/b/c");
  EXPECT_EQ(JoinPath("", "c"), "c");
  EXPECT_EQ(JoinPath("/", "c"), "/c");
  EXPECT_EQ(ParentDirectory("/a/b/c"), "/a/b");
  EXPECT_EQ(ParentDirectory("/a/b/"), "/a");
  EXPECT_EQ(ParentDirectory("/a"), "/");
  EXPECT_EQ(ParentDirectory("/"), "/");
  EXPECT_EQ(ParentDirectory("a"), ".");
  EXPECT_EQ(BaseName("/a/b/c"), "c");
  EXPECT_EQ(BaseName("/a/b/"), "b");
  EXPECT_EQ(BaseName("a"), "a");
}

TEST(PathTest, WithinADirectoryIsWhatLiesBelowItAndNotWhatBeginsLikeIt) {
  for (const char* path : {"/d/1", "/d/1/", "/d/1/reps", "/d/1/reps/2.1.pegasus"}) {
    EXPECT_TRUE(IsWithin(path, "/d/1")) << path;
    EXPECT_TRUE(IsWithin(path, "/d/1/")) << path;
    EXPECT_TRUE(IsWithin(path, "/")) << path;
  }
  for (const char* path : {"/d/10", "/d/10/reps", "/d", "d/1", ""})
    EXPECT_FALSE(IsWithin(path, "/d/1")) << path;
}

TEST(WriteFileDurablyTest, ReplacesTheWholeFile) {
  TempDirectory directory;
  PosixFileSystem files;
  const std::string path = directory.path() + "/f";
  ASSERT_TRUE(WriteFileDurably(files, path, "a longer text").ok());
  ASSERT_TRUE(WriteFileDurably(files, path, "short").ok());
  EXPECT_EQ(*ReadFile(files, path), "short");
  EXPECT_EQ(files.List(directory.path())->size(), 1u);
  EXPECT_TRUE(Exists(files, path));
  EXPECT_FALSE(Exists(files, path + ".tmp"));
}

TEST(IsThereTest, AnErrorIsNotAbsence) {
  TempDirectory directory;
  PosixFileSystem files;
  const std::string path = directory.path() + "/f", loop = directory.path() + "/loop";
  ASSERT_TRUE(WriteFileDurably(files, path, "").ok());
  ASSERT_EQ(::symlink(loop.c_str(), loop.c_str()), 0);
  EXPECT_TRUE(*IsThere(files, path));
  EXPECT_FALSE(*IsThere(files, path + "2"));
  EXPECT_FALSE(Exists(files, loop + "/f"));
  EXPECT_FALSE(IsThere(files, loop + "/f").ok());
}

// RocksDB writes "No space left on device" before whatever it may try again.
TEST(WantTest, IsToldByTheSystemsWordsWhateverStandsBeforeThem) {
  EXPECT_EQ(WantIn("No space left on device: /a: Too many open files"), Want::kOpenFiles);
  EXPECT_EQ(WantIn("Cannot allocate memory"), Want::kMemory);
  EXPECT_EQ(WantIn("No space left on device: Read-only file system"), Want::kPermission);
  EXPECT_EQ(WantIn("No space left on device"), Want::kSpace);
  EXPECT_EQ(WantIn("Input/output error"), std::nullopt);
  EXPECT_TRUE(LacksSpace(absl::ResourceExhaustedError("no room")));
  EXPECT_FALSE(LacksSpace(absl::ResourceExhaustedError("Too many open files")));
  EXPECT_FALSE(LacksSpace(absl::PermissionDeniedError("no space left")));
}

TEST(ReadFileTest, ReadsFilesLargerThanAChunk) {
  TempDirectory directory;
  PosixFileSystem files;
  const std::string path = directory.path() + "/f";
  std::string content(9 << 20, 'x');
  content.back() = 'y';
  ASSERT_TRUE(WriteFileDurably(files, path, content).ok());
  EXPECT_EQ(*ReadFile(files, path), content);
  EXPECT_TRUE(absl::IsNotFound(ReadFile(files, path + "2").status()));
}

}  // namespace
}  // namespace arion
