// SPDX-License-Identifier: Apache-2.0
#include "wal/log_recovery.h"

#include <absl/strings/match.h>
#include <gmock/gmock.h>

#include <filesystem>
#include <map>
#include <set>
#include <string>

#include "base/status.h"
#include "tests/wal/log_world.h"
#include "tests/wal/memory_file.h"
#include "wal/private_log.h"

namespace arion {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class LogRecoveryTest : public ::testing::Test {
 protected:
  void PutFixture(const std::string& name) {
    const std::string directory = SpecFixtures() + "/" + name;
    for (const auto& entry : std::filesystem::directory_iterator(directory))
      w.Put(entry.path().filename(), Slurp(entry.path()));
    w.node().disk().MakeDurable();
  }
  // Names the file as one that we wrote in this mode.
  void Claim(const std::string& name, Durability durability = Durability::kFsync) {
    identity.Add(*w.files().Stat(JoinPath(kLogDirectory, name)), durability);
    ASSERT_TRUE(WriteFileDurably(w.files(), kIdentityPath, identity.Format()).ok());
    w.node().disk().MakeDurable();
  }
  void PutOwn(const std::string& name, std::string_view bytes,
              Durability durability = Durability::kFsync) {
    w.Put(name, bytes);
    Claim(name, durability);
  }
  std::map<std::string, std::string> Snapshot() {
    std::map<std::string, std::string> all;
    for (const std::string& name : w.Names()) all[name] = w.Content(name);
    return all;
  }
  // Open fails and nothing in the folder has changed.
  void ExpectRefused(absl::StatusCode code, const std::string& message) {
    const auto before = Snapshot();
    const absl::Status status = w.Open();
    EXPECT_EQ(status.code(), code) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(message));
    EXPECT_EQ(Snapshot(), before);
  }

  LogWorld w;
  LogIdentity identity;
  const std::string first = TestLogBytes({{MakeMutation(1, 50)}, {MakeMutation(2, 60)}});
  const int64_t first_end = static_cast<int64_t>(first.size());
  const std::string second_name = LogFileName{2, first_end}.ToString();
  const std::string second = TestLogBytes({{MakeMutation(3, 50)}}, first_end, 2);
};

// ---- files of other origin: wal/FORMAT.md 7.2 to the letter ----

TEST_F(LogRecoveryTest, FixtureBasicIsReplayed) {
  REQUIRE_FIXTURE(SpecFixtures());
  PutFixture("plog-basic");
  const auto before = Snapshot();
  ASSERT_TRUE(w.Open().ok());
  EXPECT_THAT(w.ReplayedDecrees(), ElementsAre(1, 2, 3, 4));
  EXPECT_EQ(w.summary.max_ballot, Ballot(4));
  // Decree 4 is not known to be committed: it was written anew, behind.
  EXPECT_THAT(w.Names(), ElementsAre("log.1.0", "log.2.416", ::testing::StartsWith("log.3.")));
  for (const auto& [name, bytes] : before) EXPECT_EQ(w.Content(name), bytes);
}

TEST_F(LogRecoveryTest, FixtureTornTailEndsBeforeTheTornBlock) {
  REQUIRE_FIXTURE(SpecFixtures());
  PutFixture("plog-torn-tail");
  const auto before = Snapshot();
  ASSERT_TRUE(w.Open().ok());
  EXPECT_THAT(w.ReplayedDecrees(), ElementsAre(1, 2, 3));
  EXPECT_TRUE(w.summary.cut_tail);
  for (const auto& [name, bytes] : before)
    EXPECT_EQ(w.Content(name), bytes) << "an old version's file is never cut";
  w.Append(MakeMutation(4, 10));
  w.Settle();
  w.Crash(sim::CrashMode::kPowerNone);
  ASSERT_TRUE(w.Open().ok());
  EXPECT_EQ(w.replayed.back()->decree, Decree(4));
}

TEST_F(LogRecoveryTest, FixtureTornMiddleIsLegalWhereTheNextFileStarts) {
  REQUIRE_FIXTURE(SpecFixtures());
  PutFixture("plog-torn-middle-legal");
  ASSERT_TRUE(w.Open().ok());
  EXPECT_THAT(w.ReplayedDecrees(), ElementsAre(1, 2));
  EXPECT_EQ(w.replayed[1]->ballot, Ballot(5));
}

TEST_F(LogRecoveryTest, FixturesWithDamageAreRefusedUntouched) {
  REQUIRE_FIXTURE(SpecFixtures());
  for (const char* name : {"plog-offset-gap", "plog-bad-crc", "plog-zero-tail"}) {
    SCOPED_TRACE(name);
    ASSERT_TRUE(w.files().RemoveAll(kLogDirectory).ok());
    PutFixture(name);
    ExpectRefused(absl::StatusCode::kDataLoss, "log.");
  }
}

TEST_F(LogRecoveryTest, FixtureEmptyLastFileIsSetAside) {
  REQUIRE_FIXTURE(SpecFixtures());
  PutFixture("plog-empty-last");
  ASSERT_TRUE(w.Open().ok());
  EXPECT_THAT(w.ReplayedDecrees(), ElementsAre(1, 2, 3));
  EXPECT_THAT(w.Names(), Contains("log.2.416.removed"));
}

TEST_F(LogRecoveryTest, FixtureStrayNamesAreLeftAlone) {
  REQUIRE_FIXTURE(SpecFixtures());
  PutFixture("plog-stray-names");
  ASSERT_TRUE(w.Open().ok());
  EXPECT_THAT(w.ReplayedDecrees(), ElementsAre(1, 2, 3));
  for (const char* name : {"log.2.416.removed", "log.3", "log.x.1", "readme.txt"})
    EXPECT_THAT(w.Names(), Contains(name));
}

TEST_F(LogRecoveryTest, FixtureReproposedDeliversBoth) {
  REQUIRE_FIXTURE(SpecFixtures());
  PutFixture("plog-reproposed");
  ASSERT_TRUE(w.Open().ok());
  EXPECT_THAT(w.ReplayedDecrees(), ElementsAre(1, 2, 2, 3));
}

TEST_F(LogRecoveryTest, FixtureHoleIsReplaysJudgement) {
  REQUIRE_FIXTURE(SpecFixtures());
  PutFixture("plog-hole");
  ASSERT_TRUE(w.Open().ok());
  EXPECT_THAT(w.ReplayedDecrees(), ElementsAre(1, 2, 6, 7));
}

TEST_F(LogRecoveryTest, RealLogsOfPegasus25Replay) {
  const std::string fixtures = RealFixtures();
  REQUIRE_FIXTURE(fixtures);
  int logs = 0;
  for (const auto& replica :
       std::filesystem::directory_iterator(fixtures + "/pegasus-2.5.0/replica1/reps")) {
    const std::string plog = replica.path().string() + "/plog";
    if (!std::filesystem::is_directory(plog)) continue;
    LogWorld world;
    for (const auto& entry : std::filesystem::directory_iterator(plog))
      world.Put(entry.path().filename(), Slurp(entry.path()));
    PrivateLogOptions options = TestLogOptions();
    const std::string name = replica.path().filename();
    options.pid = {std::stoi(name.substr(0, name.find('.'))),
                   std::stoi(name.substr(name.find('.') + 1))};
    const absl::Status status = world.Open(options);
    ASSERT_TRUE(status.ok()) << name << " " << status;
    EXPECT_FALSE(world.replayed.empty()) << name;
    for (size_t i = 1; i < world.replayed.size(); ++i)
      EXPECT_LE(world.replayed[i]->decree - world.replayed[i - 1]->decree, 1) << name;
    ++logs;
  }
  EXPECT_EQ(logs, 6);
}

TEST_F(LogRecoveryTest, ForeignFirstBlockTableOf52) {
  w.Put("log.1.0", first.substr(0, 30));  // TRUNCATED: set aside, a hole fails later
  ASSERT_TRUE(w.Open().ok());
  EXPECT_THAT(w.Names(), ElementsAre("log.1.0.removed"));

  std::string corrupt = first;
  corrupt[20] = static_cast<char>(corrupt[20] ^ 1);
  w.Put("log.1.0", corrupt);
  EXPECT_TRUE(absl::IsDataLoss(w.Open()));
  EXPECT_THAT(w.Names(), ElementsAre("log.1.0.removed", "log.1.0.removed.1"));
  EXPECT_EQ(w.Content("log.1.0.removed"), first.substr(0, 30)) << "nothing is replaced";
  EXPECT_EQ(w.Content("log.1.0.removed.1"), corrupt);

  w.Put("log.1.5", first);  // the header says 0
  EXPECT_TRUE(absl::IsDataLoss(w.Open()));
  EXPECT_THAT(w.Names(), Contains("log.1.5.removed"));
}

TEST_F(LogRecoveryTest, HolesAndDoublesOfIndexesAreRefused) {
  w.Put("log.1.0", first);
  w.Put(LogFileName{3, first_end}.ToString(), second);
  ExpectRefused(absl::StatusCode::kDataLoss, "a hole");
  w.Put(second_name, second);
  w.Put("log.02.7", second);
  ExpectRefused(absl::StatusCode::kDataLoss, "same index");
}

TEST_F(LogRecoveryTest, WhatIsNotOursToJudgeIsNamedAndLeft) {
  w.Put("log.1.18446744073709551615", first);
  ExpectRefused(absl::StatusCode::kFailedPrecondition, "18446744073709551615");
  ASSERT_TRUE(w.files().RemoveAll(kLogDirectory).ok());

  w.Put("log.1.9223372036854775807", first);
  ExpectRefused(absl::StatusCode::kFailedPrecondition, "2^62");
  ASSERT_TRUE(w.files().RemoveAll(kLogDirectory).ok());

  w.Put("log.1.0", TestLogBytes({}, 0, 0, {9, 9}));
  ExpectRefused(absl::StatusCode::kFailedPrecondition, "9.9");
  ASSERT_TRUE(w.files().RemoveAll(kLogDirectory).ok());

  ASSERT_TRUE(w.files().CreateDirectories(kLogDirectory + "/log.1.0").ok());
  const absl::Status status = w.Open();
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_THAT(w.Names(), ElementsAre("log.1.0"));
}

// ---- our own files (decision 9): a torn tail is cut, damage refused (tests/sim/known_bugs.md B7)

TEST_F(LogRecoveryTest, B7_OwnTornTailIsCutAndKeptBeside) {
  const size_t content = TestLogBytes({{MakeMutation(1, 50)}}).size();
  std::string torn = first;
  for (size_t i = content + 40; i < content + 60; ++i) torn[i] = 0;  // a sector that did not arrive
  PutOwn("log.1.0", torn + std::string(8192, '\0'));
  ASSERT_TRUE(w.Open().ok());
  EXPECT_THAT(w.ReplayedDecrees(), ElementsAre(1));
  EXPECT_TRUE(w.summary.cut_tail);
  EXPECT_EQ(w.Content("log.1.0"), first.substr(0, content));
  EXPECT_EQ(w.Content("log.1.0.tail"), torn.substr(content));
}

TEST_F(LogRecoveryTest, OwnZeroTailIsTrimmedWithoutATrace) {
  PutOwn("log.1.0", first + std::string(8192, '\0'));
  ASSERT_TRUE(w.Open().ok());
  EXPECT_THAT(w.ReplayedDecrees(), ElementsAre(1, 2));
  EXPECT_FALSE(w.summary.cut_tail);
  EXPECT_EQ(w.Content("log.1.0"), first);
  EXPECT_THAT(w.Names(), Not(Contains("log.1.0.tail")));
}

TEST_F(LogRecoveryTest, OwnRecycledBytesBehindTheContentAreATornTail) {
  // What an earlier use of the space left: right magic, another place.
  PutOwn("log.1.0", first + TestLogBytes({{MakeMutation(7, 70)}}, 5000));
  ASSERT_TRUE(w.Open().ok());
  EXPECT_THAT(w.ReplayedDecrees(), ElementsAre(1, 2));
  EXPECT_EQ(w.Content("log.1.0"), first);
}

TEST_F(LogRecoveryTest, B7_OwnDamageBeforeAValidBlockIsRefusedUntouched) {
  std::string damaged = first;
  damaged[kFirstBlockBytes + 30] = static_cast<char>(damaged[kFirstBlockBytes + 30] ^ 1);
  PutOwn("log.1.0", damaged + std::string(8192, '\0'));
  ExpectRefused(absl::StatusCode::kDataLoss, "a valid block lies at");
}

TEST_F(LogRecoveryTest, OwnFirstBlockDamagedBeforeAValidBlockIsRefusedUntouched) {
  std::string damaged = first;
  damaged[30] = static_cast<char>(damaged[30] ^ 1);
  PutOwn("log.1.0", damaged);
  ExpectRefused(absl::StatusCode::kDataLoss, "a valid one at");
}

TEST_F(LogRecoveryTest, OwnDamageBeforeTheNextFileIsRefusedUntouched) {
  std::string damaged = first;
  damaged[damaged.size() - 5] = static_cast<char>(damaged[damaged.size() - 5] ^ 1);
  PutOwn("log.1.0", damaged);
  PutOwn(second_name, second);
  ExpectRefused(absl::StatusCode::kDataLoss, "but the content of log.1.0 ends at");
}

TEST_F(LogRecoveryTest, OwnLastFileWithoutAFirstBlockIsRemoved) {
  for (const std::string& bytes : {std::string(), std::string(8192, '\0'), second.substr(0, 30)}) {
    // Not trimmed yet, which is legal: the next file starts at its content's end.
    PutOwn("log.1.0", first + std::string(4096, '\0'));
    PutOwn(second_name, bytes);
    ASSERT_TRUE(w.Open().ok());
    EXPECT_THAT(w.ReplayedDecrees(), ElementsAre(1, 2));
    EXPECT_EQ(w.Content("log.1.0"), first);
    EXPECT_TRUE(absl::StrContains(w.Content(second_name), "RPC_RRDB"))
        << "its place is taken by the tail written anew";
    ASSERT_TRUE(w.files().RemoveAll(kLogDirectory).ok());
  }
}

// The first two blocks may be one write, any 512-byte sectors of which may be missing.
TEST_F(LogRecoveryTest, OwnLastFileWhoseFirstWriteIsTornHoldsNothing) {
  const std::string third = TestLogBytes({{MakeMutation(3, 5000)}}, first_end, 2);
  const std::string none(512, '\0');
  for (const size_t missing : {0, 512, 4096}) {
    std::string torn = third;
    torn.replace(missing, none.size(), none);
    PutOwn("log.1.0", first);
    PutOwn(second_name, torn);
    ASSERT_TRUE(w.Open().ok());
    EXPECT_THAT(w.ReplayedDecrees(), ElementsAre(1, 2));
    EXPECT_TRUE(w.summary.cut_tail);
    ASSERT_TRUE(w.files().RemoveAll(kLogDirectory).ok());
  }
}

TEST_F(LogRecoveryTest, OwnMiddleFileWithoutAFirstBlockIsRefusedUntouched) {
  PutOwn("log.1.0", std::string(8192, '\0'));
  PutOwn(second_name, second);
  ExpectRefused(absl::StatusCode::kDataLoss, "no first block");
}

TEST_F(LogRecoveryTest, OwnBlockThatIsSoundButUnknownIsRefusedUntouched) {
  std::string body;
  AppendMutation(*MakeMutation(1, 10), kFirstBlockBytes + kBlockHeaderBytes, &body);
  const size_t name = body.find("RPC_RRDB_RRDB_PUT");
  ASSERT_NE(name, std::string::npos);
  body.replace(name, 17, "RPC_RRDB_RRDB_NEW");
  for (const Durability durability : {Durability::kFsync, Durability::kOs}) {
    std::string bytes = TestLogBytes({});
    AppendTestBlock(body, LoadLittle<uint32_t>(bytes.data() + 8), &bytes);
    PutOwn("log.1.0", bytes, durability);
    ExpectRefused(absl::StatusCode::kDataLoss, "RPC_RRDB_RRDB_NEW");
  }
}

TEST_F(LogRecoveryTest, PageCacheFilesAreCutAtTheFirstDamageWhateverFollows) {
  std::string damaged = first;
  damaged[kFirstBlockBytes + 30] = static_cast<char>(damaged[kFirstBlockBytes + 30] ^ 1);
  PutOwn("log.1.0", damaged, Durability::kOs);
  PutOwn(second_name, second, Durability::kOs);
  ASSERT_TRUE(w.Open().ok());
  EXPECT_THAT(w.replayed, IsEmpty());
  EXPECT_THAT(w.Names(), ElementsAre("log.1.0", "log.1.0.tail", second_name + ".tail"));
  EXPECT_EQ(w.Content("log.1.0"), first.substr(0, kFirstBlockBytes));
  EXPECT_EQ(w.Content("log.1.0.tail"), damaged.substr(kFirstBlockBytes));
  EXPECT_EQ(w.Content(second_name + ".tail"), second);
}

TEST_F(LogRecoveryTest, PageCacheDamageBeforeADurableFileIsRefusedUntouched) {
  PutOwn("log.1.0", first.substr(0, first.size() - 1), Durability::kOs);
  PutOwn(second_name, second, Durability::kFsync);
  ExpectRefused(absl::StatusCode::kDataLoss, "ends at");
}

TEST_F(LogRecoveryTest, ACopiedFileIsOfOtherOrigin) {
  PutOwn("log.1.0", first + std::string(64, '\0'));
  const std::string bytes = w.Content("log.1.0");
  ASSERT_TRUE(w.files().Remove(JoinPath(kLogDirectory, "log.1.0")).ok());
  w.Put("log.1.0", bytes);  // another inode: zeros are damage, as for the old versions
  ExpectRefused(absl::StatusCode::kDataLoss, "CORRUPT");
}

// `cp -a` after a kill: the folder and all in it have other inodes.
TEST_F(LogRecoveryTest, ACopiedReplicaLosesNothing) {
  PrivateLogOptions options = TestLogOptions();
  options.segment_bytes_max = 256 << 10;
  for (const Durability durability : {Durability::kFsync, Durability::kOs}) {
    SCOPED_TRACE(DurabilityName(durability));
    options.durability = durability;
    ASSERT_TRUE(w.Open(options).ok());
    for (int64_t d = 1; d <= 30; ++d) {
      w.Append(MakeMutation(d, 20000, /*ballot=*/3, /*last_committed=*/0));
      w.Settle(absl::Milliseconds(20));
    }
    w.Crash(sim::CrashMode::kProcess);
    for (int copies = 0; copies < 3; ++copies) {
      std::map<std::string, std::string> files = Snapshot();
      ASSERT_TRUE(w.files().RemoveAll(kLogDirectory).ok());
      for (const auto& [name, bytes] : files) w.Put(name, bytes);
      w.node().disk().MakeDurable();
      ASSERT_TRUE(w.Open(options).ok());
      std::set<int64_t> seen;
      for (const int64_t decree : w.ReplayedDecrees()) seen.insert(decree);
      EXPECT_EQ(seen.size(), 30U);
      EXPECT_FALSE(w.summary.cut_tail);
      for (const std::string& name : w.Names()) EXPECT_THAT(name, Not(HasSubstr(".tail")));
      w.Crash(sim::CrashMode::kProcess);
    }
    ASSERT_TRUE(w.files().RemoveAll(kLogDirectory).ok());
    ASSERT_TRUE(w.files().RemoveAll(kIdentityPath).ok());
  }
}

TEST_F(LogRecoveryTest, ADamagedIdentityFileIsNamed) {
  PutOwn("log.1.0", first);
  auto file = *w.files().OpenForWrite(kIdentityPath, FileSystem::CreateMode::kOpenExisting);
  ASSERT_TRUE(file->WriteAt(15, "9").ok());
  ExpectRefused(absl::StatusCode::kDataLoss, ".arion-log");
}

TEST_F(LogRecoveryTest, SparesAreRemoved) {
  PutOwn("log.1.0", first);
  w.Put("spare.2", std::string(4096, '\0'));
  ASSERT_TRUE(w.Open().ok());
  EXPECT_THAT(w.Names(), Not(Contains("spare.2")));
}

TEST_F(LogRecoveryTest, VoidRecordsAreNotDeliveredButTheirBallotsCount) {
  PutOwn("log.1.0",
         TestLogBytes({{MakeMutation(1, 50, /*ballot=*/9)}, {MakeMutation(2, 50, /*ballot=*/4)}}));
  PrivateLogOptions options = TestLogOptions();
  options.valid_start_offset = kFirstBlockBytes + 20;
  ASSERT_TRUE(w.Open(options).ok());
  EXPECT_THAT(w.ReplayedDecrees(), ElementsAre(2));
  EXPECT_EQ(w.summary.max_ballot, Ballot(9));
  EXPECT_EQ(w.summary.mutations, 1);
}

TEST_F(LogRecoveryTest, AnErrorOfTheSinkFailsTheOpen) {
  w.Put("log.1.0", first);
  absl::Status status;
  w.env().RunInPool([&] {
    ReplaySummary summary;
    status = PrivateLog::Open(
                 w.env(), w.strand(), TestLogOptions(),
                 [](MutationPtr) { return absl::AbortedError("enough"); }, &summary)
                 .status();
  });
  EXPECT_TRUE(absl::IsAborted(status));
}

// wal/FORMAT.md 2.4: decrees 1 and 2 in one block, 3 in another.
TEST_F(LogRecoveryTest, OurWriterWritesTheWorkedExample) {
  REQUIRE_FIXTURE(SpecFixtures());
  PutFixture("plog-basic");
  ASSERT_TRUE(w.Open().ok());
  std::vector<MutationPtr> mutations = w.replayed;
  for (const bool preallocate : {true, false}) {
    LogWorld fresh;
    PrivateLogOptions options = TestLogOptions();
    options.preallocate = preallocate;
    ASSERT_TRUE(fresh.Open(options).ok());
    fresh.env().RunOn(fresh.strand(), [&] {
      // Opens the file: its first block goes before, so the second mutation joins the first.
      fresh.AppendHere(mutations[0]);
      fresh.AppendHere(mutations[1]);
    });
    fresh.Settle();
    fresh.Append(mutations[2]);
    fresh.Settle();
    ASSERT_TRUE(fresh.Close().ok());
    EXPECT_EQ(fresh.Content("log.1.0"), Slurp(SpecFixtures() + "/plog-basic/log.1.0"));
  }
}

}  // namespace
}  // namespace arion
