// The acceptance tests of legacy/FORMAT.md 8 that are about a private log, by their names;
// real files of other origin; and what we write, read by the old versions' rule.
//
// tests/sim/known_bugs.md B7: what is torn and what is damaged are told apart (legacy/FORMAT.md
// tests/sim/known_bugs.md F14, F16: what a crash of an older version left is read,
// repeatedly (legacy/FORMAT.md ).
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <future>
#include <map>
#include <regex>
#include <sstream>

#include "decrees/log_replay.h"
#include "posix/posix_environment.h"
#include "tests/support/temp_directory.h"
#include "tests/wal/log_dump.h"
#include "tests/wal/log_world.h"
#include "wal/private_log.h"

namespace arion {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class LogAcceptanceTest : public ::testing::Test {
 protected:
  void SetUp() override { REQUIRE_FIXTURE(SpecFixtures()); }

  void Put(const std::string& fixture) {
    for (const auto& entry : std::filesystem::directory_iterator(SpecFixtures() + "/" + fixture))
      w.Put(entry.path().filename(), Slurp(entry.path()));
    w.node().disk().MakeDurable();
    for (const std::string& name : w.Names()) before[name] = w.Content(name);
  }

  // Loads the log and judges it as replay does, over an empty engine and init ballot 3.
  absl::Status Load() {
    LogReplay judgement(kTestPid, Decree(0));
    applied.clear();
    prepared.clear();
    committed_on_disk = Decree(0);
    hole = absl::OkStatus();
    const absl::Status opened = w.Open();
    if (!opened.ok()) return opened;
    for (const MutationPtr& m : w.replayed) {
      committed_on_disk = std::max(committed_on_disk, m->last_committed);
      if (hole.ok()) hole = judgement.Add(m, &applied);
    }
    committed = judgement.last_committed().value();
    for (const MutationPtr& m : judgement.Uncommitted()) prepared.push_back(m->decree.value());
    ballot = std::max(Ballot(3), w.summary.max_ballot).value();
    return opened;
  }
  void ExpectState(int64_t last_applied, int64_t last_committed,
                   const std::vector<int64_t>& prepared_decrees, int64_t max_ballot) {
    EXPECT_TRUE(hole.ok()) << hole;
    ASSERT_FALSE(applied.empty());
    EXPECT_EQ(applied.back()->decree.value(), last_applied);
    EXPECT_EQ(committed, last_committed);
    EXPECT_EQ(prepared, prepared_decrees);
    EXPECT_EQ(ballot, max_ballot);
  }
  void ExpectUntouched() {
    for (const auto& [name, bytes] : before) EXPECT_EQ(w.Content(name), bytes) << name;
  }

  LogWorld w;
  std::map<std::string, std::string> before;
  std::vector<MutationPtr> applied;
  std::vector<int64_t> prepared;
  Decree committed_on_disk;
  int64_t committed = 0;
  int64_t ballot = 0;
  absl::Status hole;
};

TEST_F(LogAcceptanceTest, A01PlogBasic) {
  Put("plog-basic");
  ASSERT_TRUE(Load().ok());
  ExpectState(3, 3, {4}, 4);
  EXPECT_EQ(w.summary.max_decree, Decree(4));
  EXPECT_EQ(committed_on_disk, Decree(3));
  // The next file: it holds the uncommitted decree again.
  EXPECT_THAT(w.Names(), ElementsAre("log.1.0", "log.2.416", "log.3.675"));
  ExpectUntouched();
}

TEST_F(LogAcceptanceTest, A02PlogTornTail) {
  Put("plog-torn-tail");
  ASSERT_TRUE(Load().ok());
  ExpectState(2, 2, {3}, 3);
  ExpectUntouched();
  EXPECT_THAT(w.Names(), ElementsAre("log.1.0", "log.2.416", "log.3.476"));
  w.Append(MakeMutation(4, 10));
  w.Settle();
  w.Crash(sim::CrashMode::kPowerNone);
  ASSERT_TRUE(Load().ok());
  ExpectState(3, 3, {4}, 3);
  ExpectUntouched();
}

TEST_F(LogAcceptanceTest, A03PlogTornMiddleLegal) {
  Put("plog-torn-middle-legal");
  ASSERT_TRUE(Load().ok());
  ASSERT_THAT(w.ReplayedDecrees(), ElementsAre(1, 2));
  EXPECT_EQ(w.replayed[0]->ballot, Ballot(3));
  EXPECT_EQ(w.replayed[1]->ballot, Ballot(5));
  ExpectUntouched();
}

// That the directory becomes .err and others go on is the server's part (tests/replica).
TEST_F(LogAcceptanceTest, A04PlogOffsetGapBadCrcAndZeroTail) {
  for (const char* fixture : {"plog-offset-gap", "plog-bad-crc", "plog-zero-tail"}) {
    SCOPED_TRACE(fixture);
    before.clear();
    ASSERT_TRUE(w.files().RemoveAll(kLogDirectory).ok());
    Put(fixture);
    EXPECT_TRUE(absl::IsDataLoss(Load()));
    ExpectUntouched();
    EXPECT_EQ(w.Names().size(), before.size());
  }
}

TEST_F(LogAcceptanceTest, A05PlogEmptyLast) {
  Put("plog-empty-last");
  ASSERT_TRUE(Load().ok());
  EXPECT_THAT(w.ReplayedDecrees(), ElementsAre(1, 2, 3));
  ExpectState(2, 2, {3}, 3);
  // Index 2 again, at offset 416: what is not committed is written there anew.
  EXPECT_THAT(w.Names(), ElementsAre("log.1.0", "log.2.416", "log.2.416.removed"));
  EXPECT_EQ(w.Content("log.2.416.removed"), "");
}

TEST_F(LogAcceptanceTest, A06PlogStrayNames) {
  Put("plog-stray-names");
  ASSERT_TRUE(Load().ok());
  EXPECT_THAT(w.ReplayedDecrees(), ElementsAre(1, 2, 3));
  w.Append(MakeMutation(4, 10));
  w.Settle();
  w.env().RunOn(w.strand(), [&] { w.log->DropThrough(Decree(4)); });
  w.Settle();
  ASSERT_TRUE(w.Close().ok());
  for (const char* name : {"log.2.416.removed", "log.3", "log.x.1", "readme.txt"})
    EXPECT_EQ(w.Content(name), before.at(name)) << name;
}

TEST_F(LogAcceptanceTest, A07PlogReproposed) {
  Put("plog-reproposed");
  ASSERT_TRUE(Load().ok());
  ExpectState(2, 2, {3}, 4);
  ASSERT_EQ(applied.size(), 2u) << "each decree once";
  EXPECT_EQ(applied[1]->ballot, Ballot(4));
  EXPECT_THAT(applied[1]->updates.at(0).data, HasSubstr("new2"));
}

// That such a replica can only learn is the server's part (tests/replica).
TEST_F(LogAcceptanceTest, A08PlogHole) {
  Put("plog-hole");
  ASSERT_TRUE(Load().ok());
  EXPECT_TRUE(absl::IsDataLoss(hole)) << hole;
  ASSERT_FALSE(applied.empty());
  EXPECT_LE(applied.back()->decree, Decree(2));
  ExpectUntouched();
  // What lies behind the hole is still there, and 7 once more: nothing says it is committed.
  w.env().RunInPool([&] { EXPECT_EQ(w.log->ReadFrom(Decree(6), 1 << 20)->mutations.size(), 3u); });
}

TEST_F(LogAcceptanceTest, EveryFixtureDirectoryIsReadAsTheToolReadsIt) {
  std::map<std::string, int> files;
  std::vector<std::string> paths;
  std::string ours;
  for (const auto& directory : std::filesystem::directory_iterator(SpecFixtures())) {
    if (!directory.is_directory()) continue;
    for (const auto& entry : std::filesystem::directory_iterator(directory)) {
      const auto name = ParseLogFileName(entry.path().filename().string());
      if (!name.ok() || !name->has_value()) continue;
      paths.push_back(entry.path());
      ours += Dump(entry.path());
      ++files[directory.path().filename()];
    }
  }
  EXPECT_EQ(ours, ToolDump(paths));
  // Each of the made folders is among them.
  for (const char* name :
       {"plog-basic", "plog-torn-tail", "plog-torn-middle-legal", "plog-offset-gap", "plog-bad-crc",
        "plog-zero-tail", "plog-empty-last", "plog-stray-names", "plog-reproposed", "plog-hole",
        "slog-three-files", "slog-rollback-hole"})
    EXPECT_GT(files[name], 0) << name;
}

// ---- real files ----

class RealFilesTest : public ::testing::Test {
 protected:
  void SetUp() override { REQUIRE_FIXTURE(RealFixtures()); }
};

// Private logs that Apache Pegasus wrote for its own tests.
TEST_F(RealFilesTest, UpstreamPlog) {
  struct Expected {
    const char* file;
    PartitionId pid;
    uint64_t size;
    const char* sha256;
    std::vector<size_t> blocks;  // mutations in each
    std::vector<WriteCode> codes;
  };
  constexpr WriteCode kE = WriteCode::kEmpty, kP = WriteCode::kPut;
  const std::vector<Expected> all = {
      {"a",
       {1, 4},
       917,
       "dd945804be057ddb2da5adbd39a6dc3ceefcea1bf4bf4ebb8348ea83bd64619f",
       {0, 3, 1, 1, 1, 1},
       {kP, kP, kP, kE, kP, kE, kE}},
      {"b",
       {1, 4},
       426,
       "71b9995cbf3ea5e6b4fbc274336d79b87048ae2ca9486a9574c2e5b16def858b",
       {},
       {kE, kP, kE}},
      {"c",
       {1, 5},
       405,
       "4f3b322b69a7ce9b4b47c65f52c33e2bb49cc4ad4a15d43340e88014c9e3e4b4",
       {},
       {kE, kE, kE}},
  };
  for (const Expected& expected : all) {
    SCOPED_TRACE(expected.file);
    const std::string path = RealFixtures() + "/upstream-plog/" + expected.file + "/log.1.0";
    const std::string bytes = Slurp(path);
    ASSERT_EQ(bytes.size(), expected.size);
    EXPECT_EQ(Output("sha256sum < " + path).substr(0, 64), expected.sha256);
    const ReadFileResult read = ReadAll(bytes, 0);
    EXPECT_EQ(read.end, LogEnd::kEof) << read.reason;
    EXPECT_EQ(read.position, bytes.size());
    std::vector<size_t> blocks;
    std::vector<WriteCode> codes;
    int64_t decree = 1;
    for (const LogBlock& block : read.blocks) {
      blocks.push_back(block.mutations.size());
      for (const MutationPtr& m : block.mutations) {
        EXPECT_EQ(m->pid, expected.pid);
        EXPECT_EQ(m->ballot, Ballot(3));
        EXPECT_EQ(m->decree, Decree(decree++));
        for (const Update& u : m->updates) codes.push_back(u.code);
      }
    }
    if (!expected.blocks.empty()) {
      EXPECT_EQ(blocks, expected.blocks);
    }
    EXPECT_EQ(codes, expected.codes);
    if (std::filesystem::exists(SpecFixtures())) {
      EXPECT_EQ(Dump(path), ToolDump({path}));
    }
  }
}

std::vector<std::string> ExpectedRows(const std::string& path) {
  static const std::regex kSha256(",\"sha256\":\"[0-9a-f]+\"");
  std::ifstream in(path);
  std::vector<std::string> rows;
  for (std::string line; std::getline(in, line);) {
    if (line.find("\"file\":") == std::string::npos) continue;
    if (line.find("\"open_error\"") != std::string::npos) continue;
    rows.push_back(std::regex_replace(line, kSha256, ""));
  }
  return rows;
}

TEST_F(RealFilesTest, PrivateLogsOfPegasus25DecodeToTheRowsOfItsOwnReader) {
  const std::string root = RealFixtures() + "/pegasus-2.5.0";
  int logs = 0;
  for (const auto& replica : std::filesystem::directory_iterator(root + "/replica1/reps")) {
    const std::filesystem::path plog = replica.path() / "plog";
    if (!std::filesystem::is_directory(plog)) continue;
    SCOPED_TRACE(replica.path());
    const std::string gpid = replica.path().stem();
    EXPECT_EQ(JsonRows(plog / "log.1.0", /*with_hex=*/false),
              ExpectedRows(root + "/plog-expected/" + gpid + ".jsonl"));
    ++logs;
  }
  EXPECT_EQ(logs, 6);
}

TEST_F(RealFilesTest, SharedLogsOfPegasus25DecodeToTheRowsOfItsOwnReader) {
  int directories = 0;
  for (const auto& directory :
       std::filesystem::directory_iterator(RealFixtures() + "/slog-2.5.0")) {
    if (!directory.is_directory()) continue;
    SCOPED_TRACE(directory.path());
    std::vector<std::pair<LogFileName, std::string>> files;
    for (const auto& entry : std::filesystem::directory_iterator(directory)) {
      const auto name = ParseLogFileName(entry.path().filename().string());
      if (name.ok() && name->has_value()) files.emplace_back(**name, entry.path());
    }
    std::sort(files.begin(), files.end());
    const std::vector<std::string> expected = ExpectedRows(directory.path() / "expected.jsonl");
    std::vector<std::string> rows;
    for (const auto& [name, path] : files) {
      // A file whose first block can't be read has no row.
      std::vector<std::string> of_file = JsonRows(path, /*with_hex=*/true);
      if (of_file.size() > 1) rows.insert(rows.end(), of_file.begin(), of_file.end());
    }
    EXPECT_EQ(rows, expected);
    ++directories;
  }
  EXPECT_EQ(directories, 16);
}

// ---- what we write ----

// wal/FORMAT.md 2 to 4, from the bytes alone: strict, and by nothing of wal/. The mutations' raw
// bytes, by decree; a wrong byte fails the test.
class OldVersionsReader {
 public:
  void ReadDirectory(const std::string& directory) {
    std::map<int64_t, std::pair<int64_t, std::string>> files;
    for (const auto& entry : std::filesystem::directory_iterator(directory)) {
      long long index = 0, start = 0;
      int used = 0;
      const std::string name = entry.path().filename();
      ASSERT_EQ(sscanf(name.c_str(), "log.%lld.%lld%n", &index, &start, &used), 2) << name;
      ASSERT_EQ(static_cast<size_t>(used), name.size()) << name;
      files[index] = {start, entry.path()};
    }
    ASSERT_FALSE(files.empty());
    int64_t next_index = 1;
    for (const auto& [index, file] : files) {
      SCOPED_TRACE(file.second);
      ASSERT_EQ(index, next_index++);
      ASSERT_EQ(file.first, end_) << "starts where the one before ends";
      ASSERT_NO_FATAL_FAILURE(ReadOne(Slurp(file.second)));
    }
  }
  const std::vector<std::string>& mutations() const { return mutations_; }
  size_t blocks_max_bytes() const { return blocks_max_bytes_; }

 private:
  void ReadOne(const std::string& bytes) {
    uint32_t chain = 0;
    size_t at = 0;
    while (at < bytes.size()) {  // no bytes behind the last block
      ASSERT_GE(bytes.size() - at, 16u) << "TRUNCATED at " << at;
      ASSERT_EQ(LoadLittle<uint32_t>(&bytes[at]), 0xDEADBEEFu) << "CORRUPT at " << at;
      const auto length = LoadLittle<int32_t>(&bytes[at + 4]);
      ASSERT_GE(length, 0);
      ASSERT_LE(at + 16 + static_cast<size_t>(length), bytes.size()) << "TRUNCATED at " << at;
      ASSERT_EQ(LoadLittle<uint32_t>(&bytes[at + 12]), at);
      const std::string body = bytes.substr(at + 16, static_cast<size_t>(length));
      chain = ByBits(body, chain);
      ASSERT_EQ(LoadLittle<uint32_t>(&bytes[at + 8]), chain) << "CORRUPT at " << at;
      if (at == 0) {
        ASSERT_EQ(length, 44) << "a header with one entry and nothing else";
        ASSERT_EQ(LoadLittle<uint32_t>(&body[0]), 0xDEADBEEFu);
        ASSERT_EQ(LoadLittle<int32_t>(&body[4]), 1);
        ASSERT_EQ(LoadLittle<int64_t>(&body[8]), end_);
        ASSERT_EQ(LoadLittle<int32_t>(&body[16]), 1);
        ASSERT_EQ(LoadLittle<int32_t>(&body[20]), kTestPid.app_id);
        ASSERT_EQ(LoadLittle<int32_t>(&body[24]), kTestPid.index);
        ASSERT_EQ(LoadLittle<int64_t>(&body[28]), max_decree_) << "of all earlier files";
        ASSERT_EQ(LoadLittle<int64_t>(&body[36]), 0);
      } else {
        ASSERT_NO_FATAL_FAILURE(ReadBody(body, end_ + static_cast<int64_t>(at) + 16));
      }
      at += 16 + static_cast<size_t>(length);
      blocks_max_bytes_ = std::max(blocks_max_bytes_, 16 + static_cast<size_t>(length));
    }
    end_ += static_cast<int64_t>(bytes.size());
    max_decree_ = max_seen_;
  }
  void ReadBody(const std::string& body, int64_t global) {
    ASSERT_FALSE(body.empty());
    size_t at = 0;
    while (at < body.size()) {
      ASSERT_LE(16 + at, 1048576u + 16) << "a block over 1 MiB takes no further mutation";
      ASSERT_GE(body.size() - at, 60u);
      ASSERT_EQ(LoadLittle<int64_t>(&body[at]), 0);
      ASSERT_EQ(LoadLittle<int32_t>(&body[at + 8]), kTestPid.app_id);
      ASSERT_EQ(LoadLittle<int32_t>(&body[at + 12]), kTestPid.index);
      ASSERT_EQ(LoadLittle<int64_t>(&body[at + 32]), global + static_cast<int64_t>(at));
      max_seen_ = std::max(max_seen_, LoadLittle<int64_t>(&body[at + 24]));
      const auto count = LoadLittle<int32_t>(&body[at + 56]);
      ASSERT_GE(count, 1);
      size_t end = at + 60, data = 0;
      for (int32_t i = 0; i < count; ++i) {
        ASSERT_LE(end + 12, body.size());
        const auto name = static_cast<size_t>(LoadLittle<int32_t>(&body[end]));
        ASSERT_LE(end + 12 + name, body.size());
        ASSERT_EQ(body.substr(end + 4, 5), "RPC_R");
        data += static_cast<size_t>(LoadLittle<int32_t>(&body[end + 8 + name]));
        end += 12 + name;
      }
      end += data;
      ASSERT_LE(end, body.size());
      mutations_.push_back(body.substr(at, end - at));
      at = end;
    }
  }
  static uint32_t ByBits(std::string_view text, uint32_t crc) {
    static const auto table = [] {
      std::array<uint32_t, 256> t;
      for (uint32_t i = 0; i < 256; ++i) {
        t[i] = i;
        for (int bit = 0; bit < 8; ++bit) t[i] = t[i] >> 1 ^ (t[i] & 1 ? 0x82F63B78u : 0);
      }
      return t;
    }();
    crc = ~crc;
    for (const char c : text) crc = table[(crc ^ static_cast<uint8_t>(c)) & 255] ^ crc >> 8;
    return ~crc;
  }

  int64_t end_ = 0;         // where the next file starts
  int64_t max_decree_ = 0;  // of all files before
  int64_t max_seen_ = 0;
  size_t blocks_max_bytes_ = 0;
  std::vector<std::string> mutations_;
};

struct Setting {
  const char* name;
  Durability durability;
  bool preallocate;
};

class WhatWeWriteTest : public ::testing::TestWithParam<Setting> {
 protected:
  WhatWeWriteTest() {
    options_ = TestLogOptions();
    options_.directory = directory_.path() + "/2.1.pegasus/plog";
    options_.identity_path = directory_.path() + "/2.1.pegasus/.arion-log";
    options_.durability = GetParam().durability;
    options_.preallocate = GetParam().preallocate;
    options_.segment_bytes_max = 1 << 20;
    EXPECT_TRUE(env_.files().CreateDirectories(directory_.path() + "/2.1.pegasus").ok());
  }
  void Open() {
    auto opened = PrivateLog::Open(
        env_, strand_, options_, [](MutationPtr) { return absl::OkStatus(); }, nullptr);
    ASSERT_TRUE(opened.ok()) << opened.status();
    log_ = *std::move(opened);
  }
  // All in one turn of the strand, so that they share blocks; waits until they are durable.
  void Append(const std::vector<MutationPtr>& mutations) {
    std::promise<void> done;
    size_t answered = 0;
    strand_->Post([&] {
      for (const MutationPtr& m : mutations)
        log_->Append(m, [&](const absl::Status& status) {
          EXPECT_TRUE(status.ok()) << status;
          if (++answered == mutations.size()) done.set_value();
        });
    });
    done.get_future().get();
    appended_.insert(appended_.end(), mutations.begin(), mutations.end());
  }
  void Close() {
    std::promise<void> drained;
    strand_->Post([&] { log_->Drain([&] { drained.set_value(); }); });
    drained.get_future().get();
    EXPECT_TRUE(log_->Close().ok());
    std::promise<void> gone;
    strand_->Post([&] {
      log_.reset();
      gone.set_value();
    });
    gone.get_future().get();
  }

  TempDirectory directory_;
  PosixEnvironment env_{{}};
  StrandPtr strand_ = env_.NewStrand("log");
  PrivateLogOptions options_;
  std::unique_ptr<PrivateLog> log_;
  std::vector<MutationPtr> appended_;
};

MutationPtr WithUpdates(int64_t decree, int updates, size_t bytes) {
  Mutation m = *MakeMutation(decree, bytes);
  for (int i = 1; i < updates; ++i) {
    m.updates.push_back(m.updates.front());
    m.updates.back().code = i % 2 == 0 ? WriteCode::kPut : WriteCode::kRemove;
    m.updates.back().data += std::to_string(i);
  }
  return std::make_shared<const Mutation>(std::move(m));
}

TEST_P(WhatWeWriteTest, A32LargeMutationsAndBatchesAreReadByTheOldVersionsRule) {
  ASSERT_NO_FATAL_FAILURE(Open());
  Append({MakeMutation(1, 100)});
  Append({MakeMutation(2, 3 << 19)});  // 1.5 MiB, larger than a file here
  Append({WithUpdates(3, 64, 1000)});  // 64 updates
  std::vector<MutationPtr> batch;      // crosses 1 MiB
  for (int64_t d = 4; d <= 15; ++d) batch.push_back(MakeMutation(d, 150000));
  Append(batch);
  Mutation empty;
  empty.pid = kTestPid;
  empty.ballot = Ballot(4);
  empty.decree = Decree(16);
  empty.last_committed = Decree(15);
  empty.updates.push_back({});
  Append({std::make_shared<const Mutation>(empty)});
  Close();
  // Goes on in a new file.
  ASSERT_NO_FATAL_FAILURE(Open());
  Append({MakeMutation(17, 10), MakeMutation(18, 0)});
  Close();

  OldVersionsReader old;
  ASSERT_NO_FATAL_FAILURE(old.ReadDirectory(options_.directory));
  ASSERT_EQ(old.mutations().size(), appended_.size());
  for (size_t i = 0; i < appended_.size(); ++i) {
    std::string_view raw = old.mutations()[i];
    const auto mutation = TakeMutation(&raw);
    ASSERT_TRUE(mutation.ok());
    EXPECT_TRUE(SameMutation(*mutation, *appended_[i])) << i;
  }
  EXPECT_GT(old.blocks_max_bytes(), 1u << 20);
}

TEST_P(WhatWeWriteTest, TheSpecificationsToolReadsEveryFile) {
  REQUIRE_FIXTURE(SpecFixtures());
  options_.segment_bytes_max = 256 << 10;
  ASSERT_NO_FATAL_FAILURE(Open());
  for (int64_t d = 1; d <= 1500;) {
    std::vector<MutationPtr> batch;
    for (int i = 0; i < 10; ++i, d += 3)
      batch.insert(batch.end(),
                   {MakeMutation(d, 1000), WithUpdates(d + 1, 3, 200), MakeMutation(d + 2, 1)});
    Append(batch);
  }
  Close();
  std::vector<std::string> names = *env_.files().List(options_.directory);
  EXPECT_GT(names.size(), 1u);
  std::vector<std::string> paths;
  std::string ours;
  for (const std::string& name : names) {
    paths.push_back(options_.directory + "/" + name);
    const std::string dump = Dump(paths.back());
    EXPECT_THAT(dump.substr(0, dump.find('\n')), ::testing::EndsWith(" status=EOF"));
    ours += dump;
  }
  EXPECT_EQ(ToolDump(paths), ours);
  EXPECT_EQ(std::count(ours.begin(), ours.end(), '@'), 1500);
}

INSTANTIATE_TEST_SUITE_P(Settings, WhatWeWriteTest,
                         ::testing::Values(Setting{"Prewritten", Durability::kFsync, true},
                                           Setting{"Appending", Durability::kFsync, false},
                                           Setting{"PageCache", Durability::kOs, true}),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace arion
