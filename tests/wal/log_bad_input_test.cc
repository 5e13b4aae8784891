// What may lie in a log's folder that does not belong there, and disks that refuse: a clear error
// that names the file and what to do; nothing overwritten, nothing deleted.
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <sys/mount.h>

#include <filesystem>
#include <fstream>
#include <map>

#include "posix/posix_environment.h"
#include "tests/support/temp_directory.h"
#include "tests/wal/log_world.h"
#include "tests/wal/memory_file.h"
#include "wal/log_identity.h"
#include "wal/log_recovery.h"

namespace arion {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class LogBadInputTest : public ::testing::Test {
 protected:
  void Claim(const std::string& name) {
    identity.Add(*w.files().Stat(JoinPath(kLogDirectory, name)), Durability::kFsync);
    ASSERT_TRUE(WriteFileDurably(w.files(), kIdentityPath, identity.Format()).ok());
  }
  std::map<std::string, std::string> Snapshot() {
    std::map<std::string, std::string> all;
    for (const std::string& name : w.Names()) all[name] = w.Content(name);
    return all;
  }
  // Open fails by `code`, names `file`, and nothing was touched.
  void ExpectRefused(absl::StatusCode code, const std::string& file, const std::string& remedy) {
    const auto before = Snapshot();
    w.watched().changes.clear();
    const absl::Status status = w.Open();
    EXPECT_EQ(status.code(), code) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(file));
    EXPECT_THAT(std::string(status.message()), HasSubstr(remedy));
    EXPECT_EQ(Snapshot(), before);
    EXPECT_THAT(w.watched().changes, IsEmpty());
  }

  LogWorld w;
  LogIdentity identity;
  const std::string first = TestLogBytes({{MakeMutation(1, 50)}, {MakeMutation(2, 60)}});
  const int64_t first_end = static_cast<int64_t>(first.size());
  const std::string second_name = LogFileName{2, first_end}.ToString();
  const std::string second = TestLogBytes({{MakeMutation(3, 50)}}, first_end, 2);
};

TEST_F(LogBadInputTest, FilesNamedAlmostLikeLogsAreLeftAlone) {
  const std::vector<std::string> names = {
      "log",       "log.",      "log.1",       "log..0",     "log.1.",    "log.1.0.tail",
      "log.1.x",   "log.-1.0",  "log.+1.0",    "log. 1.0",   "log.1.0 ",  "log.1.0.tmp",
      "LOG.1.0",   "log.1,0",   "xlog.1.0",    "log.0x1.0",  "log.1.0.1", "log.1.0~",
      ".log.1.0",  "log.1.0\n", "log.1e3.0",   "log.1.0.gz", "spare",     "spare.",
      "spare.1.x", "spare.-1",  "spare.1.tmp", "log.2.0-",   "log.\xff.0"};
  for (const std::string& name : names) w.Put(name, "not a log: " + name);
  w.Put("log.1.0", first);
  const auto before = Snapshot();
  ASSERT_TRUE(w.Open().ok());
  EXPECT_EQ(w.ReplayedDecrees(), (std::vector<int64_t>{1, 2}));
  for (int64_t d = 3; d <= 5; ++d) w.Append(MakeMutation(d, 100));
  w.Settle();
  w.env().RunOn(w.strand(), [&] { w.log->DropThrough(Decree(5)); });
  w.Settle();
  ASSERT_TRUE(w.Close().ok());
  for (const std::string& name : names) EXPECT_EQ(w.Content(name), before.at(name)) << name;
}

TEST_F(LogBadInputTest, OffsetsAndIndexesBeyondWhatCanBeCounted) {
  for (const char* name :
       {"log.1.18446744073709551616", "log.1.18446744073709551615", "log.1.9223372036854775808",
        "log.9223372036854775808.0", "log.1.99999999999999999999999999999999999999999"}) {
    SCOPED_TRACE(name);
    w.Put("log.1.0", first);
    w.Put(name, second);
    ExpectRefused(absl::StatusCode::kFailedPrecondition, name, "move it out of the folder");
    ASSERT_TRUE(w.files().RemoveAll(kLogDirectory).ok());
  }
  // Numbers, but a log could not go on behind them.
  for (const char* name : {"log.1.9223372036854775807", "log.9223372036854775807.0",
                           "log.1.4611686018427387904", "log.4611686018427387905.0"}) {
    SCOPED_TRACE(name);
    w.Put(name, first);
    ExpectRefused(absl::StatusCode::kFailedPrecondition, std::string(name) + ": index or offsets",
                  "move it out of the folder");
    ASSERT_TRUE(w.files().RemoveAll(kLogDirectory).ok());
  }
}

TEST_F(LogBadInputTest, AValidStartThatCannotBe) {
  w.Put("log.1.0", first);
  PrivateLogOptions options = TestLogOptions();
  options.valid_start_offset = INT64_MAX - 5;
  EXPECT_TRUE(absl::IsFailedPrecondition(w.Open(options)));
  EXPECT_THAT(w.Names(), ElementsAre("log.1.0"));
}

TEST_F(LogBadInputTest, ALogFarOutGoesOn) {
  const int64_t start = (int64_t{1} << 62) - 4096;
  w.Put(LogFileName{(int64_t{1} << 62) - 1, start}.ToString(),
        TestLogBytes({{MakeMutation(1, 50)}}, start));
  ASSERT_TRUE(w.Open().ok());
  EXPECT_THAT(w.ReplayedDecrees(), ElementsAre(1));
  for (int64_t d = 2; d <= 5; ++d) w.Append(MakeMutation(d, 3000));
  w.Settle();
  EXPECT_TRUE(w.answers.back().second.ok());
  w.env().RunInPool([&] { EXPECT_GE(w.log->ReadFrom(Decree(1), 1 << 20)->mutations.size(), 5u); });
}

TEST_F(LogBadInputTest, AnotherReplicasLog) {
  w.Put("log.1.0", first);
  w.Put(second_name, TestLogBytes({{MakeMutation(3, 50)}}, first_end, 2, {7, 3}));
  ExpectRefused(absl::StatusCode::kFailedPrecondition, second_name + ": a log of 7.3, not of 2.1",
                "move it out of the folder");
}

TEST_F(LogBadInputTest, AnotherReplicasMutationInALogThatNamesUs) {
  Mutation other = *MakeMutation(3, 50);
  other.pid = {7, 3};
  w.Put("log.1.0", first);
  w.Put(second_name,
        TestLogBytes({{std::make_shared<const Mutation>(std::move(other))}}, first_end, 2));
  ExpectRefused(absl::StatusCode::kFailedPrecondition, second_name, "a mutation of 7.3");
}

TEST_F(LogBadInputTest, ADirectoryWithALogsName) {
  w.Put("log.1.0", first);
  ASSERT_TRUE(w.files().CreateDirectories(JoinPath(kLogDirectory, second_name)).ok());
  const absl::Status status = w.Open();
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr(second_name));
  EXPECT_THAT(w.Names(), ElementsAre("log.1.0", second_name));
}

TEST_F(LogBadInputTest, AnEmptyFileInTheMiddleIsNamed) {
  for (const bool ours : {true, false}) {
    SCOPED_TRACE(ours);
    identity = {};
    w.Put("log.1.0", first);
    w.Put(second_name, "");
    w.Put(LogFileName{3, first_end}.ToString(), second);
    if (ours) {
      for (const std::string& name : w.Names()) Claim(name);
      ExpectRefused(absl::StatusCode::kDataLoss, second_name, "arion_log verify");
    } else {
      // wal/FORMAT.md 7.2: set aside, and the hole it leaves is refused.
      const absl::Status status = w.Open();
      EXPECT_TRUE(absl::IsDataLoss(status)) << status;
      EXPECT_THAT(std::string(status.message()), HasSubstr("a hole"));
      EXPECT_THAT(w.Names(), Contains(second_name + ".removed"));
      EXPECT_EQ(w.Content("log.1.0"), first);
    }
    ASSERT_TRUE(w.files().RemoveAll(kLogDirectory).ok());
    ASSERT_TRUE(w.files().RemoveAll(kIdentityPath).ok());
  }
}

TEST_F(LogBadInputTest, AReadErrorIsNamedAndNothingIsTouched) {
  for (const bool ours : {true, false}) {
    for (const uint64_t from : {0, 100}) {
      SCOPED_TRACE(ours);
      SCOPED_TRACE(from);
      w.Put("log.1.0", first + std::string(2 << 20, '\0'));
      if (ours) Claim("log.1.0");
      w.watched().on_read = [from](const std::string& path, uint64_t offset) {
        return path.ends_with("log.1.0") && offset >= from ? InputOutputError(path)
                                                           : absl::OkStatus();
      };
      ExpectRefused(absl::StatusCode::kDataLoss, "log.1.0",
                    ours || from == 0 ? "Input/output error" : "CORRUPT");
      w.watched().on_read = nullptr;
      ASSERT_TRUE(w.files().RemoveAll(kLogDirectory).ok());
      ASSERT_TRUE(w.files().RemoveAll(kIdentityPath).ok());
      identity = {};
    }
  }
}

TEST_F(LogBadInputTest, AFileThatVanishesWhileWeLookIsNamed) {
  w.Put("log.1.0", first);
  w.Put(second_name, second);
  w.watched().on_open = [this](const std::string& path) {
    return path.ends_with(second_name)
               ? absl::NotFoundError(absl::StrCat("open ", path, ": No such file or directory"))
               : absl::OkStatus();
  };
  ExpectRefused(absl::StatusCode::kNotFound, second_name, "No such file");
}

TEST_F(LogBadInputTest, AReadOnlyFolderIsNamed) {
  w.Put("log.1.0", first);
  w.watched().on_change = [](const std::string& path) { return ReadOnlyError(path); };
  ExpectRefused(absl::StatusCode::kPermissionDenied, "log.1.0", "make the folder writable");
}

TEST_F(LogBadInputTest, AnEarlierTailIsNotReplaced) {
  w.Put("log.1.0", first + "garbage");
  Claim("log.1.0");
  w.Put("log.1.0.tail", "what another recovery kept");
  ASSERT_TRUE(w.Open().ok());
  EXPECT_EQ(w.Content("log.1.0.tail"), "what another recovery kept");
  EXPECT_EQ(w.Content("log.1.0.tail.1"), "garbage");
}

TEST_F(LogBadInputTest, TheSameTailIsKeptOnce) {
  w.Put("log.1.0", first + "garbage");
  Claim("log.1.0");
  w.Put("log.1.0.tail", "garbage");  // a crash before the cut
  ASSERT_TRUE(w.Open().ok());
  EXPECT_THAT(w.Names(), ::testing::Not(Contains("log.1.0.tail.1")));
}

// A clean stop says which files there are.
TEST_F(LogBadInputTest, ALogThatWasLostAfterACleanStopIsNoCleanStart) {
  PrivateLogOptions options = TestLogOptions();
  options.segment_bytes_max = 16 << 10;
  for (const bool all : {true, false}) {
    SCOPED_TRACE(all);
    ASSERT_TRUE(w.Open(options).ok());
    for (int64_t d = 1; d <= 40; ++d) {
      w.Append(MakeMutation(d, 1000));
      w.Settle(absl::Milliseconds(20));
    }
    ASSERT_GT(w.log->stats().files, 2);
    ASSERT_TRUE(w.Close().ok());
    ASSERT_TRUE(w.Open(options).ok());
    EXPECT_TRUE(w.summary.was_clean);
    ASSERT_TRUE(w.Close().ok());
    const std::vector<std::string> names = w.Names();
    if (all) {
      ASSERT_TRUE(w.files().RemoveAll(kLogDirectory).ok());
    } else {
      ASSERT_TRUE(w.files().Remove(JoinPath(kLogDirectory, names.back())).ok());
    }
    ASSERT_TRUE(w.Open(options).ok());
    EXPECT_FALSE(w.summary.was_clean);
    EXPECT_NE(w.summary.lost, "");
    w.log.reset();
    ASSERT_TRUE(w.files().RemoveAll(kLogDirectory).ok());
    ASSERT_TRUE(w.files().RemoveAll(kIdentityPath).ok());
  }
}

// 40 records in files of 16 KiB, closed.
void CloseFilledFiles(LogWorld& w, const PrivateLogOptions& options) {
  ASSERT_TRUE(w.Open(options).ok());
  for (int64_t d = 1; d <= 40; ++d) {
    w.Append(MakeMutation(d, 1000));
    w.Settle(absl::Milliseconds(20));
  }
  ASSERT_GT(w.log->stats().files, 2);
  ASSERT_TRUE(w.Close().ok());
}

// And how far the newest reaches: less of it looks like a torn tail, but was durable.
TEST(LogEndTest, ANewestFileThatLostItsEndAfterACleanStopIsNoCleanStart) {
  PrivateLogOptions options = TestLogOptions();
  options.segment_bytes_max = 16 << 10;
  const size_t last_block_bytes = kBlockHeaderBytes + EncodedSize(*MakeMutation(40, 1000));
  enum class How { kCut, kZeros, kCutCopy };
  for (const How how : {How::kCut, How::kZeros, How::kCutCopy}) {
    for (int kept = 0; kept < 5; ++kept) {
      SCOPED_TRACE(absl::StrCat(static_cast<int>(how), " ", kept));
      LogWorld w;
      ASSERT_NO_FATAL_FAILURE(CloseFilledFiles(w, options));
      const LogIdentity told = *ReadLogIdentity(w.files(), kIdentityPath);
      const std::string newest = w.Names().back();
      std::string bytes = w.Content(newest);
      const size_t last_block = bytes.size() - last_block_bytes;
      const size_t size = std::vector<size_t>{0, kFirstBlockBytes, last_block, last_block + 5,
                                              bytes.size() - 1}[static_cast<size_t>(kept)];
      if (how == How::kZeros) {
        std::fill(bytes.begin() + static_cast<ptrdiff_t>(size), bytes.end(), '\0');
      } else {
        bytes.resize(size);
      }
      if (how == How::kCutCopy) {
        ASSERT_TRUE(w.files().Remove(JoinPath(kLogDirectory, newest)).ok());
      }
      w.Put(newest, bytes);
      ASSERT_TRUE(w.Open(options).ok());
      EXPECT_FALSE(w.summary.was_clean);
      EXPECT_THAT(w.summary.lost, HasSubstr(absl::StrCat(told.last_file->content_bytes)));
      EXPECT_LT(w.replayed.back()->decree, Decree(40));
      // Said until something is written or the log closed: that tells of what there is.
      w.Crash(sim::CrashMode::kProcess);
      ASSERT_TRUE(w.Open(options).ok());
      EXPECT_FALSE(w.summary.was_clean);
      ASSERT_TRUE(w.Close().ok());
      ASSERT_TRUE(w.Open(options).ok());
      EXPECT_TRUE(w.summary.was_clean);
      EXPECT_EQ(w.summary.lost, "");
    }
  }
}

// It writes a file behind ours and collects what its engine holds: nothing is lost, but how it
// ended is not known.
TEST(LogEndTest, ALogThatAnOlderVersionWroteOnHasLostNothing) {
  LogWorld w;
  PrivateLogOptions options = TestLogOptions();
  options.segment_bytes_max = 16 << 10;
  ASSERT_NO_FATAL_FAILURE(CloseFilledFiles(w, options));
  const std::vector<std::string> ours = w.Names();
  const LogFileName newest = **ParseLogFileName(ours.back());
  const int64_t end = newest.start_offset + static_cast<int64_t>(w.Content(ours.back()).size());
  w.Put(LogFileName{newest.index + 1, end}.ToString(),
        TestLogBytes({{MakeMutation(41, 1000)}}, end, 40));
  options.applied = Decree(40);
  for (size_t collected = 0; collected <= ours.size(); ++collected) {
    SCOPED_TRACE(collected);
    if (collected > 0) {
      ASSERT_TRUE(w.files().Remove(JoinPath(kLogDirectory, ours[collected - 1])).ok());
    }
    ASSERT_TRUE(w.Open(options).ok());
    EXPECT_EQ(w.summary.lost, "");
    EXPECT_FALSE(w.summary.was_clean);
    EXPECT_THAT(w.ReplayedDecrees(), Contains(41));
    w.Crash(sim::CrashMode::kPowerNone);
  }
}

// It began where the end was missing already.
TEST(LogEndTest, AnEndThatWasMissingWhenAnOlderVersionWroteOnIsLost) {
  LogWorld w;
  PrivateLogOptions options = TestLogOptions();
  options.segment_bytes_max = 16 << 10;
  ASSERT_NO_FATAL_FAILURE(CloseFilledFiles(w, options));
  const std::string name = w.Names().back();
  const LogFileName newest = **ParseLogFileName(name);
  std::string bytes = w.Content(name);
  bytes.resize(bytes.size() - kBlockHeaderBytes - EncodedSize(*MakeMutation(40, 1000)));
  w.Put(name, bytes);
  const int64_t end = newest.start_offset + static_cast<int64_t>(bytes.size());
  w.Put(LogFileName{newest.index + 1, end}.ToString(),
        TestLogBytes({{MakeMutation(40, 10, 4)}}, end, 39));
  ASSERT_TRUE(w.Open(options).ok());
  EXPECT_FALSE(w.summary.was_clean);
  EXPECT_THAT(w.summary.lost, HasSubstr(name));
}

// A copied log (another inode) is of other origin, but as many files: clean.
TEST_F(LogBadInputTest, ACopiedLogIsACleanStart) {
  ASSERT_TRUE(w.Open().ok());
  w.Append(MakeMutation(1, 1000));
  w.Settle();
  ASSERT_TRUE(w.Close().ok());
  const std::string bytes = w.Content("log.1.0");
  ASSERT_TRUE(w.files().Remove(JoinPath(kLogDirectory, "log.1.0")).ok());
  w.Put("log.1.0", bytes);
  ASSERT_TRUE(w.Open().ok());
  EXPECT_TRUE(w.summary.was_clean);
  EXPECT_THAT(w.ReplayedDecrees(), ElementsAre(1));
}

// Nothing says it is committed: recovery keeps places, and copies the tail block by block.
TEST_F(LogBadInputTest, ALogInWhichNothingIsEverCommitted) {
  std::vector<std::vector<MutationPtr>> blocks;
  for (int64_t d = 1; d <= 40; ++d)
    blocks.push_back({MakeMutation(d, 200000, 3, /*last_committed=*/0)});
  w.Put("log.1.0", TestLogBytes(blocks));
  ASSERT_TRUE(w.Open().ok());
  EXPECT_EQ(w.replayed.size(), 40u);
  EXPECT_LE(w.watched().bytes_at_once_max, 4u << 20);
  ASSERT_EQ(w.Names().size(), 2u);
  w.Crash(sim::CrashMode::kPowerNone);
  ASSERT_TRUE(w.Open().ok());
  EXPECT_EQ(w.replayed.size(), 80u) << "the old file's and those written anew";
}

// Old files may name nobody in their header: what is before them is not unknown, nor droppable.
TEST_F(LogBadInputTest, HeadersWithoutEntriesDoNotHideWhatIsBefore) {
  std::string header;
  AppendLittle(uint32_t{0xDEADBEEF}, &header);
  AppendLittle(int32_t{1}, &header);
  AppendLittle(first_end, &header);
  AppendLittle(int32_t{0}, &header);
  std::string nameless;
  const uint32_t chain = AppendTestBlock(header, 0, &nameless);
  std::string body;
  AppendMutation(*MakeMutation(3, 50), first_end + static_cast<int64_t>(nameless.size() + 16),
                 &body);
  AppendTestBlock(body, chain, &nameless);
  w.Put("log.1.0", first);
  w.Put(second_name, nameless);
  ASSERT_TRUE(w.Open().ok());
  EXPECT_EQ(w.ReplayedDecrees(), (std::vector<int64_t>{1, 2, 3}));
  w.env().RunInPool([&] { EXPECT_EQ(w.log->ReadFrom(Decree(2), 1 << 20)->mutations.size(), 3u); });
  w.env().RunOn(w.strand(), [&] { w.log->DropThrough(Decree(1)); });
  w.Settle();
  EXPECT_TRUE(w.log->Covers(Decree(1)));
}

// ---- on the real file system ----

class LogBadInputPosixTest : public ::testing::Test {
 protected:
  LogBadInputPosixTest() {
    options_ = TestLogOptions();
    options_.directory = directory_.path() + "/2.1.pegasus/plog";
    options_.identity_path = directory_.path() + "/2.1.pegasus/.arion-log";
    std::filesystem::create_directories(options_.directory);
  }
  void Put(const std::string& name, std::string_view bytes) {
    std::ofstream(options_.directory + "/" + name, std::ios::binary) << bytes;
  }
  absl::Status Recover() {
    ReplaySummary summary;
    return RecoverLog(
               files_, options_, [](MutationPtr) { return absl::OkStatus(); }, &summary)
        .status();
  }

  TempDirectory directory_;
  PosixFileSystem files_;
  PrivateLogOptions options_;
  const std::string first_ = TestLogBytes({{MakeMutation(1, 50)}});
};

TEST_F(LogBadInputPosixTest, ASymbolicLinkIsNamedAndNotFollowed) {
  Put("elsewhere", first_);
  std::filesystem::create_symlink("elsewhere", options_.directory + "/log.1.0");
  const absl::Status status = Recover();
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("log.1.0: a log's name, but not a regular"));
  EXPECT_TRUE(std::filesystem::is_symlink(options_.directory + "/log.1.0"));
  EXPECT_EQ(Slurp(options_.directory + "/elsewhere"), first_);
}

TEST_F(LogBadInputPosixTest, ADanglingLinkIsNamed) {
  std::filesystem::create_symlink("nowhere", options_.directory + "/log.1.0");
  EXPECT_TRUE(absl::IsFailedPrecondition(Recover()));
}

TEST_F(LogBadInputPosixTest, AnEmptyFileIsSetAside) {
  Put("log.1.0", "");
  EXPECT_TRUE(Recover().ok());
  EXPECT_TRUE(std::filesystem::exists(options_.directory + "/log.1.0.removed"));
}

TEST_F(LogBadInputPosixTest, AReadOnlyMountIsNamed) {
  Put("log.1.0", first_);
  const char* plog = options_.directory.c_str();
  if (::mount(plog, plog, nullptr, MS_BIND, nullptr) != 0 ||
      ::mount(nullptr, plog, nullptr, MS_BIND | MS_REMOUNT | MS_RDONLY, nullptr) != 0)
    GTEST_SKIP() << "no right to mount here";
  const absl::Status status = Recover();
  ASSERT_EQ(::umount(plog), 0);
  EXPECT_TRUE(absl::IsPermissionDenied(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("log.1.0: Read-only file system"));
  EXPECT_THAT(std::string(status.message()), HasSubstr("make the folder writable"));
  EXPECT_EQ(Slurp(options_.directory + "/log.1.0"), first_);
}

}  // namespace
}  // namespace arion
