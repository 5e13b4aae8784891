// A database of deferred memtables against a map, by seed, and beside readers. SPDX-License-Identifier: Apache-2.0
#include "engine/deferred_memtable.h"

#include <gtest/gtest.h>
#include <rocksdb/db.h>

#include <atomic>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <thread>

#include "tests/engine/test_environment.h"

namespace arion {
namespace {

constexpr size_t kMax = DeferredMemtableFactory::kWaitingMax;

class DeferredMemtableTest : public testing::Test {
 protected:
  void SetUp() override {
    rocksdb::Options options;
    options.create_if_missing = true;
    options.allow_concurrent_memtable_write = false;
    options.memtable_factory = std::make_shared<DeferredMemtableFactory>();
    rocksdb::DB* opened = nullptr;
    const rocksdb::Status status = rocksdb::DB::Open(options, environment_.root() + "/db", &opened);
    ASSERT_TRUE(status.ok()) << status.ToString();
    db_.reset(opened);
    without_wal_.disableWAL = true;
  }

  void Put(const std::string& key, const std::string& value) {
    ASSERT_TRUE(db_->Put(without_wal_, key, value).ok());
    expected_[key] = value;
  }
  void Delete(const std::string& key) {
    ASSERT_TRUE(db_->Delete(without_wal_, key).ok());
    expected_.erase(key);
  }
  std::string Get(const std::string& key) {
    std::string value;
    const rocksdb::Status status = db_->Get({}, key, &value);
    return status.ok() ? value : status.IsNotFound() ? "none" : status.ToString();
  }
  std::map<std::string, std::string> All(const rocksdb::Snapshot* snapshot = nullptr) {
    rocksdb::ReadOptions options;
    options.snapshot = snapshot;
    std::map<std::string, std::string> rows;
    const std::unique_ptr<rocksdb::Iterator> it(db_->NewIterator(options));
    for (it->SeekToFirst(); it->Valid(); it->Next()) {
      const std::string key = it->key().ToString();
      EXPECT_TRUE(rows.empty() || rows.rbegin()->first < key) << key;
      rows[key] = it->value().ToString();
    }
    EXPECT_TRUE(it->status().ok());
    return rows;
  }

  TestEnvironment environment_;
  std::unique_ptr<rocksdb::DB> db_;
  rocksdb::WriteOptions without_wal_;
  std::map<std::string, std::string> expected_;
};

// Keys whose first 16 bytes are equal, keys that are beginnings of others, zeros.
std::string KeyOf(uint64_t n) {
  switch (n % 4) {
    case 0:
      return "the same sixteen bytes and " + std::to_string(n);
    case 1:
      return std::string(n % 23, 'k');
    case 2:
      return std::string("z\0", 2) + std::string(n % 7, '\0');
    default:
      return std::to_string(n * 2654435761 % 100003);
  }
}

TEST_F(DeferredMemtableTest, HoldsWhatAMapHolds) {
  std::mt19937_64 random(20261123);
  const rocksdb::Snapshot* snapshot = nullptr;
  std::map<std::string, std::string> at_snapshot;
  for (size_t i = 0; i < 12 * kMax; ++i) {
    const std::string key = KeyOf(random() % 5000);
    if (random() % 5 == 0) {
      Delete(key);
    } else {
      Put(key, std::to_string(i));
    }
    // Long stretches without a reader, and short ones.
    if (random() % (i % (4 * kMax) < 2 * kMax ? 5000 : 50) == 0) {
      const std::string asked = KeyOf(random() % 5000);
      const auto found = expected_.find(asked);
      ASSERT_EQ(Get(asked), found == expected_.end() ? "none" : found->second) << asked;
    }
    if (i == 5 * kMax + 17) {
      snapshot = db_->GetSnapshot();
      at_snapshot = expected_;
    }
    if (i == 9 * kMax) {
      ASSERT_TRUE(db_->Flush({}).ok());
    }
  }
  EXPECT_EQ(All(), expected_);
  EXPECT_EQ(All(snapshot), at_snapshot);
  db_->ReleaseSnapshot(snapshot);
}

TEST_F(DeferredMemtableTest, AFlushHasAllThatWaited) {
  for (size_t i = 0; i < kMax + kMax / 4; ++i) Put(KeyOf(i), std::to_string(i));
  ASSERT_TRUE(db_->Flush({}).ok());
  EXPECT_EQ(All(), expected_);
}

// RocksDB counts a memtable's memory when it is sealed and again when it is gone.
TEST_F(DeferredMemtableTest, ASealedMemtableTakesNoMoreMemory) {
  for (int i = 0; i < 100; ++i) {
    Put("a", "1");
    Put("b", "2");
    ASSERT_TRUE(db_->Flush({}).ok());
  }
  uint64_t counted = 0, present = 0;
  ASSERT_TRUE(db_->GetIntProperty(rocksdb::DB::Properties::kSizeAllMemTables, &counted));
  ASSERT_TRUE(db_->GetIntProperty(rocksdb::DB::Properties::kCurSizeAllMemTables, &present));
  EXPECT_EQ(counted, present);
}

TEST_F(DeferredMemtableTest, AWalkThatIsUnderWaySeesWhatItBeganWith) {
  for (size_t i = 0; i < 10; ++i) Put("k" + std::to_string(i), "old");
  const std::unique_ptr<rocksdb::Iterator> it(db_->NewIterator({}));
  it->SeekToFirst();
  for (size_t i = 0; i < 3 * kMax; ++i) Put("k" + std::to_string(i), "new");
  EXPECT_EQ(Get("k5"), "new");
  int rows = 0;
  for (; it->Valid(); it->Next(), ++rows) EXPECT_EQ(it->value().ToString(), "old");
  EXPECT_EQ(rows, 10);
}

TEST_F(DeferredMemtableTest, ReadersBesideAWriterSeeWhatWasWritten) {
  std::atomic<int> written{-1};
  std::vector<std::thread> readers;
  for (int r = 0; r < 3; ++r)
    readers.emplace_back([&, r] {
      std::mt19937 random(static_cast<unsigned>(r));
      for (int last = 0; last < static_cast<int>(4 * kMax) - 1;) {
        last = written.load();
        if (last < 0) continue;
        const int n = static_cast<int>(random() % static_cast<unsigned>(last + 1));
        ASSERT_EQ(Get(std::to_string(n * 7919 % 10007)), std::to_string(n));
      }
    });
  for (int i = 0; i < static_cast<int>(4 * kMax); ++i) {
    Put(std::to_string(i * 7919 % 10007), std::to_string(i));
    written = i;
  }
  for (std::thread& reader : readers) reader.join();
}

// Older versions read it, and know no other name.
TEST_F(DeferredMemtableTest, IsASkipListToOthers) {
  EXPECT_STREQ(DeferredMemtableFactory().Name(), "SkipListFactory");
  EXPECT_EQ(DeferredMemtableFactory().GetId(), rocksdb::SkipListFactory().GetId());
}

}  // namespace
}  // namespace arion
