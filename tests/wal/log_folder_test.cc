// SPDX-License-Identifier: Apache-2.0
#include "wal/log_folder.h"

#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "tests/wal/log_world.h"

namespace arion {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

constexpr uint64_t kCapacity = 64 << 10;

// A folder without files, of a log that writes ahead.
class LogFolderTest : public ::testing::Test {
 protected:
  LogFolderTest() {
    EXPECT_TRUE(w.files().CreateDirectories(kLogDirectory).ok());
    EXPECT_TRUE(w.files().SyncDirectory("/data/2.1.pegasus").ok());
    w.env().RunInPool([&] {
      folder = std::make_unique<LogFolder>(w.env(), TestLogOptions(), LogIdentity{}, kCapacity);
    });
  }
  absl::Status Do(absl::FunctionRef<absl::Status()> step) {
    absl::Status status;
    w.env().RunInPool([&] { status = step(); });
    return status;
  }
  // The file, filled with zeros up to `fill_bytes`.
  OpenLogFile Make(LogFileName name, uint64_t fill_bytes) {
    OpenLogFile made;
    EXPECT_TRUE(Do([&] {
                  auto file = folder->MakeFile(name, fill_bytes);
                  if (file.ok()) made = *std::move(file);
                  return file.status();
                }).ok());
    return made;
  }
  LogIdentity Identity() { return *ReadLogIdentity(w.files(), kIdentityPath); }

  LogWorld w;
  std::unique_ptr<LogFolder> folder;
};

TEST_F(LogFolderTest, ASpareGetsItsNameAndIsNoSpareAnyMore) {
  ASSERT_TRUE(Do([&] { return folder->MakeSpare(1, 4096); }).ok());
  ASSERT_TRUE(Do([&] { return folder->MakeSpare(2, 4096); }).ok()) << "there is one";
  EXPECT_THAT(w.Names(), ElementsAre("spare.1"));
  const OpenLogFile file = Make({1, 0}, 4096);
  EXPECT_THAT(w.Names(), ElementsAre("log.1.0"));
  EXPECT_EQ(file.synced_bytes, 4096u);
  EXPECT_EQ(w.Content("log.1.0"), std::string(4096, '\0'));
}

TEST_F(LogFolderTest, AFileHasItsLineBeforeItHasItsName) {
  ASSERT_TRUE(Do([&] { return folder->MakeSpare(1, 4096); }).ok());
  ASSERT_EQ(Identity().files.size(), 1u);
  EXPECT_EQ(Identity().files[0].index, 1);
  EXPECT_FALSE(Identity().clean);
  Make({1, 0}, 4096);
  EXPECT_EQ(Identity().Find(*w.files().Stat(JoinPath(kLogDirectory, "log.1.0"))),
            Durability::kFsync);
}

TEST_F(LogFolderTest, ANameOutlivesAPowerCut) {
  Make({1, 0}, 4096);
  folder.reset();
  w.Crash(sim::CrashMode::kPowerNone);
  EXPECT_THAT(w.Names(), ElementsAre("log.1.0"));
}

TEST_F(LogFolderTest, AFileGrowsByZerosBehindWhatWasSynced) {
  OpenLogFile file = Make({1, 0}, 4096);
  ASSERT_TRUE(Do([&] { return folder->Grow(&file, 3 * 4096); }).ok());
  EXPECT_EQ(file.synced_bytes, 3u * 4096);
  EXPECT_EQ(w.Content("log.1.0").size(), 3u * 4096);
}

TEST_F(LogFolderTest, AFileIsTrimmedToItsContent) {
  Make({1, 0}, 4096);
  ASSERT_TRUE(Do([&] { return folder->Trim({{"log.1.0", 100}}); }).ok());
  EXPECT_EQ(w.Content("log.1.0").size(), 100u);
}

TEST_F(LogFolderTest, ADroppedFileBecomesTheNextOne) {
  Make({1, 0}, kCapacity);
  Make({2, 500}, kCapacity);
  ASSERT_TRUE(Do([&] { return folder->Remove({"log.1.0"}, LogFolder::Keep::kSome); }).ok());
  EXPECT_THAT(w.Names(), UnorderedElementsAre("log.2.500", "spare.1"));
  const OpenLogFile again = Make({3, 900}, 4096);
  EXPECT_THAT(w.Names(), UnorderedElementsAre("log.2.500", "log.3.900"));
  EXPECT_EQ(again.synced_bytes, kCapacity) << "nothing is written ahead a second time";
}

TEST_F(LogFolderTest, WhatIsNotKeptIsGone) {
  Make({1, 0}, kCapacity);
  Make({2, 500}, kCapacity);
  ASSERT_TRUE(Do([&] { return folder->Remove({"log.1.0"}, LogFolder::Keep::kNone); }).ok());
  EXPECT_THAT(w.Names(), ElementsAre("log.2.500"));
  ASSERT_TRUE(Do([&] { return folder->Remove({"log.2.500"}, LogFolder::Keep::kSome); }).ok());
  ASSERT_TRUE(Do([&] { return folder->RemoveKept(); }).ok());
  EXPECT_THAT(w.Names(), IsEmpty());
}

TEST_F(LogFolderTest, AFileThatSomebodyElseRemovedIsNamed) {
  Make({1, 0}, 4096);
  EXPECT_TRUE(Do([&] { return folder->CheckPresent({"log.1.0"}); }).ok());
  ASSERT_TRUE(w.files().Remove(JoinPath(kLogDirectory, "log.1.0")).ok());
  const absl::Status gone = Do([&] { return folder->CheckPresent({"log.1.0"}); });
  EXPECT_TRUE(absl::IsDataLoss(gone)) << gone;
  EXPECT_THAT(std::string(gone.message()), ::testing::HasSubstr("log.1.0 is gone"));
}

TEST_F(LogFolderTest, ACleanStopLeavesTheFilesAndNoSpare) {
  Make({1, 0}, 4096);
  ASSERT_TRUE(Do([&] { return folder->MakeSpare(2, 4096); }).ok());
  ASSERT_TRUE(Do([&] {
                return folder->MarkClean(LogIdentity::LastFile{.index = 1, .content_bytes = 100});
              }).ok());
  EXPECT_THAT(w.Names(), ElementsAre("log.1.0"));
  EXPECT_TRUE(Identity().clean);
  EXPECT_EQ(Identity().files.size(), 1u);
  ASSERT_TRUE(Identity().last_file.has_value());
  EXPECT_EQ(Identity().last_file->content_bytes, 100u);
}

TEST(LogFolderDeathTest, CutsNoFileInItsFirstBlock) {
  LogWorld w;
  const auto trim = [&w](uint64_t content_bytes) {
    w.env().RunInPool([&] {
      LogFolder folder(w.env(), TestLogOptions(), {}, 0);
      (void)folder.Trim({{.name = "log.1.0", .content_bytes = content_bytes}});
    });
  };
  EXPECT_DEATH(trim(0), "log_folder/F4");
  EXPECT_DEATH(trim(kFirstBlockBytes - 1), "log_folder/F4");
}

using LogFolderFullDeathTest = LogFolderTest;

TEST_F(LogFolderFullDeathTest, FillsNoFileBeyondItsCapacity) {
  OpenLogFile file = Make({1, 0}, 4096);
  EXPECT_DEATH((void)Do([&] { return folder->Grow(&file, kCapacity + 4096); }), "log_folder/F2");
  EXPECT_DEATH((void)Do([&] { return folder->MakeSpare(2, kCapacity + 4096); }), "log_folder/F2");
}

}  // namespace
}  // namespace arion
