// SPDX-License-Identifier: Apache-2.0
#include "client_requests/hot_reads.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/raw_key.h"
#include "engine/rocksdb_engine.h"
#include "tests/engine/test_environment.h"

namespace arion {
namespace {

TEST(HotReads, AKeyReadOftenIsAmongThem) {
  HotReads reads;
  for (int i = 0; i < 100; ++i) {
    reads.Note("often");
    reads.Note(std::to_string(i));
  }
  const std::vector<std::string> keys = reads.Keys();
  EXPECT_EQ(std::count(keys.begin(), keys.end(), "often"), 1);
}

TEST(HotReads, TheLastReadPushOutTheOldest) {
  HotReads reads;
  for (int i = 0; i < 8; ++i) reads.Note("old");
  for (int i = 0; i < 8 * 1024; ++i) reads.Note(std::to_string(i));
  const std::vector<std::string> keys = reads.Keys();
  EXPECT_EQ(keys.size(), 1024u);
  EXPECT_EQ(std::count(keys.begin(), keys.end(), "old"), 0);
}

TEST(HotReads, LongKeysAreAsManyAsFitIntoTheLimit) {
  HotReads reads;
  const auto long_key = [](int i) { return std::string(1000, 'k') + std::to_string(i); };
  for (int i = 0; i < 8 * 1024; ++i) reads.Note(long_key(i));
  size_t bytes = 0;
  const std::vector<std::string> keys = reads.Keys();
  for (const std::string& key : keys) bytes += key.size();
  EXPECT_LE(bytes, HotReads::kBytesMax);
  EXPECT_GT(bytes, HotReads::kBytesMax - long_key(8 * 1024).size());
  EXPECT_EQ(std::count(keys.begin(), keys.end(), long_key(8 * 1023)), 1);
}

TEST(HotReads, WhatWasStoredIsLoaded) {
  TestEnvironment env;
  EXPECT_TRUE(absl::IsNotFound(LoadHotReads(env.files(), env.root()).status()));
  const std::vector<std::string> keys = {"", "a", std::string("\0\xff", 2)};
  ASSERT_TRUE(StoreHotReads(env.files(), env.root(), keys).ok());
  EXPECT_EQ(*LoadHotReads(env.files(), env.root()), keys);
}

TEST(HotReads, EveryBrokenByteAndEveryCutIsNoticed) {
  TestEnvironment env;
  ASSERT_TRUE(StoreHotReads(env.files(), env.root(), {"key one", "key two"}).ok());
  const std::string path = env.root() + "/.arion-hot-reads";
  const std::string whole = *ReadFile(env.files(), path);
  for (size_t i = 0; i < whole.size(); ++i) {
    std::string broken = whole;
    broken[i] = static_cast<char>(broken[i] ^ 0x10);
    ASSERT_TRUE(WriteFileDurably(env.files(), path, broken).ok());
    EXPECT_TRUE(absl::IsDataLoss(LoadHotReads(env.files(), env.root()).status())) << i;
    ASSERT_TRUE(WriteFileDurably(env.files(), path, whole.substr(0, i)).ok());
    EXPECT_TRUE(absl::IsDataLoss(LoadHotReads(env.files(), env.root()).status())) << i;
  }
}

// What the warming of a restarted replica rests on.
TEST(HotReads, AfterARestartAReadOfEachBringsTheOthersOfItsBlockIntoTheCache) {
  TestEnvironment env;
  const std::string path = env.root() + "/data";
  const std::string key = JoinRawKey("hash", "sort");
  {
    RocksdbEngineFactory engines(env);
    auto engine = *engines.Open(path);
    const WriteOp put{.key = key, .value = "value"};
    ASSERT_TRUE(engine->Apply(Decree(1), 1, {&put, 1}).ok());
    ASSERT_TRUE(engine->Close().ok());
  }
  RocksdbEngineFactory engines(env);
  const auto engine = *engines.Open(path);
  EXPECT_TRUE(absl::IsUnavailable(engine->Get(key, 0, ReadTier::kCacheOnly).status()));
  EXPECT_TRUE(engine->Get(key, 0, ReadTier::kAll).ok());
  EXPECT_TRUE(engine->Get(key, 0, ReadTier::kCacheOnly).ok());
}

}  // namespace
}  // namespace arion
