// The files of a shared log: what is a whole log, and which folder holds one. SPDX-License-Identifier: Apache-2.0
#include "legacy/shared_log_catalog.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/fuzz/memory_files.h"
#include "tests/legacy/shared_log_bytes.h"

namespace arion {
namespace {

using testing::HasSubstr;

constexpr char kListed[] = "/slog";
constexpr PartitionId kListedReplica{1, 0};

class SharedLogCatalogTest : public testing::Test {
 protected:
  SharedLogCatalogTest() {
    log_.Register(kListedReplica);
    for (int64_t decree = 1; decree <= 3; ++decree) {
      log_.NewFile();
      log_.Add({{.pid = kListedReplica,
                 .ballot = Ballot(3),
                 .decree = Decree(decree),
                 .last_committed = Decree(decree - 1)}});
    }
    log_files_ = log_.files();
    EXPECT_TRUE(log_.Store(files_, kListed).ok());
  }
  std::string PathOf(size_t i) const { return JoinPath(kListed, log_files_[i].name.ToString()); }
  absl::Status Refused() {
    const absl::Status status = ListSharedLog(files_, kListed).status();
    EXPECT_FALSE(status.ok());
    return status;
  }
  void Rename(size_t i, const LogFileName& name) {
    const std::string bytes = files_.Content(PathOf(i));
    ASSERT_TRUE(files_.Remove(PathOf(i)).ok());
    files_.Put(JoinPath(kListed, name.ToString()), bytes);
  }

  MemoryFiles files_;
  SharedLogBytes log_;
  std::vector<SharedLogBytes::File> log_files_;
};

TEST_F(SharedLogCatalogTest, FilesAreListedWithWhatAllEarlierOnesHold) {
  const auto catalog = ListSharedLog(files_, kListed);
  ASSERT_TRUE(catalog.ok()) << catalog.status();
  ASSERT_EQ(catalog->files.size(), 3u);
  EXPECT_EQ(catalog->files[0].EarlierMaxOf(kListedReplica), Decree(0));
  EXPECT_EQ(catalog->files[2].EarlierMaxOf(kListedReplica), Decree(2));
  EXPECT_EQ(catalog->files[2].EarlierMaxOf({9, 9}), std::nullopt);
  EXPECT_EQ(catalog->files[0].end_offset(), catalog->files[1].name.start_offset);
  EXPECT_EQ(catalog->PathOf(catalog->files[1]), PathOf(1));
  uint64_t bytes = 0;
  for (size_t i = 0; i < 3; ++i) bytes += files_.Content(PathOf(i)).size();
  EXPECT_EQ(catalog->bytes(), bytes);
}

TEST_F(SharedLogCatalogTest, NoFolderIsAnEmptyLog) {
  const auto catalog = ListSharedLog(files_, "/nowhere");
  ASSERT_TRUE(catalog.ok());
  EXPECT_TRUE(catalog->files.empty());
}

TEST_F(SharedLogCatalogTest, AHoleIsDamageThatNamesBothSidesOfIt) {
  ASSERT_TRUE(files_.Remove(PathOf(1)).ok());
  const absl::Status status = Refused();
  EXPECT_TRUE(absl::IsDataLoss(status));
  EXPECT_THAT(status.message(), HasSubstr(PathOf(2) + ": the file before it is " +
                                          log_files_[0].name.ToString() + ": a hole"));
}

TEST_F(SharedLogCatalogTest, TwoFilesOfOneIndexAreDamage) {
  LogFileName name = log_files_[2].name;
  name.index = log_files_[1].name.index;
  Rename(2, name);
  EXPECT_THAT(Refused().message(), HasSubstr("same index as"));
}

TEST_F(SharedLogCatalogTest, AFileThatStartsBeforeItsPredecessorIsDamage) {
  LogFileName name = log_files_[2].name;
  name.start_offset = log_files_[1].name.start_offset - 1;
  Rename(2, name);
  EXPECT_THAT(Refused().message(), HasSubstr("starts before"));
}

TEST_F(SharedLogCatalogTest, AFolderWithALogsNameIsRefused) {
  ASSERT_TRUE(files_.CreateDirectories(JoinPath(kListed, "log.4.99999")).ok());
  EXPECT_TRUE(absl::IsFailedPrecondition(Refused()));
}

TEST_F(SharedLogCatalogTest, AnEmptyNewestFileIsIgnoredAndAnEmptyOlderOneIsDamage) {
  files_.Put(PathOf(2), "");
  const auto catalog = ListSharedLog(files_, kListed);
  ASSERT_TRUE(catalog.ok()) << catalog.status();
  EXPECT_EQ(catalog->files.size(), 2u);
  EXPECT_EQ(catalog->ignored.size(), 1u);
  files_.Put(PathOf(0), "");
  EXPECT_TRUE(absl::IsDataLoss(ListSharedLog(files_, kListed).status()));
}

TEST_F(SharedLogCatalogTest, TwoSharedLogsAreRefusedAndNamed) {
  ASSERT_TRUE(log_.Store(files_, "/other/slog").ok());
  const std::vector<std::string> both = {kListed, "/other/slog"};
  const auto found = FindSharedLog(files_, both);
  EXPECT_TRUE(absl::IsFailedPrecondition(found.status())) << found.status();
  EXPECT_NE(found.status().message().find("/other/slog"), std::string::npos);
  const std::vector<std::string> one = {kListed, "/nowhere"};
  EXPECT_EQ(*FindSharedLog(files_, one), kListed);
}

// Its disk fails.
class UnreadableFiles : public MemoryFiles {
 public:
  absl::StatusOr<FileStatus> Stat(const std::string& path) override {
    return absl::InternalError(path + ": Input/output error");
  }
};
TEST(FindSharedLogTest, AFolderThatCanNotBeLookedAtIsNotTakenForNone) {
  UnreadableFiles files;
  EXPECT_FALSE(FindSharedLog(files, std::vector<std::string>{kListed}).ok());
}

}  // namespace
}  // namespace arion
