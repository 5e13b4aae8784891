// What an engine does with indexes beside it. SPDX-License-Identifier: Apache-2.0
#include "indexes/indexed_engine.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <random>

#include "base/error_code.h"
#include "engine/rocksdb_engine.h"
#include "tests/indexes/indexed_replica.h"

namespace arion {
namespace {

// RocksDB flushes by itself when a buffer is full, and asks nobody.
TEST(IndexedEngineTest, NoFlushOfTheDataIsAheadOfTheIndexes) {
  TestEnvironment environment;
  RocksdbEngineFactory plain(environment, {.write_buffer_bytes = 64 << 10});
  IndexedReplica replica(environment, plain);
  ASSERT_TRUE(replica.Define({{"by_n", "$.n"}}).ok());
  replica.BuildAll();
  const std::string padding(2000, 'x');
  for (int i = 0; i < 200; ++i)
    replica.Put({{"k" + std::to_string(i), R"({"n":1,"p":")" + padding + "\"}"}});
  // Flushes under way end, and nothing is asked for.
  const Decree flushed = replica.engine().last_flushed();
  EXPECT_GT(flushed, Decree(20)) << "it has flushed";
  replica.CrashAndOpen();
  EXPECT_GE(replica.engine().last_applied(), flushed);
  const auto reading = replica.indexes().Read("by_n");
  ASSERT_TRUE(reading && reading->progress.is_whole) << "the store covers what the data hold";
  const FieldValue one = FieldValue::Of(int64_t{1});
  const auto found = replica.Find({.index = "by_n", .lower = one, .upper = one, .limit = 1000});
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(found->size(), replica.model().size());
}

// More than one run, merged, and taken in beneath what is written meanwhile.
TEST(IndexedEngineTest, ABulkLoadOfSeveralRuns) {
  TestEnvironment environment;
  RocksdbEngineFactory plain(environment);
  auto store = plain.OpenIndexStore(environment.root() + "/store");
  ASSERT_TRUE(store.ok()) << store.status();
  const std::string prefix = EntryPrefix(1);
  const std::string own = prefix + "own";
  const std::vector<WriteOp> ops = {{.key = own, .value = "applied"}};
  ASSERT_TRUE((*store)->Apply(Decree(1), 0, ops).ok());
  auto writer = (*store)->NewBulkWriter({});
  ASSERT_TRUE(writer.ok());
  constexpr int kKeys = 90'000;
  const std::string padding(1000, 'p');
  for (int i = 0; i < kKeys; ++i) {
    const int scattered = static_cast<int>(int64_t{i} * 7919 % kKeys);
    ASSERT_TRUE((*writer)->Add(prefix + std::to_string(1'000'000 + scattered) + padding).ok());
  }
  ASSERT_TRUE((*writer)->Add(own).ok());
  ASSERT_TRUE((*writer)->Sort().ok());
  ASSERT_TRUE((*writer)->Finish().ok());
  *writer = nullptr;
  EXPECT_EQ((*store)->Get(own, 0, ReadTier::kAll)->value, "applied") << "it lies above";
  int found = 0;
  const auto view = (*store)->View();
  for (auto at = view->Walk({.first = prefix, .end = EndOfPrefix(prefix)}, Direction::kForward);
       at->Valid(); at->Next())
    ++found;
  EXPECT_EQ(found, kKeys + 1);
}

TEST(IndexedEngineTest, AnIndexThatCannotBeReadIsGivenUpAndTheDataAnswerOn) {
  TestEnvironment environment;
  RocksdbEngineFactory plain(environment, {.block_cache_bytes = 0});
  IndexedReplica replica(environment, plain);
  constexpr int kRecords = 2000;
  std::mt19937_64 random(1);
  for (int i = 0; i < kRecords; ++i) {
    std::string name = std::to_string(i);
    while (name.size() < 60) name += std::to_string(random());
    replica.Put({{name, R"({"n":1})"}});
  }
  ASSERT_TRUE(replica.Define({{"by_n", "$.n"}}).ok());
  replica.BuildAll();
  // In the midst of entries: an open looks at the first one only.
  replica.WithOlderVersion([&] {
    int damaged = 0;
    for (const auto& entry :
         std::filesystem::recursive_directory_iterator(replica.index_directory())) {
      if (entry.path().extension() != ".sst") continue;
      std::fstream file(entry.path(), std::ios::in | std::ios::out | std::ios::binary);
      if (entry.file_size() < 10'000) continue;  // how far they cover the data
      file.seekp(static_cast<std::streamoff>(entry.file_size() / 2));
      file << "something else";
      ++damaged;
    }
    EXPECT_GT(damaged, 0);
  });
  const FindRequest request{.index = "by_n", .limit = kRecords};
  const auto found = replica.FindPage(request);
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(found->error, static_cast<int32_t>(StorageError::kTryAgain));
  EXPECT_TRUE(replica.engine().Flush().ok());
  EXPECT_FALSE(replica.indexes().IsDefined(IndexedReplica::Named({{"by_n", "$.n"}})));
  ASSERT_TRUE(replica.Define({{"by_n", "$.n"}}).ok());
  replica.BuildAll();
  EXPECT_EQ(replica.FindPage(request)->rows.size(), size_t{kRecords});
}

}  // namespace
}  // namespace arion
