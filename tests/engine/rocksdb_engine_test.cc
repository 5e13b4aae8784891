// What only the RocksDB engine has: Pegasus' files and names.
// SPDX-License-Identifier: Apache-2.0
#include "engine/rocksdb_engine.h"

#include <absl/strings/escaping.h>
#include <gtest/gtest.h>
#include <rocksdb/convenience.h>
#include <rocksdb/db.h>
#include <rocksdb/table_properties.h>
#include <rocksdb/utilities/options_util.h>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <fstream>
#include <map>
#include <set>

#include "base/raw_key.h"
#include "base/status.h"
#include "base/value_schema.h"
#include "engine/engine_directory.h"
#include "engine/index_store.h"
#include "engine/rocksdb_options.h"
#include "engine/table_pace.h"
#include "tests/engine/faulty_files.h"
#include "tests/engine/test_environment.h"
#include "tests/support/fixtures.h"

namespace arion {
namespace {

constexpr uint32_t kNow = 1000;

class RocksdbEngineTest : public testing::Test {
 protected:
  void Open() {
    engine_.reset();
    auto engine = factory_.Open(data_);
    ASSERT_TRUE(engine.ok()) << engine.status();
    engine_ = *std::move(engine);
  }
  absl::StatusCode OpenError(std::string_view text) {
    engine_.reset();
    absl::Status status = factory_.Open(data_).status();
    EXPECT_NE(status.message().find({text.data(), text.size()}), absl::string_view::npos) << status;
    return status.code();
  }
  void Apply(std::vector<WriteOp> ops, int64_t timestamp_us = 1) {
    ASSERT_TRUE(engine_->Apply(engine_->last_applied() + 1, timestamp_us, ops).ok());
  }
  WriteOp Put(std::string_view value, uint32_t expire_ts = 0) {
    return {.kind = WriteOp::Kind::kPut, .key = key_, .value = value, .expire_ts = expire_ts};
  }

  // The closed database as RocksDB alone sees it.
  struct Raw {
    std::unique_ptr<rocksdb::DB> db;
    std::vector<rocksdb::ColumnFamilyHandle*> families;
    ~Raw() {
      for (auto* family : families) db->DestroyColumnFamilyHandle(family);
    }
    std::map<std::string, std::string> All(int family) {
      std::map<std::string, std::string> rows;
      std::unique_ptr<rocksdb::Iterator> it(db->NewIterator({}, families[family]));
      for (it->SeekToFirst(); it->Valid(); it->Next())
        rows[it->key().ToString()] = it->value().ToString();
      return rows;
    }
  };
  std::unique_ptr<Raw> OpenRaw() {
    engine_.reset();
    auto raw = std::make_unique<Raw>();
    rocksdb::DB* db = nullptr;
    rocksdb::Status status =
        rocksdb::DB::Open(rocksdb::DBOptions(), data_ + "/rdb",
                          {{"default", {}}, {"pegasus_meta_cf", {}}}, &raw->families, &db);
    EXPECT_TRUE(status.ok()) << status.ToString();
    raw->db.reset(db);
    return raw;
  }
  void WriteMeta(const std::string& key, const std::string& value) {
    auto raw = OpenRaw();
    ASSERT_TRUE(raw->db->Put({}, raw->families[1], key, value).ok());
    ASSERT_TRUE(raw->db->Flush({}, raw->families).ok());
  }

  TestEnvironment environment_;
  std::string data_ = environment_.root() + "/data";
  RocksdbEngineFactory factory_{environment_};
  std::unique_ptr<Engine> engine_;
  const std::string key_ = JoinRawKey("h", "s");
};

TEST_F(RocksdbEngineTest, ANewDatabaseHasTheMetaKeys) {
  Open();
  auto raw = OpenRaw();
  EXPECT_EQ(raw->All(1),
            (std::map<std::string, std::string>{{"pegasus_data_version", "1"},
                                                {"pegasus_last_flushed_decree", "0"},
                                                {"pegasus_last_manual_compact_finish_time", "0"}}));
  EXPECT_TRUE(raw->All(0).empty());
}

TEST_F(RocksdbEngineTest, StoresValuesOfVersionOneAndTheDecreeAsText) {
  Open();
  Apply({Put("v", 77)}, 0x0005d6e1f3a2b4);
  Apply({});
  ASSERT_TRUE(engine_->Close().ok());
  auto raw = OpenRaw();
  EXPECT_EQ(raw->All(1)["pegasus_last_flushed_decree"], "2");
  auto rows = raw->All(0);
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(absl::BytesToHexString(rows[key_]), "0000004d0005d6e1f3a2b40276");
  EXPECT_EQ(absl::BytesToHexString(rows[""]),
            "00000000000000000000010"
            "2");
}

TEST_F(RocksdbEngineTest, A30_S20_WritesTablesThatOldReadersKnow) {
  Open();
  Apply({Put("v")});
  ASSERT_TRUE(engine_->Close().ok());
  engine_.reset();
  rocksdb::DBOptions db_options;
  std::vector<rocksdb::ColumnFamilyDescriptor> families;
  rocksdb::ConfigOptions config;
  config.ignore_unknown_options = true;
  ASSERT_TRUE(rocksdb::LoadLatestOptions(config, data_ + "/rdb", &db_options, &families).ok());
  EXPECT_TRUE(db_options.atomic_flush);
  EXPECT_EQ(db_options.wal_dir.find("install"), std::string::npos) << db_options.wal_dir;
  ASSERT_EQ(families.size(), 2u);
  for (const auto& family : families) {
    const auto* table = family.options.table_factory->GetOptions<rocksdb::BlockBasedTableOptions>();
    EXPECT_EQ(table->format_version, 2u);
    EXPECT_EQ(table->checksum, rocksdb::kCRC32c);
    EXPECT_EQ(family.options.max_write_buffer_number, 3) << "sealed together: the least counts";
  }
  EXPECT_EQ(families[0].options.num_levels, 6);
  EXPECT_EQ(families[0].options.compression_per_level[1], rocksdb::kNoCompression);
  EXPECT_EQ(families[0].options.compression_per_level[2], rocksdb::kLZ4Compression);
  std::string text;
  for (const auto& entry : std::filesystem::directory_iterator(data_ + "/rdb")) {
    if (!entry.path().filename().string().starts_with("OPTIONS-")) continue;
    std::ifstream file(entry.path());
    text.assign(std::istreambuf_iterator<char>(file), {});
  }
  EXPECT_NE(text.find("prefix_extractor=pegasus.HashkeyTransform"), std::string::npos);
  EXPECT_NE(text.find("compaction_filter_factory=KeyWithTTLCompactionFilterFactory"),
            std::string::npos);
  auto raw = OpenRaw();
  rocksdb::TablePropertiesCollection tables;
  ASSERT_TRUE(raw->db->GetPropertiesOfAllTables(raw->families[0], &tables).ok());
  ASSERT_FALSE(tables.empty());
  for (const auto& [name, properties] : tables) {
    EXPECT_EQ(properties->prefix_extractor_name, "pegasus.HashkeyTransform");
    EXPECT_FALSE(properties->filter_policy_name.empty());
  }
}

TEST_F(RocksdbEngineTest, ACompactionDropsWhatHasExpired) {
  const std::string expired = JoinRawKey("h", "a"), live = JoinRawKey("h", "b"),
                    lasting = JoinRawKey("h", "c"), damaged = JoinRawKey("h", "d");
  auto rule = std::make_shared<DropRule>();
  uint32_t now = kNow;
  rule->now = [&now] { return now; };
  const RocksdbEngineFactory::Shared shared;
  rocksdb::Options options(rocksdb::DBOptions(), MakeDataOptions({}, shared, rule));
  options.create_if_missing = true;
  options.disable_auto_compactions = true;
  options.allow_concurrent_memtable_write = false;
  rocksdb::DB* opened = nullptr;
  ASSERT_TRUE(rocksdb::DB::Open(options, environment_.root() + "/raw", &opened).ok());
  const std::unique_ptr<rocksdb::DB> db(opened);
  auto value = [](uint32_t expire_ts) {
    return EncodeValue(ValueSchema::kV1, {.expire_ts = expire_ts, .user_data = "v"});
  };
  ASSERT_TRUE(db->Put({}, "", value(0)).ok());
  ASSERT_TRUE(db->Put({}, expired, value(kNow)).ok());
  ASSERT_TRUE(db->Put({}, live, value(kNow + 1)).ok());
  ASSERT_TRUE(db->Put({}, lasting, value(0)).ok());
  ASSERT_TRUE(db->Put({}, damaged, "x").ok());
  auto keys = [&] {
    rocksdb::CompactRangeOptions all;
    all.bottommost_level_compaction = rocksdb::BottommostLevelCompaction::kForce;
    EXPECT_TRUE(db->CompactRange(all, nullptr, nullptr).ok());
    std::vector<std::string> found;
    std::unique_ptr<rocksdb::Iterator> it(db->NewIterator({}));
    for (it->SeekToFirst(); it->Valid(); it->Next()) found.push_back(it->key().ToString());
    return found;
  };
  // While the database's schema isn't known, nothing goes.
  EXPECT_EQ(keys(), (std::vector<std::string>{"", expired, live, lasting, damaged}));
  rule->schema = static_cast<int>(ValueSchema::kV1);
  EXPECT_EQ(keys(), (std::vector<std::string>{"", live, lasting, damaged}));
  now = UINT32_MAX;
  EXPECT_EQ(keys(), (std::vector<std::string>{"", lasting, damaged}));
}

TEST_F(RocksdbEngineTest, ACompactionDropsKeysOfOtherPartitionsOnceItIsKnownWhichTheyAre) {
  Open();
  // Of both halves; the empty key carries the decree.
  std::vector<std::string> ours, others;
  for (int i = 0; i < 40; ++i) {
    std::string key = JoinRawKey("h" + std::to_string(i), "s");
    (PartitionHash(key) % 4 == 1 ? ours : others).push_back(std::move(key));
  }
  std::vector<WriteOp> ops;
  for (const auto* half : {&ours, &others})
    for (const std::string& key : *half) ops.push_back({.key = key, .value = "v"});
  Apply(ops);
  Apply({});
  const auto left = [&] {
    std::atomic<bool> cancelled{false};
    EXPECT_TRUE(engine_->CompactFrom("", {.bottommost = true}, &cancelled).ok());
    const auto view = engine_->View();
    size_t records = 0;
    for (auto walk = view->Walk({}, Direction::kForward); walk->Valid(); walk->Next()) ++records;
    return records;
  };
  const size_t all = ours.size() + others.size();
  EXPECT_EQ(left(), all);
  engine_->SetOwnership({.index = 9, .count = 4});
  EXPECT_EQ(left(), all) << "it is not among them";
  engine_->SetOwnership({.index = 1, .count = 4});
  EXPECT_EQ(engine_->ownership(), (KeyOwnership{.index = 1, .count = 4}));
  EXPECT_EQ(left(), ours.size());
  for (const std::string& key : ours) EXPECT_TRUE(engine_->Get(key, 0, ReadTier::kAll).ok());

  // The next life knows nothing, and the decree is there.
  ASSERT_TRUE(engine_->Close().ok());
  Open();
  EXPECT_EQ(engine_->last_applied(), Decree(2));
  EXPECT_EQ(engine_->ownership(), KeyOwnership());
  Apply({{.key = others[0], .value = "v"}});
  EXPECT_EQ(left(), ours.size() + 1);
}

TEST_F(RocksdbEngineTest, IndexStoresKeepAllKeys) {
  const auto store = factory_.OpenIndexStore(environment_.root() + "/2.0.pegasus/index/store");
  ASSERT_TRUE(store.ok()) << store.status();
  EXPECT_EQ((*store)->ownership(), KeyOwnership());
}

TEST_F(RocksdbEngineTest, WhatItWasCompactedForSurvivesAndGoesWithACheckpoint) {
  Open();
  EXPECT_EQ(engine_->compacted_for(), 0);
  Apply({Put("v")});
  ASSERT_TRUE(engine_->NoteCompactedFor(16).ok());
  EXPECT_EQ(engine_->compacted_for(), 16);
  EXPECT_EQ(engine_->last_compacted_ms(), 0) << "it was not asked for";
  engine_.reset();  // a crash
  Open();
  EXPECT_EQ(engine_->compacted_for(), 16);
  EXPECT_EQ(engine_->last_applied(), Decree(1));
  ASSERT_TRUE(engine_->Checkpoint().ok());
  std::shared_ptr<void> hold;
  const auto files = engine_->NewestCheckpoint(&hold);
  ASSERT_TRUE(files.ok()) << files.status();
  const std::string other = environment_.root() + "/2.4.pegasus/data";
  ASSERT_TRUE(factory_.InstallCheckpoint(files->directory, files->decree, other).ok());
  const auto copy = factory_.Open(other);
  ASSERT_TRUE(copy.ok()) << copy.status();
  EXPECT_EQ((*copy)->compacted_for(), 16);
  EXPECT_EQ(OpenRaw()->All(1)["arion_compacted_for_partition_count"], "16");
}

// Also in a table that nobody writes to any more.
TEST_F(RocksdbEngineTest, WhatACompactionReplacedIsHeldByNoCheckpoint) {
  Open();
  // So few files that RocksDB does not compact by itself, which would part the two sets again.
  for (const char* key : {"a", "b"}) {
    Apply({Put(key)});
    ASSERT_TRUE(engine_->Checkpoint().ok());
  }
  const auto tables = [&] {
    std::map<std::string, std::set<std::string>> found;
    const std::vector<std::string> names = environment_.files().List(data_).value();
    for (const std::string& name : names) {
      // Not their sizes: RocksDB may be about to remove one.
      const auto files = environment_.files().List(JoinPath(data_, name));
      if (!files.ok()) continue;  // no directory
      for (const std::string& file : *files)
        if (file.ends_with(".sst")) found[name].insert(file);
    }
    return found;
  };
  std::atomic<bool> cancelled{false};
  ASSERT_TRUE(engine_->CompactFrom("", {.bottommost = true}, &cancelled).ok());
  ASSERT_TRUE(engine_->Checkpoint().ok());
  EXPECT_NE(tables()["checkpoint.2"], tables()["rdb"]) << "its decree has one";
  ASSERT_TRUE(engine_->RenewCheckpoints().ok());
  EXPECT_EQ(tables().size(), 2);
  EXPECT_EQ(tables()["checkpoint.2"], tables()["rdb"]);
  EXPECT_EQ(engine_->last_durable(), Decree(2));
}

TEST_F(RocksdbEngineTest, ACompactionOnRequestMergesAllAndIsNoted) {
  environment_.set_expiry_now(kNow);
  Open();
  Apply({Put("expired", kNow + 1)});
  ASSERT_TRUE(engine_->Flush().ok());
  Apply({Put("lasting")});
  ASSERT_TRUE(engine_->Flush().ok());
  EXPECT_EQ(engine_->last_compacted_ms(), 0);
  std::atomic<bool> cancelled{true};
  EXPECT_TRUE(absl::IsCancelled(engine_->CompactFrom("", {}, &cancelled).status()));
  cancelled = false;
  const auto next = engine_->CompactFrom("", {.target_level = 99, .bottommost = true}, &cancelled);
  ASSERT_TRUE(next.ok()) << next.status();
  EXPECT_EQ(*next, "") << "little fits into one step";
  ASSERT_TRUE(engine_->NoteCompacted(1234567890123).ok());
  EXPECT_EQ(engine_->last_compacted_ms(), 1234567890123);
  engine_.reset();  // a crash
  Open();
  EXPECT_EQ(engine_->last_compacted_ms(), 1234567890123);
  EXPECT_EQ(engine_->last_applied(), Decree(2));
  ASSERT_TRUE(engine_->Close().ok());
  auto raw = OpenRaw();
  EXPECT_EQ(raw->All(1)["pegasus_last_manual_compact_finish_time"], "1234567890123");
  rocksdb::ColumnFamilyMetaData family;
  raw->db->GetColumnFamilyMetaData(raw->families[0], &family);
  for (const rocksdb::LevelMetaData& level : family.levels)
    EXPECT_EQ(level.files.size(), level.level == 5 ? 1u : 0u) << "level " << level.level;
}

TEST_F(RocksdbEngineTest, ReadsTheCacheAloneWhenAsked) {
  Open();
  Apply({Put("v")});
  EXPECT_EQ(engine_->Get(key_, kNow, ReadTier::kCacheOnly)->value, "v");  // from the memtable
  ASSERT_TRUE(engine_->Close().ok());
  RocksdbEngineFactory cold(environment_);
  auto engine = *cold.Open(data_);
  EXPECT_TRUE(absl::IsUnavailable(engine->Get(key_, kNow, ReadTier::kCacheOnly).status()));
  EXPECT_EQ(engine->Get(key_, kNow, ReadTier::kAll)->value, "v");
  EXPECT_EQ(engine->Get(key_, kNow, ReadTier::kCacheOnly)->value, "v");
}

// RocksDB 7.8 answers OK and no bytes from a table that is not open when it may not read the disk.
TEST_F(RocksdbEngineTest, ATableThatIsNotOpenIsNotInTheCache) {
  Open();
  ASSERT_TRUE(engine_->Close().ok());
  {
    auto raw = OpenRaw();
    ASSERT_TRUE(raw->db->SetOptions(raw->families[0], {{"disable_auto_compactions", "true"}}).ok());
  }
  Open();
  constexpr int kTables = 8;
  const auto key_of = [](int n) { return JoinRawKey("h", std::to_string(n)); };
  for (int table = 0; table < kTables; ++table) {  // of the keys 10 n and 10 n + 2
    const std::string first = key_of(10 * table), last = key_of(10 * table + 2);
    Apply({{.kind = WriteOp::Kind::kPut, .key = first, .value = "v"},
           {.kind = WriteOp::Kind::kPut, .key = last, .value = "v"}});
    ASSERT_TRUE(engine_->Flush().ok());
  }
  ASSERT_TRUE(engine_->Close().ok());
  RocksdbEngineFactory few(environment_, {.open_files_max = 20});
  auto engine = *few.Open(data_);
  auto view = engine->View();
  int not_known = 0;
  for (int n = 0; n < 10 * kTables; ++n) {
    const bool is_there = n % 10 == 0 || n % 10 == 2;
    for (const auto& record : {engine->Get(key_of(n), kNow, ReadTier::kCacheOnly),
                               view->Get(key_of(n), kNow, ReadTier::kCacheOnly)}) {
      if (absl::IsUnavailable(record.status())) {
        ++not_known;
      } else if (is_there) {
        ASSERT_TRUE(record.ok()) << n << ": " << record.status();
        EXPECT_EQ(record->value, "v");
      } else {
        EXPECT_TRUE(absl::IsNotFound(record.status())) << n << ": " << record.status();
      }
    }
    EXPECT_EQ(engine->Get(key_of(n), kNow, ReadTier::kAll).ok(), is_there);
  }
  EXPECT_GT(not_known, kTables / 2);
}

// Which files of that directory this process has open.
int OpenTables(const std::string& directory) {
  int tables = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code gone;
    const std::string path = std::filesystem::read_symlink(entry.path(), gone).string();
    tables += path.starts_with(directory) && path.ends_with(".sst") ? 1 : 0;
  }
  return tables;
}

TEST_F(RocksdbEngineTest, AnOpenEngineClosesTablesWhereOpenFilesAreFewAndOpensThemAgain) {
  Open();
  ASSERT_TRUE(engine_->Close().ok());
  {
    auto raw = OpenRaw();
    ASSERT_TRUE(raw->db->SetOptions(raw->families[0], {{"disable_auto_compactions", "true"}}).ok());
  }
  RocksdbEngineFactory factory(environment_, {.open_files_max = 100});
  auto engine = *factory.Open(data_);
  constexpr int kTables = 60;
  const auto key_of = [](int n) { return JoinRawKey("h", std::to_string(n)); };
  const auto read_all = [&] {
    for (int n = 0; n < kTables; ++n)
      EXPECT_TRUE(engine->Get(key_of(n), kNow, ReadTier::kAll).ok()) << n;
  };
  for (int n = 0; n < kTables; ++n) {
    const std::string key = key_of(n);
    const WriteOp op{.kind = WriteOp::Kind::kPut, .key = key, .value = "v"};
    ASSERT_TRUE(engine->Apply(engine->last_applied() + 1, 1, {&op, 1}).ok());
    ASSERT_TRUE(engine->Flush().ok());
  }
  read_all();
  EXPECT_GE(OpenTables(data_), kTables);
  const auto limit = factory.OpenFilesLimiter();
  limit(20);
  constexpr int kPinned = (100 - 10) / 4;
  EXPECT_LE(OpenTables(data_), kPinned + 12);
  read_all();
  EXPECT_LE(OpenTables(data_), kPinned + 12);
  limit(100);
  read_all();
  EXPECT_GE(OpenTables(data_), kTables);
  ASSERT_TRUE(engine->Close().ok());
  limit(20);  // nobody is there
}

TEST_F(RocksdbEngineTest, FlushesOfItsOwnAdvanceTheFlushedDecree) {
  RocksdbEngineFactory small(environment_, {.write_buffer_bytes = 64 << 10});
  auto engine = *small.Open(data_);
  const std::string value(1000, 'v');
  const WriteOp op{.kind = WriteOp::Kind::kPut, .key = key_, .value = value};
  for (int i = 1; i <= 2000; ++i) ASSERT_TRUE(engine->Apply(Decree(i), 1, {&op, 1}).ok());
  EXPECT_LE(engine->last_flushed(), engine->last_applied());
  engine.reset();  // a crash
  engine = *small.Open(data_);
  EXPECT_GT(engine->last_applied(), Decree(0));
  EXPECT_EQ(engine->last_durable(), engine->last_applied());
}

// A memtable in the disk's queue at once held up each log's sync for as long as that took.
TEST_F(RocksdbEngineTest, AFlushGivesItsDiskOnePieceAtATime) {
  FaultyFiles watched(environment_.files());
  TestEnvironment environment(watched);
  RocksdbEngineFactory factory(environment);
  auto engine = *factory.Open(data_);
  const std::string value(1 << 20, 'v');
  for (int i = 1; i <= 8; ++i) {
    const std::string key = JoinRawKey("h", std::to_string(i));
    const WriteOp op{.kind = WriteOp::Kind::kPut, .key = key, .value = value};
    ASSERT_TRUE(engine->Apply(Decree(i), 1, {&op, 1}).ok());
  }
  ASSERT_TRUE(engine->Flush().ok());
  EXPECT_EQ(watched.most_under_way(), TablePace::kPieceBytes);
}

TEST_F(RocksdbEngineTest, RefusesWhatIsNotItsOwn) {
  Open();
  ASSERT_TRUE(engine_->Close().ok());
  WriteMeta("pegasus_data_version", "2");
  EXPECT_EQ(OpenError("pegasus_data_version 2"), absl::StatusCode::kFailedPrecondition);
  WriteMeta("pegasus_data_version", "x");
  EXPECT_EQ(OpenError("is no number"), absl::StatusCode::kDataLoss);
  WriteMeta("pegasus_data_version", "0");
  Open();
  {
    auto raw = OpenRaw();
    rocksdb::ColumnFamilyHandle* handle = nullptr;
    ASSERT_TRUE(raw->db->CreateColumnFamily({}, "mystery", &handle).ok());
    raw->db->DestroyColumnFamilyHandle(handle);
  }
  EXPECT_EQ(OpenError("mystery"), absl::StatusCode::kFailedPrecondition);
}

TEST_F(RocksdbEngineTest, S19_RefusesADatabaseWithoutTheMetaFamily) {
  std::filesystem::create_directories(data_ + "/rdb");
  rocksdb::Options options;
  options.create_if_missing = true;
  rocksdb::DB* db = nullptr;
  ASSERT_TRUE(rocksdb::DB::Open(options, data_ + "/rdb", &db).ok());
  delete db;
  EXPECT_EQ(OpenError("no column family pegasus_meta_cf"), absl::StatusCode::kFailedPrecondition);
}

TEST_F(RocksdbEngineTest, AWriterElsewhereIsNoDamage) {
  Open();
  EXPECT_EQ(factory_.Open(data_).status().code(), absl::StatusCode::kFailedPrecondition);
}

// As of a file that root left (fs.protected_hardlinks), or of a file system that has none.
TEST_F(RocksdbEngineTest, AHardLinkThatIsRefusedIsACopyInTheCheckpoint) {
  class NoLinks : public FaultyFiles {
   public:
    using FaultyFiles::FaultyFiles;
    absl::Status Link(const std::string& from, const std::string&) override {
      return absl::PermissionDeniedError(from + ": Operation not permitted");
    }
  } files(environment_.files());
  TestEnvironment environment(files);
  RocksdbEngineFactory factory(environment);
  auto engine = *factory.Open(data_);
  const WriteOp op = Put("v");
  ASSERT_TRUE(engine->Apply(Decree(1), 1, {&op, 1}).ok());
  const auto made = engine->Checkpoint();
  ASSERT_TRUE(made.ok()) << made.status();
  EXPECT_EQ(*made, Decree(1));
  const std::string copied = environment_.root() + "/copied";
  ASSERT_TRUE(factory.InstallCheckpoint(data_ + "/checkpoint.1", Decree(1), copied).ok());
  EXPECT_EQ((*factory.Open(copied))->last_applied(), Decree(1));
}

TEST_F(RocksdbEngineTest, ADamagedTableIsDamage) {
  Open();
  Apply({Put(std::string(5000, 'v'))});
  ASSERT_TRUE(engine_->Close().ok());
  engine_.reset();
  for (const auto& entry : std::filesystem::directory_iterator(data_ + "/rdb")) {
    if (entry.path().extension() != ".sst") continue;
    std::fstream file(entry.path(), std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(3);
    file.write("damage", 6);
  }
  auto engine = RocksdbEngineFactory(environment_).Open(data_);
  absl::Status status =
      engine.ok() ? (*engine)->Get(key_, kNow, ReadTier::kAll).status() : engine.status();
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss) << status;
}

TEST_F(RocksdbEngineTest, ReadsValuesOfVersionZero) {
  Open();
  {
    auto raw = OpenRaw();
    ASSERT_TRUE(raw->db->Put({}, raw->families[1], "pegasus_data_version", "0").ok());
    const std::string old = EncodeValue(ValueSchema::kV0, {.expire_ts = 5000, .user_data = "old"});
    ASSERT_TRUE(raw->db->Put({}, raw->families[0], key_, old).ok());
    ASSERT_TRUE(raw->db->Flush({}, raw->families).ok());
  }
  Open();
  auto record = engine_->Get(key_, kNow, ReadTier::kAll);
  ASSERT_TRUE(record.ok()) << record.status();
  EXPECT_EQ(record->value, "old");
  EXPECT_EQ(record->expire_ts, 5000u);
  Apply({Put("new", 6000)});
  ASSERT_TRUE(engine_->Close().ok());
  EXPECT_EQ(OpenRaw()->All(0)[key_],
            EncodeValue(ValueSchema::kV0, {.expire_ts = 6000, .user_data = "new"}));
}

// A stopped Pegasus 2.5.0 server's replicas: what was on disk at the stop reads back (decision 31).
TEST(PegasusFixture, ReplicasOfARealServerOpenAndReadBack) {
  const std::string root = RealFixtures() + "/pegasus-2.5.0";
  REQUIRE_FIXTURE(root);
  TestEnvironment environment;
  constexpr uint32_t kFixtureNow = 345000000;  // December 2026
  environment.set_expiry_now(kFixtureNow);
  RocksdbEngineFactory factory(environment);
  std::map<std::string, std::unique_ptr<Engine>> engines;
  for (const auto& [gpid, durable] : std::map<std::string, int>{
           {"1.0", 353}, {"1.1", 394}, {"1.2", 381}, {"1.3", 386}, {"2.0", 193}, {"2.1", 211}}) {
    const std::string data = environment.root() + "/" + gpid + "/data";
    std::filesystem::create_directories(environment.root() + "/" + gpid);
    std::filesystem::copy(root + "/replica1/reps/" + gpid + ".pegasus/data", data,
                          std::filesystem::copy_options::recursive);
    auto engine = factory.Open(data);
    ASSERT_TRUE(engine.ok()) << engine.status();
    EXPECT_EQ((*engine)->last_applied(), Decree(durable)) << gpid;
    EXPECT_EQ((*engine)->last_durable(), Decree(durable)) << gpid;
    engines[gpid] = *std::move(engine);
  }
  int live = 0, expired = 0;
  std::map<std::string, int> missing;
  std::ifstream expected(root + "/expected.jsonl");
  for (std::string line; std::getline(expected, line);) {
    const auto row = nlohmann::json::parse(line);
    if (row["last_write_phase"] != 1) continue;  // later writes are in the log alone
    const std::string gpid =
        absl::StrCat(row["app_id"].get<int>(), ".", row["partition"].get<int>());
    Engine& engine = *engines.at(gpid);
    const std::string key =
        JoinRawKey(absl::HexStringToBytes(row["hash_key_hex"].get<std::string>()),
                   absl::HexStringToBytes(row["sort_key_hex"].get<std::string>()));
    const auto expire_ts = row["expire_ts"].get<uint32_t>();
    auto record = engine.Get(key, kFixtureNow, ReadTier::kAll);
    if (IsExpired(expire_ts, kFixtureNow)) {
      EXPECT_TRUE(absl::IsNotFound(record.status())) << line;
      ++expired;
      continue;
    }
    // A secondary's checkpoint lacks the last mutation before it: prepared, not yet committed
    // there.
    if (absl::IsNotFound(record.status()) && missing[gpid]++ == 0) continue;
    ASSERT_TRUE(record.ok()) << record.status() << " " << line;
    EXPECT_EQ(record->expire_ts, expire_ts);
    EXPECT_EQ(absl::BytesToHexString(record->value), row["value_hex"].get<std::string>());
    ++live;
  }
  EXPECT_GT(live, 1000);
  EXPECT_GT(expired, 50);
  // And it goes on from there, here and after another opening.
  Engine& engine = *engines["1.0"];
  const std::string key = JoinRawKey("new", "key");
  const WriteOp op{.kind = WriteOp::Kind::kPut, .key = key, .value = "value"};
  ASSERT_TRUE(engine.Apply(Decree(354), 1, {&op, 1}).ok());
  ASSERT_TRUE(engine.Checkpoint().ok());
  EXPECT_EQ(engine.Get(key, kFixtureNow, ReadTier::kAll)->value, "value");
}

}  // namespace
}  // namespace arion
