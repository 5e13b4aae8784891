// SPDX-License-Identifier: Apache-2.0
#include "wal/log_survey.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/status.h"
#include "tests/fuzz/log_bytes.h"
#include "tests/fuzz/memory_files.h"

namespace arion {
namespace {

constexpr char kFolder[] = "/slog";

class LogSurveyTest : public ::testing::Test {
 protected:
  // The next file of the log, where the one before ended.
  std::string Add(FuzzLogShape shape) {
    shape.start_offset = end_;
    const std::string bytes = FuzzLog(shape);
    const std::string path =
        JoinPath(kFolder, LogFileName{.index = ++index_, .start_offset = end_}.ToString());
    files_.Put(path, bytes);
    end_ += static_cast<int64_t>(bytes.size());
    return path;
  }
  OldRuleReplay Replay() {
    const auto replay = ReplayByOldRule(
        files_, kFolder, *ListLogFolder(files_, kFolder),
        [](const std::string&, const SurveyedFile&) { return absl::OkStatus(); },
        [](const std::string&, const LogBlock&) { return absl::OkStatus(); });
    EXPECT_TRUE(replay.ok()) << replay.status();
    return *replay;
  }
  void Cut(const std::string& path, size_t size) {
    std::string bytes = files_.Content(path);
    bytes.resize(size);
    files_.Put(path, bytes);
  }

  MemoryFiles files_;
  int64_t index_ = 0;
  int64_t end_ = 0;
};

using Verdict = OldRuleReplay::Verdict;

TEST_F(LogSurveyTest, AFileIsCountedBlockByBlock) {
  const std::string path = Add({.blocks = 3, .mutations_per_block = 2, .pids = {{1, 0}, {2, 1}}});
  int blocks = 0;
  const auto survey = SurveyLogFile(files_, path, {.index = 1}, [&](const LogBlock&) {
    ++blocks;
    return absl::OkStatus();
  });
  ASSERT_TRUE(survey.ok()) << survey.status();
  EXPECT_EQ(blocks, 4);
  EXPECT_EQ(survey->blocks, 4);
  EXPECT_EQ(survey->mutations, 6);
  EXPECT_EQ(survey->end, LogEnd::kEof);
  EXPECT_EQ(survey->content_bytes, survey->size);
  const SurveyedPartition& first = survey->partitions.at({1, 0});
  EXPECT_EQ(first.mutations, 3);
  EXPECT_EQ(first.min_decree, Decree(2));
  EXPECT_EQ(first.max_decree, Decree(6));
}

TEST_F(LogSurveyTest, AnErrorOfTheSinkEndsTheSurvey) {
  const std::string path = Add({});
  EXPECT_TRUE(absl::IsAborted(SurveyLogFile(files_, path, {.index = 1}, [](const LogBlock&) {
                                return absl::AbortedError("enough");
                              }).status()));
}

TEST_F(LogSurveyTest, NamesAreSortedByWhatTheyAre) {
  for (const char* name : {"log.10.0", "log.9.0", "spare.11", "log.8.0.removed", "log.8.0.tail.2",
                           "notes", "log.1.18446744073709551616"})
    files_.Put(JoinPath(kFolder, name), "x");
  ASSERT_TRUE(files_.CreateDirectories(JoinPath(kFolder, "log.12.0")).ok());
  const auto names = ListLogFolder(files_, kFolder);
  ASSERT_TRUE(names.ok()) << names.status();
  ASSERT_EQ(names->logs.size(), 2u);
  EXPECT_EQ(names->logs[0].file_name, "log.9.0");
  EXPECT_EQ(names->spares, std::vector<std::string>{"spare.11"});
  EXPECT_EQ(names->kept, (std::vector<std::string>{"log.8.0.removed", "log.8.0.tail.2"}));
  EXPECT_EQ(names->strange, std::vector<std::string>{"notes"});
  EXPECT_EQ(names->refused.size(), 2u);
}

TEST_F(LogSurveyTest, FilesThatJoinAreReplayedToTheirEnd) {
  Add({});
  Add({.first_decree = 4});
  const OldRuleReplay replay = Replay();
  EXPECT_EQ(replay.verdict, Verdict::kOk);
  EXPECT_EQ(replay.mutations, 6);
  EXPECT_EQ(replay.end_offset, end_);
  EXPECT_FALSE(replay.has_torn_tail);
}

TEST_F(LogSurveyTest, ATornEndIsLegalWhereTheNextFileJoinsIt) {
  const std::string first = Add({});
  files_.Put(first, files_.Content(first) + "torn");
  Add({.first_decree = 4});
  EXPECT_EQ(Replay().verdict, Verdict::kOk);
  Cut(first, files_.Content(first).size() - 6);
  const OldRuleReplay replay = Replay();
  EXPECT_EQ(replay.verdict, Verdict::kDamaged);
  EXPECT_EQ(replay.mutations, 2);
}

TEST_F(LogSurveyTest, AHoleAndADoubleIndexAreFound) {
  Add({});
  ++index_;
  Add({.first_decree = 4});
  EXPECT_EQ(Replay().verdict, Verdict::kHole);
  files_.Put(JoinPath(kFolder, "log.1.77"), "");
  EXPECT_EQ(Replay().verdict, Verdict::kHole);
}

TEST_F(LogSurveyTest, AFileWithoutAFirstBlockIsSetAsideUnlessItIsCorrupt) {
  Add({});
  const std::string last = JoinPath(kFolder, absl::StrCat("log.2.", end_));
  files_.Put(last, "");
  OldRuleReplay replay = Replay();
  EXPECT_EQ(replay.verdict, Verdict::kOk);
  EXPECT_EQ(replay.without_first_block.size(), 1u);
  files_.Put(last, std::string(64, 'x'));
  EXPECT_EQ(Replay().verdict, Verdict::kDamaged);
}

}  // namespace
}  // namespace arion
