// SPDX-License-Identifier: Apache-2.0
#include "wal/log_reader.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <random>

#include "base/coding.h"
#include "base/crc.h"
#include "base/status.h"
#include "tests/wal/log_dump.h"
#include "tests/wal/log_world.h"
#include "tests/wal/memory_file.h"

namespace arion {
namespace {

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

TEST(EndOfTornBytesTest, IsWhereAnOlderLogsBlocksBegin) {
  constexpr int64_t kNewStart = 1 << 20;
  const std::string older =
      TestLogBytes({{MakeMutation(1, 400)}, {MakeMutation(2, 400)}, {MakeMutation(3, 400)}}, 1000);
  const ReadFileResult old_blocks = ReadAll(older, 1000);
  const uint64_t second = old_blocks.blocks[2].position;
  const uint64_t third = old_blocks.blocks[3].position;
  const auto end = [&](std::string bytes, uint64_t from) {
    MemoryFile file(std::move(bytes));
    return *EndOfTornBytes(file, from, older.size(), kNewStart, kTestPid);
  };
  EXPECT_EQ(end(older, second), second);
  // What was torn over it counts, up to the first whole block behind.
  std::string torn = older;
  torn.replace(second, 100, std::string(100, 't'));
  EXPECT_EQ(end(torn, second), third);
  // A newer offset is no older log's.
  MemoryFile newer(older);
  EXPECT_EQ(*EndOfTornBytes(newer, second, older.size(), 999, kTestPid), older.size());
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
