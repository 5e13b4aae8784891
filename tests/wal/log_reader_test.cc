// SPDX-License-Identifier: Apache-2.0
#include "wal/log_reader.h"

#include <absl/strings/str_cat.h>
#include <absl/strings/str_join.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <random>

#include "base/coding.h"
#include "base/crc.h"
#include "base/status.h"
#include "tests/wal/log_world.h"
#include "tests/wal/memory_file.h"

namespace arion {
namespace {

struct ReadFileResult {
  std::vector<LogBlock> blocks;
  LogEnd end = LogEnd::kEof;
  uint64_t position = 0;
  std::string reason;
};
ReadFileResult ReadAll(const std::string& bytes, int64_t start) {
  MemoryFile file(bytes);
  LogReader reader(file, bytes.size(), start);
  ReadFileResult result;
  while (true) {
    LogBlock block;
    auto more = reader.Next(&block);
    EXPECT_TRUE(more.ok());
    if (!more.ok() || !*more) break;
    result.blocks.push_back(std::move(block));
  }
  result.end = reader.end();
  result.position = reader.position();
  result.reason = reader.reason();
  return result;
}

// What spec/fixtures/mlogtool.py prints of a file.
std::string Dump(const std::string& path) {
  const std::string name = std::filesystem::path(path).filename();
  const auto parsed = ParseLogFileName(name);
  const std::string bytes = Slurp(path);
  const ReadFileResult read = ReadAll(bytes, (*parsed)->start_offset);
  const char* status = read.end == LogEnd::kEof         ? "EOF"
                       : read.end == LogEnd::kTruncated ? "INCOMPLETE"
                                                        : "INVALID";
  std::string text = absl::StrCat(
      path, " index=", (*parsed)->index, " start=", (*parsed)->start_offset, " size=", bytes.size(),
      " replay_end=", (*parsed)->start_offset + static_cast<int64_t>(read.position),
      " status=", status, "\n");
  for (const LogBlock& block : read.blocks) {
    if (block.header) {
      std::vector<std::string> entries;
      for (const auto& e : block.header->entries)
        entries.push_back(absl::StrCat(e.pid.app_id, ".", e.pid.index, ":{max=",
                                       e.max_decree.value(), ",valid=", e.valid_start_offset, "}"));
      absl::StrAppend(&text, "  header v", block.header->version, " ", absl::StrJoin(entries, " "),
                      "\n");
    }
    for (const MutationPtr& m : block.mutations) {
      std::vector<std::string> updates;
      for (const Update& u : m->updates) {
        std::string hex;
        for (const unsigned char c : u.data) absl::StrAppendFormat(&hex, "%02x", c);
        updates.push_back(absl::StrCat("('", Text(WriteCodeName(u.code)), "', ", u.serialization,
                                       ", '", hex, "')"));
      }
      absl::StrAppend(&text, "  @", m->log_offset, " len=", EncodedSize(*m), " ", m->pid.app_id,
                      ".", m->pid.index, " b=", m->ballot.value(), " d=", m->decree.value(),
                      " lcd=", m->last_committed.value(), " ts=", m->timestamp_us, " [",
                      absl::StrJoin(updates, ", "), "]\n");
    }
  }
  return text;
}

std::string ToolDump(const std::string& tool, const std::string& path) {
  FILE* pipe = popen(absl::StrCat("python3 ", tool, " dump ", path).c_str(), "r");
  std::string out;
  std::array<char, 4096> buffer;
  while (const size_t n = fread(buffer.data(), 1, buffer.size(), pipe))
    out.append(buffer.data(), n);
  pclose(pipe);
  return out;
}

TEST(LogReaderTest, EveryFixtureDecodesAsTheSpecificationsOwnTool) {
  const std::string fixtures = SpecFixtures();
  REQUIRE_FIXTURES(fixtures);
  int files = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(fixtures)) {
    const auto name = ParseLogFileName(entry.path().filename().string());
    if (!name.ok() || !name->has_value()) continue;
    EXPECT_EQ(Dump(entry.path()), ToolDump(fixtures + "/mlogtool.py", entry.path()));
    ++files;
  }
  EXPECT_GE(files, 17);
}

TEST(LogReaderTest, RealFilesOfUpstreamsOwnTestsDecode) {
  const std::string fixtures = RealFixtures();
  REQUIRE_FIXTURES(fixtures);
  struct Expected {
    const char* file;
    PartitionId pid;
    uint64_t size;
    std::vector<size_t> blocks;  // mutations in each
    std::vector<WriteCode> codes;
  };
  constexpr WriteCode kE = WriteCode::kEmpty, kP = WriteCode::kPut;
  const std::vector<Expected> all = {
      {"a", {1, 4}, 917, {0, 3, 1, 1, 1, 1}, {kP, kP, kP, kE, kP, kE, kE}},
      {"b", {1, 4}, 426, {}, {kE, kP, kE}},
      {"c", {1, 5}, 405, {}, {kE, kE, kE}},
  };
  for (const Expected& expected : all) {
    SCOPED_TRACE(expected.file);
    const std::string bytes = Slurp(fixtures + "/upstream-plog/" + expected.file + "/log.1.0");
    ASSERT_EQ(bytes.size(), expected.size);
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
        EXPECT_EQ(m->decree, Decree(decree++));
        for (const Update& u : m->updates) codes.push_back(u.code);
      }
    }
    if (!expected.blocks.empty()) {
      EXPECT_EQ(blocks, expected.blocks);
    }
    EXPECT_EQ(codes, expected.codes);
  }
}

TEST(LogReaderTest, EndsAsTheTableSays) {
  const std::string whole =
      TestLogBytes({{MakeMutation(1, 50)}, {MakeMutation(2, 60), MakeMutation(3, 10)}});
  const ReadFileResult good = ReadAll(whole, 0);
  ASSERT_EQ(good.end, LogEnd::kEof);
  ASSERT_EQ(good.blocks.size(), 3u);
  const size_t second = good.blocks[1].position, third = good.blocks[2].position;

  for (size_t n = 0; n <= whole.size(); ++n) {
    const ReadFileResult cut = ReadAll(whole.substr(0, n), 0);
    const bool boundary = n == 0 || n == second || n == third || n == whole.size();
    EXPECT_EQ(cut.end, boundary ? LogEnd::kEof : LogEnd::kTruncated) << n;
    EXPECT_EQ(cut.position, n >= whole.size() ? whole.size()
                            : n >= third      ? third
                            : n >= second     ? second
                                              : 0)
        << n;
  }
  EXPECT_EQ(ReadAll(whole + std::string(64, '\0'), 0).end, LogEnd::kCorrupt);
  EXPECT_EQ(ReadAll(whole + std::string(15, '\0'), 0).end, LogEnd::kTruncated);
  // A negative length is no length.
  std::string negative = whole;
  StoreLittle(int32_t{-1}, negative.data() + third + 4);
  EXPECT_EQ(ReadAll(negative, 0).end, LogEnd::kCorrupt);
  std::string beyond = whole;
  StoreLittle(int32_t{INT32_MAX}, beyond.data() + third + 4);
  EXPECT_EQ(ReadAll(beyond, 0).end, LogEnd::kTruncated);
  // The position in a block's header is not checked; every other byte is covered.
  for (size_t i = 0; i < whole.size(); ++i) {
    std::string flipped = whole;
    flipped[i] = static_cast<char>(flipped[i] ^ 0x10);
    const ReadFileResult read = ReadAll(flipped, 0);
    bool in_position_field = false;
    for (const size_t at : {size_t{0}, second, third})
      in_position_field = in_position_field || (i >= at + 12 && i < at + 16);
    if (in_position_field) {
      EXPECT_EQ(read.end, LogEnd::kEof) << i;
    } else {
      EXPECT_NE(read.end, LogEnd::kEof) << i;
    }
  }
}

TEST(LogReaderTest, AWrongStartOffsetIsUnreadable) {
  const std::string bytes = TestLogBytes({{MakeMutation(1, 50)}});
  EXPECT_EQ(ReadAll(bytes, 7).end, LogEnd::kUnreadable);
}

TEST(LogReaderTest, AMutationAtAnotherOffsetThanItSaysIsUnreadable) {
  std::string body;
  AppendMutation(*MakeMutation(1, 10), /*log_offset=*/kFirstBlockBytes + kBlockHeaderBytes + 1,
                 &body);
  std::string bytes = TestLogBytes({});
  const uint32_t chain = LoadLittle<uint32_t>(bytes.data() + 8);
  AppendTestBlock(body, chain, &bytes);
  EXPECT_EQ(ReadAll(bytes, 0).end, LogEnd::kUnreadable);
}

TEST(LogReaderTest, BlocksDroppedDoubledOrSwappedBreakTheChain) {
  const std::string whole =
      TestLogBytes({{MakeMutation(1, 50)}, {MakeMutation(2, 50)}, {MakeMutation(3, 50)}});
  const ReadFileResult good = ReadAll(whole, 0);
  std::vector<std::string> parts;
  for (const LogBlock& b : good.blocks) parts.push_back(whole.substr(b.position, b.size));
  EXPECT_EQ(ReadAll(parts[0] + parts[2] + parts[3], 0).blocks.size(), 1u);
  EXPECT_EQ(ReadAll(parts[0] + parts[1] + parts[1] + parts[2], 0).blocks.size(), 2u);
  EXPECT_EQ(ReadAll(parts[0] + parts[2] + parts[1] + parts[3], 0).blocks.size(), 1u);
}

TEST(LogReaderTest, LargeFilesAreReadInChunks) {
  std::vector<std::vector<MutationPtr>> blocks;
  for (int64_t d = 1; d <= 40; ++d)
    blocks.push_back({MakeMutation(d, 100000 + static_cast<size_t>(d) * 3000)});
  blocks.push_back({MakeMutation(41, 3 << 20)});
  const std::string whole = TestLogBytes(blocks);
  const ReadFileResult read = ReadAll(whole, 0);
  EXPECT_EQ(read.end, LogEnd::kEof);
  ASSERT_EQ(read.blocks.size(), 42u);
  EXPECT_TRUE(SameMutation(*read.blocks[41].mutations[0], *MakeMutation(41, 3 << 20)));
}

TEST(LogReaderTest, AnyBytesAreRead) {
  std::mt19937_64 random(7);
  const std::string whole =
      TestLogBytes({{MakeMutation(1, 50)}, {MakeMutation(2, 60), MakeMutation(3, 10)}});
  for (int i = 0; i < 20000; ++i) {
    std::string bytes = whole.substr(0, random() % (whole.size() + 1));
    for (int n = static_cast<int>(random() % 4); n > 0 && !bytes.empty(); --n)
      bytes[random() % bytes.size()] = static_cast<char>(random());
    const ReadFileResult read = ReadAll(bytes, 0);
    EXPECT_LE(read.position, bytes.size());
    MemoryFile file(bytes);
    ASSERT_TRUE(FindValidBlock(file, 0, bytes.size(), 0, kTestPid).ok());
  }
}

TEST(FindValidBlockTest, FindsOnlyWholeBlocksOfThisReplicaAtTheirPlace) {
  const std::string whole =
      TestLogBytes({{MakeMutation(1, 50)}, {MakeMutation(2, 60)}, {MakeMutation(3, 60)}});
  const ReadFileResult good = ReadAll(whole, 0);
  const uint64_t second = good.blocks[1].position, third = good.blocks[2].position;
  const auto find = [&](const std::string& bytes, uint64_t from, int64_t start = 0,
                        PartitionId pid = kTestPid) {
    MemoryFile file(bytes);
    return *FindValidBlock(file, from, bytes.size(), start, pid);
  };
  EXPECT_EQ(find(whole, 1), second);
  EXPECT_EQ(find(whole, second), second);
  EXPECT_EQ(find(whole, second + 1), third);
  EXPECT_EQ(find(whole, good.blocks[3].position + 1), std::nullopt);
  EXPECT_EQ(find(whole, 1, /*start=*/5), std::nullopt);
  EXPECT_EQ(find(whole, 1, 0, {2, 2}), std::nullopt);
  EXPECT_EQ(find(whole.substr(0, third - 1), 1), std::nullopt);
  EXPECT_EQ(find("x" + whole, 1), std::nullopt);  // recycled bytes lie elsewhere
  // The chain does not matter: that is what was damaged.
  std::string damaged = whole;
  damaged[second + 8] = static_cast<char>(damaged[second + 8] ^ 1);
  EXPECT_EQ(find(damaged, 1), second);
}

TEST(FindValidBlockTest, SeesABlockAcrossChunks) {
  const std::string whole = TestLogBytes(
      {{MakeMutation(1, (1 << 20) - 300)}, {MakeMutation(2, 60)}, {MakeMutation(3, 2 << 20)}});
  const ReadFileResult good = ReadAll(whole, 0);
  MemoryFile file(whole);
  EXPECT_EQ(**FindValidBlock(file, 61, whole.size(), 0, kTestPid), good.blocks[2].position);
  EXPECT_EQ(**FindValidBlock(file, good.blocks[2].position + 1, whole.size(), 0, kTestPid),
            good.blocks[3].position);
}

TEST(EndOfNonZeroBytesTest, SkipsTrailingZeros) {
  std::string bytes(3 << 20, '\0');
  MemoryFile empty(bytes);
  EXPECT_EQ(*EndOfNonZeroBytes(empty, 5, bytes.size()), 5u);
  bytes[1500000] = 1;
  MemoryFile file(bytes);
  EXPECT_EQ(*EndOfNonZeroBytes(file, 5, bytes.size()), 1500001u);
  EXPECT_EQ(*EndOfNonZeroBytes(file, 1500001, bytes.size()), 1500001u);
}

}  // namespace
}  // namespace arion
