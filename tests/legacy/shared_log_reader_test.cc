// SPDX-License-Identifier: Apache-2.0
#include "legacy/shared_log_reader.h"

#include <gtest/gtest.h>
#include <fstream>

#include "posix/posix_file_system.h"
#include "tests/fuzz/memory_files.h"
#include "tests/legacy/shared_log_bytes.h"
#include "tests/support/fixtures.h"

namespace arion {
namespace {

constexpr char kFolder[] = "/slog";
constexpr PartitionId kA{1, 0}, kB{2, 1};

Mutation Put(PartitionId pid, int64_t ballot, int64_t decree) {
  return {.pid = pid,
          .ballot = Ballot(ballot),
          .decree = Decree(decree),
          .last_committed = Decree(decree - 1),
          .timestamp_us = decree,
          .updates = {{WriteCode::kPut, 1, PutRequest(std::string("\0\1k1", 4), "v")}}};
}

struct Reading {
  absl::Status status;
  int64_t mutations = 0;
  std::map<PartitionId, std::pair<Decree, Decree>> max;  // decree, last committed
  int64_t end_offset = 0;
  std::string torn_tail;
};
Reading ReadAll(FileSystem& files, const std::string& directory) {
  Reading reading;
  const auto catalog = ListSharedLog(files, directory);
  if (!catalog.ok()) return {.status = catalog.status()};
  SharedLogReader reader(files, *catalog, 0);
  while (true) {
    const auto more = reader.Next(1000, [&](const MutationView& m) {
      ++reading.mutations;
      auto& max = reading.max[m.pid()];
      max.first = std::max(max.first, m.decree());
      max.second = std::max(max.second, m.last_committed());
    });
    if (!more.ok()) reading.status = more.status();
    if (!more.ok() || !*more) break;
  }
  reading.end_offset = reader.end_offset();
  reading.torn_tail = reader.torn_tail();
  return reading;
}

class SharedLogReaderTest : public testing::Test {
 protected:
  SharedLogReaderTest() {
    log_.Register(kA);
    log_.Register(kB);
    for (int file = 0; file < 3; ++file) {
      log_.NewFile();
      for (int i = 0; i < 4; ++i) {
        ++decree_;
        log_.Add({Put(kA, 3, decree_), Put(kB, 3, decree_)});
      }
    }
  }
  std::string PathOf(size_t i) const { return JoinPath(kFolder, log_files_[i].name.ToString()); }
  void Store() {
    log_files_ = log_.files();
    ASSERT_TRUE(log_.Store(files_, kFolder).ok());
  }
  Reading Read() { return ReadAll(files_, kFolder); }
  void Change(size_t file, const std::function<void(std::string&)>& change) {
    std::string bytes = files_.Content(PathOf(file));
    change(bytes);
    files_.Put(PathOf(file), bytes);
  }

  MemoryFiles files_;
  SharedLogBytes log_;
  std::vector<SharedLogBytes::File> log_files_;
  int decree_ = 0;
};

TEST_F(SharedLogReaderTest, AWholeLogIsReadToItsEnd) {
  Store();
  const Reading reading = Read();
  ASSERT_TRUE(reading.status.ok()) << reading.status;
  EXPECT_EQ(reading.mutations, 24);
  EXPECT_EQ(reading.end_offset, log_.end());
  EXPECT_EQ(reading.torn_tail, "");
}
TEST_F(SharedLogReaderTest, A15_ATornTailOfTheNewestFileIsItsEnd) {
  Store();
  Change(2, [](std::string& bytes) { bytes.resize(bytes.size() - 3); });
  const Reading reading = Read();
  ASSERT_TRUE(reading.status.ok()) << reading.status;
  EXPECT_EQ(reading.mutations, 22);
  EXPECT_NE(reading.torn_tail.find(PathOf(2)), std::string::npos) << reading.torn_tail;
}
TEST_F(SharedLogReaderTest, ATornTailInTheMiddleIsDamageThatNamesFilePlaceAndReplicas) {
  Store();
  Change(1, [](std::string& bytes) { bytes.resize(bytes.size() - 3); });
  const Reading reading = Read();
  ASSERT_TRUE(absl::IsDataLoss(reading.status)) << reading.status;
  const std::string text(reading.status.message());
  EXPECT_NE(text.find(PathOf(1)), std::string::npos) << text;
  EXPECT_NE(text.find("1.0 (7 of 8)"), std::string::npos) << text;
  EXPECT_NE(text.find("2.1 (7 of 8)"), std::string::npos) << text;
}
TEST_F(SharedLogReaderTest, ATornTailIsLegalWhereTheNextFileStartsThere) {
  log_.files()[1].bytes += "torn";
  Store();
  EXPECT_TRUE(Read().status.ok()) << Read().status;
}
TEST_F(SharedLogReaderTest, A14_AFlippedBitIsDamageAndNothingChanges) {
  Store();
  Change(1, [](std::string& bytes) { bytes[bytes.size() / 2] ^= 1; });
  const auto before = files_.List(kFolder);
  const Reading reading = Read();
  EXPECT_TRUE(absl::IsDataLoss(reading.status)) << reading.status;
  EXPECT_EQ(*files_.List(kFolder), *before);
}
TEST_F(SharedLogReaderTest, AfterDamageTheNextFileCanBeReadAndWhatMayBeMissingIsSaid) {
  Store();
  Change(1, [](std::string& bytes) { bytes[bytes.size() - 3] ^= 1; });
  SharedLogReader reader(files_, *ListSharedLog(files_, kFolder), 0);
  int64_t mutations = 0;
  std::vector<SharedLogReader::Damage> damages;
  while (true) {
    const auto more = reader.Next(1000, [&](const MutationView&) { ++mutations; });
    if (absl::IsDataLoss(more.status())) {
      damages.push_back(reader.SkipDamaged());
      continue;
    }
    ASSERT_TRUE(more.ok()) << more.status();
    if (!*more) break;
  }
  EXPECT_EQ(mutations, 22);
  ASSERT_EQ(damages.size(), 1u);
  EXPECT_EQ(damages[0].path, PathOf(1));
  EXPECT_EQ(damages[0].concerned.at(kA), std::make_pair(Decree(7), std::optional(Decree(8))));
}
TEST_F(SharedLogReaderTest, A16_AHoleInTheIndexesIsRefused) {
  Store();
  ASSERT_TRUE(files_.Remove(PathOf(1)).ok());
  EXPECT_TRUE(absl::IsDataLoss(Read().status)) << Read().status;
}
TEST_F(SharedLogReaderTest, ReadingMayBeginInALaterFile) {
  Store();
  SharedLogReader reader(files_, *ListSharedLog(files_, kFolder), 2);
  int64_t mutations = 0;
  while (true) {
    const auto more = reader.Next(1, [&](const MutationView&) { ++mutations; });
    ASSERT_TRUE(more.ok()) << more.status();
    if (!*more) break;
  }
  EXPECT_EQ(mutations, 8);
  EXPECT_EQ(reader.max_of_newest().at(kA), Decree(12));
}

// The number behind "key": in a line of JSON, from *at on, which is moved behind it.
int64_t NumberOf(const std::string& line, const std::string& key, size_t* at) {
  *at = line.find("\"" + key + "\":", *at) + key.size() + 3;
  return std::stoll(line.substr(*at));
}

// Every directory that the old version's own classes wrote, or that was made from one by damaging
// it, is read as they read it (line "dir_replay" of expected.jsonl).
TEST(SharedLogFixtures, AreReadAsTheOldVersionReadThem) {
  const std::string root = RealFixtures() + "/slog-2.5.0";
  REQUIRE_FIXTURE(root);
  PosixFileSystem files;
  int directories = 0;
  const auto names = files.List(root);
  for (const std::string& name : *names) {
    std::ifstream lines(root + "/" + name + "/expected.jsonl");
    std::string line;
    while (std::getline(lines, line) && line.find("\"dir_replay\"") == std::string::npos) {
    }
    if (!lines) continue;
    ++directories;
    SCOPED_TRACE(name);
    const Reading reading = ReadAll(files, root + "/" + name);
    EXPECT_EQ(reading.status.ok(), line.find("\"error\":\"ERR_OK\"") != std::string::npos)
        << reading.status;
    if (!reading.status.ok()) continue;
    size_t at = 0;
    EXPECT_EQ(reading.mutations, NumberOf(line, "mutations", &at));
    EXPECT_EQ(reading.end_offset, NumberOf(line, "end_offset", &at));
    size_t gpids = 0;
    while ((at = line.find("\"gpid\":\"", at)) != std::string::npos) {
      PartitionId pid;
      ASSERT_EQ(sscanf(line.c_str() + at, "\"gpid\":\"%d.%d\"", &pid.app_id, &pid.index), 2);
      ASSERT_TRUE(reading.max.contains(pid));
      EXPECT_EQ(reading.max.at(pid).first, Decree(NumberOf(line, "max_decree", &at)));
      EXPECT_EQ(reading.max.at(pid).second, Decree(NumberOf(line, "max_last_committed", &at)));
      ++gpids;
    }
    EXPECT_EQ(reading.max.size(), gpids);
  }
  EXPECT_EQ(directories, 16);
}

}  // namespace
}  // namespace arion
