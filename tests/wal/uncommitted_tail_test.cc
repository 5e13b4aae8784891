// SPDX-License-Identifier: Apache-2.0
#include "wal/uncommitted_tail.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>

#include "posix/posix_file_system.h"
#include "tests/support/temp_directory.h"
#include "tests/wal/log_dump.h"

namespace arion {
namespace {

class UncommittedTailTest : public ::testing::Test {
 protected:
  // Puts these into a file and tells the tail of them.
  void Log(const std::vector<MutationPtr>& mutations) {
    const std::string path = directory_.path() + "/" + std::to_string(files_.size());
    std::string bytes;
    for (const MutationPtr& m : mutations) {
      const size_t position = bytes.size();
      AppendMutation(*m, static_cast<int64_t>(position), &bytes);
      std::string_view rest = std::string_view(bytes).substr(position);
      MutationView view;
      ASSERT_TRUE(TakeMutationView(&rest, &view).ok());
      tail_.Add(view, files_.size(), position);
    }
    std::ofstream(path, std::ios::binary) << bytes;
    files_.push_back(path);
  }
  ReadFileResult Written() {
    const std::string path = directory_.path() + "/new";
    const auto size =
        tail_.WriteFile(disk_, files_, path, 5000, {.pid = kTestPid, .max_decree = Decree(9)});
    EXPECT_TRUE(size.ok()) << size.status();
    const std::string bytes = Slurp(path);
    EXPECT_EQ(bytes.size(), *size);
    return ReadAll(bytes, 5000);
  }
  std::vector<std::pair<int64_t, int64_t>> WrittenDecreesAndBallots() {
    std::vector<std::pair<int64_t, int64_t>> all;
    for (const LogBlock& block : Written().blocks)
      for (const MutationPtr& m : block.mutations)
        all.emplace_back(m->decree.value(), m->ballot.value());
    return all;
  }

  TempDirectory directory_;
  PosixFileSystem disk_;
  UncommittedTail tail_{Decree(2)};
  std::vector<std::string> files_;
};

using Pairs = std::vector<std::pair<int64_t, int64_t>>;

TEST_F(UncommittedTailTest, WhatIsSaidToBeCommittedOrAppliedIsNotKept) {
  Log({MakeMutation(1, 10, 3, 0), MakeMutation(2, 10, 3, 0)});
  EXPECT_TRUE(tail_.empty()) << "applied";
  Log({MakeMutation(3, 10, 3, 0), MakeMutation(4, 10, 3, 2), MakeMutation(5, 10, 3, 3)});
  EXPECT_EQ(WrittenDecreesAndBallots(), (Pairs{{4, 3}, {5, 3}}));
  Log({MakeMutation(6, 10, 3, 5)});
  EXPECT_EQ(WrittenDecreesAndBallots(), (Pairs{{6, 3}}));
}

TEST_F(UncommittedTailTest, TheLargerBallotCountsThenTheLater) {
  Log({MakeMutation(3, 10, 5, 0), MakeMutation(3, 20, 4, 0), MakeMutation(4, 30, 4, 0)});
  Log({MakeMutation(4, 40, 4, 0)});
  const ReadFileResult read = Written();
  ASSERT_EQ(read.blocks.size(), 2u);
  ASSERT_EQ(read.blocks[1].mutations.size(), 2u);
  EXPECT_TRUE(SameMutation(*read.blocks[1].mutations[0], *MakeMutation(3, 10, 5, 0)));
  EXPECT_TRUE(SameMutation(*read.blocks[1].mutations[1], *MakeMutation(4, 40, 4, 0)));
  EXPECT_EQ(read.end, LogEnd::kEof);
}

TEST_F(UncommittedTailTest, LargeTailsAreCutIntoBlocks) {
  std::vector<MutationPtr> mutations;
  for (int64_t d = 3; d <= 30; ++d) mutations.push_back(MakeMutation(d, 100000, 3, 0));
  Log(mutations);
  const ReadFileResult read = Written();
  EXPECT_EQ(read.blocks.size(), 4u);
  EXPECT_EQ(read.blocks[0].header->Find(kTestPid)->max_decree, Decree(9));
  size_t count = 0;
  for (const LogBlock& block : read.blocks) count += block.mutations.size();
  EXPECT_EQ(count, 28u);
}

TEST_F(UncommittedTailTest, AFileThatChangedMeanwhileIsNamed) {
  Log({MakeMutation(3, 100, 3, 0)});
  std::filesystem::resize_file(files_[0], 20);
  const absl::Status status =
      tail_.WriteFile(disk_, files_, directory_.path() + "/new", 0, {}).status();
  EXPECT_TRUE(absl::IsDataLoss(status)) << status;
  EXPECT_THAT(std::string(status.message()), ::testing::HasSubstr(files_[0]));
}

using UncommittedTailDeathTest = UncommittedTailTest;

TEST_F(UncommittedTailDeathTest, WhatIsWrittenAnewIsOfFilesOfTheLog) {
  Log({MakeMutation(3, 10, 3, 2)});
  files_.clear();
  EXPECT_DEATH(Written(), "not part of the log");
}

}  // namespace
}  // namespace arion
