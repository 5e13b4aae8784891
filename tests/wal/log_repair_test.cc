// SPDX-License-Identifier: Apache-2.0
#include "wal/log_repair.h"
#include "wal/log_recovery.h"

#include <gmock/gmock.h>

#include <string>
#include <utility>
#include <vector>

#include "base/mutation_view.h"
#include "tests/wal/log_world.h"
#include "tests/wal/memory_file.h"

namespace arion {
namespace {

using ::testing::ElementsAre;
using ::testing::UnorderedElementsAre;

// Two files of our own, the second of which may be torn, as recovery judges them.
class LogRepairTest : public ::testing::Test {
 protected:
  // A file with these bytes, of which the first `content` are content.
  JudgedFile Put(LogFileName name, const std::string& bytes, size_t content) {
    w.Put(name.ToString(), bytes);
    w.node().disk().MakeDurable();
    JudgedFile file;
    file.entry.name = name;
    file.entry.file_name = name.ToString();
    file.entry.content_bytes = content;
    file.size = file.cut_end = bytes.size();
    file.status = *w.files().Stat(JoinPath(kLogDirectory, name.ToString()));
    file.written_as = Durability::kFsync;
    file.has_first_block = content > 0;
    file.last_block = kFirstBlockBytes;
    if (content == 0) file.fate = JudgedFile::Fate::kSetAside;
    return file;
  }
  absl::Status Repair() {
    absl::Status status;
    w.env().RunInPool(
        [&] { status = LogRepair(w.files(), options, &summary).Run(std::move(judged), &log); });
    return status;
  }

  LogWorld w;
  PrivateLogOptions options = TestLogOptions();
  ReplaySummary summary;
  JudgedLog judged{.uncommitted = UncommittedTail(Decree(0))};
  RecoveredLog log;
  const std::string first = TestLogBytes({{MakeMutation(1, 50)}});
  const int64_t first_end = static_cast<int64_t>(first.size());
  const LogFileName second{2, first_end};
};

TEST_F(LogRepairTest, ATornTailIsCutAndKeptBeside) {
  judged.files.push_back(Put({1, 0}, first + "torn", first.size()));
  ASSERT_TRUE(Repair().ok());
  EXPECT_THAT(w.Names(), UnorderedElementsAre("log.1.0", "log.1.0.tail"));
  EXPECT_EQ(w.Content("log.1.0"), first);
  EXPECT_EQ(w.Content("log.1.0.tail"), "torn");
  EXPECT_TRUE(summary.cut_tail);
  EXPECT_EQ(log.next_index, 2);
  EXPECT_EQ(log.end_offset, first_end);
  EXPECT_EQ(log.identity.files.size(), 1u);
}

TEST_F(LogRepairTest, WhatIsNotWorthSavingIsCutWithoutATrace) {
  judged.files.push_back(Put({1, 0}, first + std::string(100, '\0'), first.size()));
  judged.files.back().cut_end = first.size();
  ASSERT_TRUE(Repair().ok());
  EXPECT_THAT(w.Names(), ElementsAre("log.1.0"));
  EXPECT_EQ(w.Content("log.1.0"), first);
  EXPECT_FALSE(summary.cut_tail);
}

TEST_F(LogRepairTest, AFileOfOtherOriginIsNeverCut) {
  judged.files.push_back(Put({1, 0}, first + "torn", first.size()));
  judged.files.back().written_as = std::nullopt;
  ASSERT_TRUE(Repair().ok());
  EXPECT_EQ(w.Content("log.1.0"), first + "torn");
  EXPECT_TRUE(log.identity.files.empty());
  ASSERT_EQ(log.files.size(), 1u);
  EXPECT_EQ(log.end_offset, first_end) << "what lies behind the content is dead";
}

TEST_F(LogRepairTest, FilesWithoutContentGoAndTheirBytesAreKept) {
  judged.files.push_back(Put({1, 0}, first, first.size()));
  judged.files.push_back(Put(second, "half a block", 0));
  judged.spares = {"spare.3"};
  w.Put("spare.3", "zeros");
  ASSERT_TRUE(Repair().ok());
  EXPECT_THAT(w.Names(), UnorderedElementsAre("log.1.0", second.ToString() + ".tail"));
  EXPECT_EQ(w.Content(second.ToString() + ".tail"), "half a block");
  EXPECT_EQ(log.next_index, 2) << "its index is free again";
}

TEST_F(LogRepairTest, WhatNothingCallsCommittedIsWrittenAnew) {
  constexpr size_t kAt = kFirstBlockBytes + kBlockHeaderBytes;
  judged.files.push_back(Put({1, 0}, first, first.size()));
  std::string_view bytes = std::string_view(first).substr(kAt);
  MutationView view;
  ASSERT_TRUE(TakeMutationView(&bytes, &view).ok());
  judged.uncommitted.Add(view, 0, kAt);
  log.max_decree = Decree(1);
  ASSERT_TRUE(Repair().ok());
  ASSERT_EQ(log.files.size(), 2u);
  EXPECT_EQ(log.files[1].name, second);
  EXPECT_EQ(log.next_index, 3);
  EXPECT_EQ(w.Content(second.ToString()), TestLogBytes({{MakeMutation(1, 50)}}, first_end, 1));
  EXPECT_EQ(ReadLogIdentity(w.files(), kIdentityPath)->files.size(), 2u)
      << "durable before the name";
}

TEST_F(LogRepairTest, AfterACleanStopWhatIsUncommittedIsDurableAlready) {
  constexpr size_t kAt = kFirstBlockBytes + kBlockHeaderBytes;
  judged.files.push_back(Put({1, 0}, first, first.size()));
  std::string_view bytes = std::string_view(first).substr(kAt);
  MutationView view;
  ASSERT_TRUE(TakeMutationView(&bytes, &view).ok());
  judged.uncommitted.Add(view, 0, kAt);
  summary.was_clean = true;
  ASSERT_TRUE(Repair().ok());
  EXPECT_EQ(log.files.size(), 1u);
}

TEST_F(LogRepairTest, ALogThatEndsBeforeItsValidStartIsSetAsideAsAWhole) {
  options.valid_start_offset = first_end + 1000;
  judged.files.push_back(Put({1, 0}, first, first.size()));
  ASSERT_TRUE(Repair().ok());
  EXPECT_THAT(w.Names(), ElementsAre("log.1.0.removed"));
  EXPECT_TRUE(log.files.empty());
  EXPECT_EQ(log.end_offset, first_end + 1000);
  EXPECT_EQ(log.next_index, 2) << "an index is not used twice";
}

TEST_F(LogRepairTest, OutdatedFilesGoOldestFirst) {
  judged.outdated.push_back(Put({1, 0}, first, first.size()));
  judged.files.push_back(
      Put(second, TestLogBytes({{MakeMutation(2, 50)}}, first_end, 1), first.size()));
  ASSERT_TRUE(Repair().ok());
  EXPECT_THAT(w.Names(), ElementsAre(second.ToString()));
  EXPECT_EQ(log.files.size(), 1u);
}

using LogRepairDeathTest = LogRepairTest;

TEST_F(LogRepairDeathTest, AFileOfOtherOriginIsNotRemoved) {
  judged.files.push_back(Put({1, 0}, "foreign", 0));
  judged.files.back().written_as = std::nullopt;
  EXPECT_DEATH((void)Repair(), "log_recovery/V3");
}

TEST_F(LogRepairDeathTest, WhatIsKeptLiesBeforeWhatIsSetAside) {
  judged.files.push_back(Put({1, 0}, first, 0));
  judged.files.push_back(Put(second, TestLogBytes({}, first_end, 1), kFirstBlockBytes));
  EXPECT_DEATH((void)Repair(), "log_recovery/V2");
}

}  // namespace
}  // namespace arion
