// SPDX-License-Identifier: Apache-2.0
#include "copies/learned_files.h"
#include "env/file_system.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>

#include "sim/sim_environment.h"
#include "sim/sim_world.h"
#include "sim_older/old_log.h"
#include "tests/support/fixtures.h"

namespace arion {
namespace {

using testing::HasSubstr;

constexpr PartitionId kOf{2, 1};

MutationPtr Put(int64_t ballot, int64_t decree, int64_t committed, std::string data) {
  Mutation m{.pid = kOf,
             .ballot = Ballot(ballot),
             .decree = Decree(decree),
             .last_committed = Decree(committed),
             .timestamp_us = decree};
  m.updates.push_back({WriteCode::kPut, 1, std::move(data)});
  return std::make_shared<const Mutation>(std::move(m));
}

using sim::OldLog;

class LearnedFilesTest : public testing::Test {
 protected:
  static MutationPtr Simple(int64_t decree) { return Put(3, decree, decree - 1, "v"); }
  void Write(int64_t first, int64_t last) {
    for (int64_t d = first; d <= last; ++d) log_.Append({Simple(d)});
  }
  // Copies the log and reads all of it; `status_` says how that ended.
  std::vector<MutationPtr> Read(int64_t applied, int64_t through, std::string buffered = "") {
    std::vector<MutationPtr> all;
    pieces_ = 0;
    env_.RunInPool([&] {
      ASSERT_TRUE(env_.files().RemoveAll("/learn").ok());
      ASSERT_TRUE(env_.files().CreateDirectories("/learn").ok());
      for (const auto& [name, bytes] : log_.files())
        ASSERT_TRUE(WriteFileDurably(env_.files(), JoinPath("/learn", name), bytes).ok());
      LearnedFiles files(
          env_.files(), "/learn", kOf,
          {.applied = Decree(applied), .through = Decree(through), .ballot = Ballot(3)},
          names_.value_or(log_.names()), std::move(buffered));
      for (bool has_more = true; has_more; ++pieces_) {
        auto piece = files.Next();
        status_ = piece.status();
        if (!piece.ok()) return;
        has_more = piece->has_more;
        uint64_t bytes = 0;
        for (MutationPtr& m : piece->mutations) {
          bytes += EncodedSize(*m);
          all.push_back(std::move(m));
        }
        EXPECT_LE(bytes, LearnedFiles::kPieceBytes + (2 << 20)) << "a block more at most";
      }
    });
    return all;
  }
  // How many decrees behind `applied` came, all of them in order.
  int64_t Count(int64_t applied, int64_t through, std::string buffered = "") {
    int64_t last = applied;
    for (const MutationPtr& m : Read(applied, through, std::move(buffered)))
      EXPECT_EQ(m->decree, Decree(++last));
    return last - applied;
  }
  void Damage(const std::string& name, size_t at) { log_.files()[name][at] ^= 4; }

  sim::SimWorld world_{1};
  sim::SimEnvironment& env_ = world_.AddNode("r1").Start();
  OldLog log_{kOf};
  std::optional<std::vector<std::string>> names_;
  absl::Status status_;
  int pieces_ = 0;
};

TEST_F(LearnedFilesTest, OneWholeFile) {
  Write(1, 20);
  EXPECT_EQ(Count(0, 20), 20);
  EXPECT_TRUE(status_.ok()) << status_;
  EXPECT_EQ(Count(7, 20), 13) << "its beginning is there already";
  EXPECT_TRUE(status_.ok()) << status_;
}

TEST_F(LearnedFilesTest, SeveralFilesInAnyOrder) {
  Write(1, 9);
  log_.SwitchFile();
  Write(10, 19);
  log_.SwitchFile();
  Write(20, 30);
  names_ = log_.names();
  std::reverse(names_->begin(), names_->end());
  EXPECT_EQ(Count(4, 30), 26);
  EXPECT_TRUE(status_.ok()) << status_;
}

TEST_F(LearnedFilesTest, AFileThatEndsInTheMidstOfABlockIsReadUpToThere) {
  Write(1, 20);
  const std::string whole = log_.bytes();
  Write(21, 21);
  const size_t torn = log_.bytes().size() - whole.size();
  for (size_t cut = 1; cut <= torn; ++cut) {
    log_.bytes().resize(whole.size() + torn - cut);
    EXPECT_EQ(Count(0, 20), 20) << cut;
    EXPECT_TRUE(status_.ok()) << status_;
  }
}

TEST_F(LearnedFilesTest, ATornEndThatLacksWhatWasCommittedTeachesWhatIsProvenAndIsSaid) {
  Write(1, 20);
  log_.Tear(10);
  EXPECT_EQ(Count(0, 20), 18) << "19 says so of 18";
  EXPECT_TRUE(absl::IsUnavailable(status_));
  EXPECT_THAT(std::string(status_.message()), HasSubstr("decree 20 is missing, committed is 20"));
}

// The header's block of the next file is not written yet.
TEST_F(LearnedFilesTest, ANewestFileWithoutAHeaderIsEmpty) {
  Write(1, 20);
  log_.SwitchFile();
  for (const size_t bytes : {59, 10, 0}) {
    log_.bytes().resize(bytes);
    EXPECT_EQ(Count(0, 20), 20) << bytes;
    EXPECT_TRUE(status_.ok()) << status_;
  }
}

// After a crash an older version begins its next file where the content ended.
TEST_F(LearnedFilesTest, WhatLiesBehindTheNextFilesBeginningIsDead) {
  Write(1, 10);
  log_.SwitchFile();
  Write(11, 20);
  log_.files()["log.1.0"] += std::string("\xEF\xBE\xAD\xDE torn", 9);
  EXPECT_EQ(Count(0, 20), 20);
  EXPECT_TRUE(status_.ok()) << status_;
}

TEST_F(LearnedFilesTest, ADamagedBlockOfTheFirstFileIsRefusedByName) {
  Write(1, 10);
  const size_t at = log_.bytes().size() + 30;
  Write(11, 20);
  log_.SwitchFile();
  Write(21, 30);
  Damage("log.1.0", at);
  EXPECT_EQ(Count(0, 30), 9) << "what a sound record proves";
  EXPECT_TRUE(absl::IsUnavailable(status_));
  EXPECT_THAT(std::string(status_.message()), HasSubstr("log file log.1.0 as it came: CORRUPT at"));
  EXPECT_EQ(Count(15, 30), 0) << "nothing behind it";
  EXPECT_TRUE(absl::IsUnavailable(status_));
}

TEST_F(LearnedFilesTest, DamageInTheLastFileIsNoTornEnd) {
  Write(1, 20);
  Damage("log.1.0", log_.bytes().size() - 5);
  EXPECT_EQ(Count(0, 20), 18);
  EXPECT_TRUE(absl::IsUnavailable(status_));
  EXPECT_THAT(std::string(status_.message()), HasSubstr("CORRUPT"));
}

TEST_F(LearnedFilesTest, ABlockThatClaimsToBeLongIsNoTornEnd) {
  Write(1, 18);
  const size_t at = log_.bytes().size();
  Write(19, 22);
  log_.bytes()[at + 6] = 1;  // of its length
  EXPECT_EQ(Count(0, 18), 17);
  EXPECT_TRUE(absl::IsUnavailable(status_));
  EXPECT_THAT(std::string(status_.message()), HasSubstr("a valid block follows"));
}

TEST_F(LearnedFilesTest, AnEarlierFileThatIsCutIsAHole) {
  Write(1, 10);
  log_.SwitchFile();
  Write(11, 20);
  log_.files()["log.1.0"].resize(log_.files()["log.1.0"].size() - 20);
  EXPECT_EQ(Count(0, 20), 8);
  EXPECT_TRUE(absl::IsUnavailable(status_));
  EXPECT_THAT(std::string(status_.message()), HasSubstr("TRUNCATED"));
}

TEST_F(LearnedFilesTest, EveryFlippedByteIsRefusedOrChangesNothing) {
  for (int64_t d = 1; d <= 6; ++d) {
    log_.Append({Simple(d)});
    if (d == 3) log_.SwitchFile();
  }
  for (const std::string& name : log_.names()) {
    for (size_t at = 0; at < log_.files()[name].size(); ++at) {
      SCOPED_TRACE(absl::StrCat(name, " ", at));
      Damage(name, at);
      for (const MutationPtr& m : Read(0, 6)) EXPECT_EQ(*m->updates.begin(), Simple(1)->updates[0]);
      Damage(name, at);
    }
  }
}

TEST_F(LearnedFilesTest, FilesThatBeginBehindWhatIsLackedTeachNothing) {
  OldLog late(kOf, 4, 5000);
  for (int64_t d = 50; d <= 60; ++d) late.Append({Simple(d)});
  log_ = std::move(late);
  EXPECT_EQ(Count(20, 60), 0);
  EXPECT_TRUE(absl::IsUnavailable(status_));
  EXPECT_THAT(std::string(status_.message()), HasSubstr("decree 21 is"));
}

TEST_F(LearnedFilesTest, AFileThatIsMissingInTheMidstIsRefused) {
  Write(1, 5);
  log_.SwitchFile();
  Write(6, 10);
  log_.SwitchFile();
  Write(11, 15);
  log_.files().erase(log_.names()[1]);
  EXPECT_EQ(Count(0, 15), 0);
  EXPECT_TRUE(absl::IsUnavailable(status_));
  EXPECT_THAT(std::string(status_.message()), HasSubstr("a hole"));
}

TEST_F(LearnedFilesTest, ALargerBallotLaterInTheFileCounts) {
  Write(1, 10);
  for (int64_t d = 11; d <= 13; ++d) log_.Append({Put(2, d, 10, "old")});
  log_.SwitchFile();
  for (int64_t d = 11; d <= 14; ++d) log_.Append({Put(3, d, 10, "new")});
  const std::vector<MutationPtr> read = Read(0, 14);
  ASSERT_EQ(read.size(), 14u) << status_;
  for (size_t i = 10; i < 14; ++i) EXPECT_EQ(read[i]->updates[0].data, "new");
}

// The primary learned these decrees anew; what its log held before is of another history.
TEST_F(LearnedFilesTest, WhatALaterHeaderCallsVoidIsLeftOut) {
  for (int64_t d = 1; d <= 20; ++d) log_.Append({Put(1, d, d - 1, "lost")});
  log_.SwitchFile(/*voids=*/true);
  Write(11, 30);
  const std::vector<MutationPtr> read = Read(10, 30);
  ASSERT_EQ(read.size(), 20u) << status_;
  for (const MutationPtr& m : read) EXPECT_EQ(m->updates[0].data, "v");
  EXPECT_EQ(Count(5, 30), 0) << "6 to 10 were its checkpoint's";
  EXPECT_TRUE(absl::IsUnavailable(status_));
}

TEST_F(LearnedFilesTest, WhatIsNotWrittenYetComesBehindTheFiles) {
  Write(1, 10);
  std::string buffered;
  for (int64_t d = 11; d <= 14; ++d) AppendMutation(*Put(3, d, 10, "v"), -1, &buffered);
  EXPECT_EQ(Count(0, 14, buffered), 14);
  EXPECT_TRUE(status_.ok()) << status_;
  EXPECT_EQ(Count(0, 9, "no mutation"), 9) << "they are not needed";
  EXPECT_EQ(Count(0, 14, "no mutation"), 9);
  EXPECT_TRUE(absl::IsUnavailable(status_));
}

TEST_F(LearnedFilesTest, ALongLogComesInPieces) {
  const std::string value(10 << 10, 'x');
  for (int64_t d = 1; d <= 900; ++d) {
    log_.Append({Put(3, d, d - 1, value)});
    if (d % 300 == 0) log_.SwitchFile();
  }
  EXPECT_EQ(Count(0, 900), 900);
  EXPECT_TRUE(status_.ok()) << status_;
  EXPECT_GT(pieces_, 20);
}

TEST_F(LearnedFilesTest, NamesThatAreNoLogsAreRefused) {
  for (const std::vector<std::string>& names :
       std::vector<std::vector<std::string>>{{"log.1"},
                                             {"../log.1.0"},
                                             {"log.1.0", "log.1.0"},
                                             {"log.1.0", "log.3.90"},
                                             {"log.1.90", "log.2.10"},
                                             {"log.1.9223372036854775807"},
                                             {"log.99999999999999999999.0"},
                                             {""}})
    EXPECT_TRUE(absl::IsUnavailable(LearnedFiles::CheckNames(names))) << names[0];
  EXPECT_TRUE(LearnedFiles::CheckNames({"log.2.500", "log.1.0"}).ok());
}

TEST_F(LearnedFilesTest, AFileThatIsGoneIsNoDamage) {
  Write(1, 10);
  names_ = {"log.1.0", "log.2.99"};
  Read(0, 10);
  EXPECT_TRUE(absl::IsNotFound(status_)) << status_;
}

// The log of a stopped 2.5.0 server.
TEST_F(LearnedFilesTest, ARealLog) {
  const std::string path = RealFixtures() + "/pegasus-2.5.0/replica1/reps/2.1.pegasus/plog/log.1.0";
  REQUIRE_FIXTURE(path);
  log_.bytes() = Slurp(path);
  EXPECT_EQ(Count(0, 290), 290);
  EXPECT_TRUE(status_.ok()) << status_;
  EXPECT_EQ(Count(0, 291), 291) << "the last one, by the primary's word";
  EXPECT_TRUE(status_.ok()) << status_;
}

}  // namespace
}  // namespace arion
