// SPDX-License-Identifier: Apache-2.0
#include "wal/log_identity.h"

#include <gtest/gtest.h>

#include <string>

#include "base/crc.h"
#include "base/status.h"

namespace arion {
namespace {

FileStatus Status(uint64_t inode, int64_t birth) { return {.inode = inode, .birth_nanos = birth}; }

TEST(LogIdentityTest, ComesBackAsWritten) {
  LogIdentity identity;
  identity.Add(Status(11, 1700000000123456789), Durability::kFsync, 7);
  identity.Add(Status(18446744073709551615ull, 0), Durability::kOs);
  for (const bool clean : {false, true}) {
    identity.clean = clean;
    const auto parsed = LogIdentity::Parse(identity.Format());
    ASSERT_TRUE(parsed.ok());
    EXPECT_EQ(parsed->files, identity.files);
    EXPECT_EQ(parsed->folder, identity.folder);
    EXPECT_EQ(parsed->clean, clean);
    identity.SetFolder(Status(5, 6), {});
  }
}

LogIdentity Closed() {
  LogIdentity identity;
  identity.Add(Status(11, 5), Durability::kFsync);
  identity.clean = true;
  identity.last_file.emplace(LogIdentity::LastFile{
      .index = 7,
      .content_bytes = 700000,
      .max_ballot = Ballot(3),
      .marks = {{.position = 131072, .crc = 4294967295u, .max_decree = Decree(12)},
                {.position = 300000, .crc = 0, .max_decree = Decree(20)}}});
  return identity;
}

TEST(LogIdentityTest, WhatIsKnownOfTheLastFileComesBackUntilSomethingIsWritten) {
  LogIdentity identity = Closed();
  EXPECT_EQ(LogIdentity::Parse(identity.Format())->last_file, identity.last_file);
  identity.MarkUnclean();
  EXPECT_EQ(LogIdentity::Parse(identity.Format())->last_file, std::nullopt);
}

TEST(LogIdentityTest, AFileIsOursOnlyWithItsBirthTime) {
  LogIdentity identity;
  identity.Add(Status(11, 5), Durability::kOs);
  EXPECT_EQ(identity.Find(Status(11, 5)), Durability::kOs);
  EXPECT_EQ(identity.Find(Status(11, 6)), std::nullopt);
  EXPECT_EQ(identity.Find(Status(12, 5)), std::nullopt);
  identity.Add(Status(11, 6), Durability::kFsync);  // the inode was used again
  EXPECT_EQ(identity.Find(Status(11, 5)), std::nullopt);
  EXPECT_EQ(identity.Find(Status(11, 6)), Durability::kFsync);
  identity.Remove(Status(11, 6));
  EXPECT_TRUE(identity.files.empty());
}

TEST(LogIdentityTest, WhatEarlierVersionsWroteIsRead) {
  std::string text = "arion-log 1\nfile 11 5 fsync\n";
  absl::StrAppendFormat(&text, "crc %08x\n", Crc32c(text));
  const auto parsed = LogIdentity::Parse(text);
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_EQ(parsed->Find(Status(11, 5)), Durability::kFsync);
  EXPECT_FALSE(parsed->folder.has_value());
}

LogIdentity WrittenIn(const FileStatus& folder) {
  LogIdentity identity;
  identity.SetFolder(folder, {});
  identity.Add(Status(11, 5), Durability::kOs, 1);
  identity.Add(Status(12, 6), Durability::kFsync, 2);
  return identity;
}

TEST(LogIdentityTest, FilesOfACopiedFolderAreOurs) {
  LogIdentity identity = WrittenIn(Status(3, 4));
  ASSERT_TRUE(identity.SetFolder(
      Status(300, 400), {{Status(110, 50), 1}, {Status(120, 60), 2}, {Status(130, 70), 3}}));
  EXPECT_EQ(identity.Find(Status(110, 50)), Durability::kOs);
  EXPECT_EQ(identity.Find(Status(120, 60)), Durability::kFsync);
  EXPECT_EQ(identity.Find(Status(130, 70)), Durability::kFsync)
      << "used again under a later index: was made durably";
  EXPECT_EQ(identity.Find(Status(11, 5)), std::nullopt);
  // It lies here now.
  EXPECT_FALSE(identity.SetFolder(Status(300, 400), {{Status(140, 80), 4}}));
  EXPECT_EQ(identity.Find(Status(140, 80)), std::nullopt);
}

TEST(LogIdentityTest, InTheSameFolderWhatWeDidNotWriteIsOfOtherOrigin) {
  LogIdentity identity = WrittenIn(Status(3, 4));
  EXPECT_FALSE(identity.SetFolder(Status(3, 4), {{Status(110, 50), 1}}));
  EXPECT_EQ(identity.Find(Status(110, 50)), std::nullopt);
}

TEST(LogIdentityTest, AfterACleanStopACopyIsOfOtherOrigin) {
  LogIdentity identity = WrittenIn(Status(3, 4));
  identity.clean = true;
  EXPECT_FALSE(identity.SetFolder(Status(300, 400), {{Status(110, 50), 1}}));
  EXPECT_EQ(identity.Find(Status(110, 50)), std::nullopt);
}

TEST(LogIdentityTest, AnyDamageIsSeen) {
  const LogIdentity identity = Closed();
  const std::string text = identity.Format();
  for (size_t i = 0; i < text.size(); ++i) {
    std::string damaged = text;
    damaged[i] = static_cast<char>(damaged[i] ^ 1);
    EXPECT_TRUE(absl::IsDataLoss(LogIdentity::Parse(damaged).status())) << i;
    EXPECT_TRUE(absl::IsDataLoss(LogIdentity::Parse(text.substr(0, i)).status())) << i;
  }
}

TEST(LogIdentityDeathTest, TheNewestFileIsToldOfACleanStopOnly) {
  LogIdentity identity = Closed();
  identity.clean = false;
  EXPECT_DEATH(identity.Format(), "written since");
  identity.MarkUnclean();
  EXPECT_TRUE(LogIdentity::Parse(identity.Format()).ok());
}

}  // namespace
}  // namespace arion
