// SPDX-License-Identifier: Apache-2.0
#include "engine/rocksdb_meter.h"

#include <gtest/gtest.h>

#include <string>

#include "base/raw_key.h"
#include "engine/rocksdb_engine.h"
#include "engine/rocksdb_options.h"
#include "tests/engine/test_environment.h"

namespace arion {
namespace {

class RocksdbMeterTest : public testing::Test {
 protected:
  void SetUp() override {
    auto engine = factory_.Open(environment_.root() + "/data");
    ASSERT_TRUE(engine.ok()) << engine.status();
    engine_ = *std::move(engine);
  }
  void Put(const std::string& hash_key, const std::string& value) {
    const std::string key = JoinRawKey(hash_key, "s");
    const WriteOp op{.kind = WriteOp::Kind::kPut, .key = key, .value = value};
    ASSERT_TRUE(engine_->Apply(engine_->last_applied() + 1, 1, {&op, 1}).ok());
  }
  bool Has(const std::string& hash_key) {
    return engine_->Get(JoinRawKey(hash_key, "s"), 1000, ReadTier::kAll).ok();
  }
  EngineFigures Read() { return engine_->meter()->Read(); }

  TestEnvironment environment_;
  RocksdbEngineFactory factory_{environment_};
  std::unique_ptr<Engine> engine_;
};

TEST_F(RocksdbMeterTest, WhatIsInMemoryAndThenInFiles) {
  const EngineFigures empty = Read();
  for (int i = 0; i < 100; ++i) Put("k" + std::to_string(i), std::string(1000, 'v'));
  const EngineFigures in_memory = Read();
  EXPECT_EQ(in_memory.files, empty.files);
  EXPECT_EQ(in_memory.keys, empty.keys + 100);
  EXPECT_GE(in_memory.memory_bytes, empty.memory_bytes + 100 * 1000);
  ASSERT_TRUE(Has("k7"));
  EXPECT_EQ(Read().count(EngineCount::kMemoryHits), in_memory.count(EngineCount::kMemoryHits) + 1);

  ASSERT_TRUE(engine_->Flush().ok());
  const EngineFigures in_files = Read();
  EXPECT_EQ(in_files.files, empty.files + 1);
  EXPECT_EQ(in_files.level0_files, empty.level0_files + 1);
  EXPECT_GT(in_files.file_bytes, empty.file_bytes);
  EXPECT_LT(in_files.memory_bytes, in_memory.memory_bytes);
  EXPECT_EQ(in_files.count(EngineCount::kFlushes), empty.count(EngineCount::kFlushes) + 1);
  EXPECT_GT(in_files.count(EngineCount::kFlushedBytes), empty.count(EngineCount::kFlushedBytes));
}

TEST_F(RocksdbMeterTest, ReadsOfFiles) {
  Put("a", "v");
  Put("c", "v");
  ASSERT_TRUE(engine_->Flush().ok());
  const EngineFigures before = Read();  // the engine's own reads of its decree count too
  ASSERT_TRUE(Has("a"));
  const EngineFigures once = Read();
  EXPECT_GT(once.count(EngineCount::kCacheMisses), before.count(EngineCount::kCacheMisses));
  EXPECT_EQ(once.count(EngineCount::kLevel0Hits), before.count(EngineCount::kLevel0Hits) + 1);
  EXPECT_EQ(once.count(EngineCount::kFilterTruePositives),
            before.count(EngineCount::kFilterTruePositives) + 1);
  ASSERT_TRUE(Has("a"));
  const EngineFigures twice = Read();
  EXPECT_GT(twice.count(EngineCount::kCacheHits), once.count(EngineCount::kCacheHits));
  EXPECT_EQ(twice.count(EngineCount::kCacheMisses), once.count(EngineCount::kCacheMisses));
  EXPECT_FALSE(Has("b"));
  EXPECT_EQ(Read().count(EngineCount::kFilterNegatives),
            twice.count(EngineCount::kFilterNegatives) + 1);
}

TEST_F(RocksdbMeterTest, CompactionsReadAndWrite) {
  for (const char* key : {"a", "b"}) {
    Put(key, std::string(10000, 'v'));
    ASSERT_TRUE(engine_->Flush().ok());
  }
  std::atomic<bool> cancelled{false};
  ASSERT_TRUE(engine_->CompactFrom("", {.bottommost = true}, &cancelled).ok());
  const EngineFigures figures = Read();
  EXPECT_GE(figures.count(EngineCount::kCompactions), 1u);
  EXPECT_GE(figures.count(EngineCount::kCompactionReadBytes), 20000u);
  EXPECT_GT(figures.count(EngineCount::kCompactionWrittenBytes), 0u);
  EXPECT_EQ(figures.level0_files, 0u);
}

TEST_F(RocksdbMeterTest, OutlivesItsEngineWithWhatItCounted) {
  Put("a", "v");
  ASSERT_TRUE(Has("a"));
  const std::shared_ptr<const EngineMeter> meter = engine_->meter();
  ASSERT_TRUE(engine_->Close().ok());
  EXPECT_EQ(meter->Read().files, 0u);
  engine_ = nullptr;
  EXPECT_EQ(meter->Read().count(EngineCount::kMemoryHits), 1u);
  EXPECT_EQ(meter->Counts(), meter->Read().counts);
}

}  // namespace
}  // namespace arion
