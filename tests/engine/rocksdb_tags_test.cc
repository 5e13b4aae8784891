// What the RocksDB engine remembers beside the decree, and what Pegasus sees of it.
// SPDX-License-Identifier: Apache-2.0
#include "engine/rocksdb_tags.h"

#include <gtest/gtest.h>
#include <rocksdb/db.h>

#include <map>
#include <set>
#include <thread>

#include "base/raw_key.h"
#include "engine/rocksdb_engine.h"
#include "env/clock.h"
#include "tests/engine/test_environment.h"

namespace arion {
namespace {

constexpr int64_t kBeganUs = kExpiryEpochUnixSeconds * 1000000;

class RocksdbTagsTest : public testing::Test {
 protected:
  void Open() {
    engine_.reset();
    auto engine = factory_.Open(data_);
    ASSERT_TRUE(engine.ok()) << engine.status();
    engine_ = *std::move(engine);
  }
  void Apply(std::vector<WriteOp> ops, int64_t timestamp_us) {
    ASSERT_TRUE(engine_->Apply(engine_->last_applied() + 1, kBeganUs + timestamp_us, ops).ok());
  }
  static WriteOp Remove(const std::string& key) {
    return {.kind = WriteOp::Kind::kRemove, .key = key, .leaves_tombstone = true};
  }
  // With the closed database, as RocksDB alone sees it.
  void WithRaw(const std::function<void(rocksdb::DB&, rocksdb::ColumnFamilyHandle* data,
                                        rocksdb::ColumnFamilyHandle* meta)>& look) {
    ASSERT_TRUE(engine_->Close().ok());
    engine_.reset();
    std::vector<rocksdb::ColumnFamilyHandle*> families;
    rocksdb::DB* db = nullptr;
    const rocksdb::Status status =
        rocksdb::DB::Open(rocksdb::DBOptions(), data_ + "/rdb",
                          {{"default", {}}, {"pegasus_meta_cf", {}}}, &families, &db);
    ASSERT_TRUE(status.ok()) << status.ToString();
    look(*db, families[0], families[1]);
    for (auto* family : families) db->DestroyColumnFamilyHandle(family);
    delete db;
  }

  TestEnvironment environment_;
  std::string data_ = environment_.root() + "/data";
  RocksdbEngineFactory factory_{environment_, {.cluster_id = 3}};
  std::unique_ptr<Engine> engine_;
  const std::string a_ = JoinRawKey("h", "a"), b_ = JoinRawKey("h", "b");
};

TEST_F(RocksdbTagsTest, PegasusFindsItsOwnNamesAndNoMoreRecords) {
  Open();
  Apply({{.key = a_, .value = "1"}, {.key = b_, .value = "2"}}, 70);
  const WriteOp remove = Remove(a_);
  const Engine::AppliedMutation mutation{.decree = Decree(2),
                                         .timestamp_us = kBeganUs + 80,
                                         .ops = {&remove, 1},
                                         .position = SourcePosition{2, 7, Decree(5), 3, 60}};
  ASSERT_TRUE(engine_->ApplyAll({&mutation, 1}).ok());
  WithRaw([&](rocksdb::DB& db, auto* data, auto* meta) {
    const auto read = [&](auto* family, const std::string& key) {
      std::string value;
      return db.Get({}, family, key, &value).ok() ? value : "none";
    };
    EXPECT_EQ(read(meta, "pegasus_data_version"), "1");
    EXPECT_EQ(read(meta, "pegasus_last_flushed_decree"), "2");
    EXPECT_EQ(read(meta, "arion_source_position.2.7"), "5 3 60");
    EXPECT_EQ(read(meta, "arion_tombstone." + a_),
              std::to_string((kBeganUs + 80) << 8 | 3 << 1 | 1));
    EXPECT_EQ(read(meta, "arion_latest_timestamp_us"), std::to_string(kBeganUs + 70 + 1000000));
    std::set<std::string> keys;
    const std::unique_ptr<rocksdb::Iterator> it(db.NewIterator({}, data));
    for (it->SeekToFirst(); it->Valid(); it->Next()) keys.insert(it->key().ToString());
    EXPECT_EQ(keys, std::set<std::string>{b_});
  });
}

TEST_F(RocksdbTagsTest, LocalWritesHaveTheClustersOwnId) {
  Open();
  Apply({{.key = a_, .value = "1"}}, 70);
  EXPECT_EQ(TimeTag::FromPacked(*engine_->TagOf(a_, ReadTier::kAll)),
            (TimeTag{.timestamp_us = kBeganUs + 70, .cluster_id = 3}));
}

TEST_F(RocksdbTagsTest, WhereValuesHaveNoTagsNothingIsLaterThanAnything) {
  Open();
  WithRaw([](rocksdb::DB& db, auto* data, auto* meta) {
    ASSERT_TRUE(db.Put({}, meta, "pegasus_data_version", "0").ok());
    ASSERT_TRUE(db.Flush({}, {data, meta}).ok());
  });
  Open();
  ASSERT_EQ(engine_->data_version(), ValueSchema::kV0);
  Apply({{.key = a_, .value = "1"}, Remove(b_)}, 70);
  EXPECT_EQ(*engine_->TagOf(a_, ReadTier::kAll), 0u);
  EXPECT_EQ(*engine_->TagOf(b_, ReadTier::kAll), 0u);
  EXPECT_EQ(engine_->latest_timestamp_us(), kBeganUs + 70);
}

TEST_F(RocksdbTagsTest, APositionThatIsNoneIsDamage) {
  Open();
  WithRaw([](rocksdb::DB& db, auto* data, auto* meta) {
    ASSERT_TRUE(db.Put({}, meta, "arion_source_position.2.7", "5").ok());
    ASSERT_TRUE(db.Flush({}, {data, meta}).ok());
  });
  EXPECT_TRUE(absl::IsDataLoss(factory_.Open(data_).status()));
}

// rocksdb_tags/G1
TEST_F(RocksdbTagsTest, ATombstoneThatComesWhileOldOnesGoStays) {
  constexpr int kKeys = 3000;
  constexpr int64_t kDayUs = 24 * 3600 * int64_t{1000000};
  Open();
  std::vector<std::string> keys;
  for (int i = 0; i < kKeys; ++i) keys.push_back(JoinRawKey("h", std::to_string(i)));
  for (const std::string& key : keys) Apply({Remove(key)}, 70);
  environment_.set_expiry_now(3 * 24 * 3600);
  std::thread maker([&] { EXPECT_TRUE(engine_->Checkpoint().ok()); });
  for (const std::string& key : keys) Apply({Remove(key)}, 3 * kDayUs);
  maker.join();
  for (const std::string& key : keys)
    ASSERT_EQ(TimeTag::FromPacked(*engine_->TagOf(key, ReadTier::kAll)).timestamp_us,
              kBeganUs + 3 * kDayUs);
}

}  // namespace
}  // namespace arion
