// Names and values that Pegasus 2.1 to 2.5 must find again stand beside those that are our choice.
// What a database's own OPTIONS file decides is taken over last, by AdoptStoredOptions.
// SPDX-License-Identifier: Apache-2.0
#include "engine/rocksdb_options.h"

#include <rocksdb/compaction_filter.h>
#include <rocksdb/db.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/slice_transform.h>
#include <rocksdb/table.h>

#include <algorithm>
#include <utility>

#include "base/coding.h"
#include "base/log.h"
#include "engine/deferred_memtable.h"
#include "engine/rocksdb_file_system.h"
#include "engine/rocksdb_threads.h"

namespace arion {
namespace {

// Of memtables, counted whole against write_buffers_total_bytes: with RocksDB's 1 MiB, hundreds of
// nearly empty engines are over it and flush with every record.
constexpr size_t kArenaBlockBytes = 32 << 10;
// Of a disk; a database flushes in one at a time. With one for all, a restart whose replicas are
// replayed by two threads waits for it.
constexpr int kFlushThreads = 2;
constexpr uint64_t kTargetFileBytes = 64 << 20;
constexpr int kTableCacheShardBits = 2;
constexpr int kLevels = 6;
constexpr int kWriteBuffers = 3;  // of both families: they are sealed together

// The prefix of a raw key is its hash key with the length before it.
class HashKeyTransform : public rocksdb::SliceTransform {
 public:
  const char* Name() const override { return "pegasus.HashkeyTransform"; }
  rocksdb::Slice Transform(const rocksdb::Slice& key) const override {
    const size_t prefix_bytes = 2 + size_t{LoadBig<uint16_t>(key.data())};
    return rocksdb::Slice(key.data(), std::min(prefix_bytes, key.size()));
  }
  bool InDomain(const rocksdb::Slice& key) const override { return key.size() >= 2; }
  bool InRange(const rocksdb::Slice&) const override { return false; }
};

class DropFilter : public rocksdb::CompactionFilter {
 public:
  DropFilter(ValueSchema schema, uint32_t now, const KeyOwnership& ownership)
      : schema_(schema), now_(now), ownership_(ownership) {}
  const char* Name() const override { return "KeyWithTTLCompactionFilter"; }
  bool Filter(int, const rocksdb::Slice& key, const rocksdb::Slice& value, std::string*,
              bool*) const override {
    // The record without a key carries the decree: it never expires, and is nobody's.
    if (key.size() < 2) return false;
    if (ownership_.MayDrop() && !ownership_.OwnsKey({key.data(), key.size()})) return true;
    absl::StatusOr<StoredValue> stored = ParseValue(schema_, {value.data(), value.size()});
    return stored.ok() && IsExpired(stored->expire_ts, now_);
  }

 private:
  const ValueSchema schema_;
  const uint32_t now_;
  const KeyOwnership ownership_;
};

class DropFilterFactory : public rocksdb::CompactionFilterFactory {
 public:
  explicit DropFilterFactory(std::shared_ptr<DropRule> rule) : rule_(std::move(rule)) {}
  // The name that older versions gave it.
  const char* Name() const override { return "KeyWithTTLCompactionFilterFactory"; }
  std::unique_ptr<rocksdb::CompactionFilter> CreateCompactionFilter(
      const rocksdb::CompactionFilter::Context&) override {
    const int schema = rule_->schema.load(std::memory_order_acquire);
    // The database is not open yet: a compaction of this moment keeps everything.
    if (schema < 0) return nullptr;
    return std::make_unique<DropFilter>(static_cast<ValueSchema>(schema), rule_->GoneUpTo(),
                                        rule_->ownership.load());
  }

 private:
  const std::shared_ptr<DropRule> rule_;
};

rocksdb::BlockBasedTableOptions MakeTableOptions(const RocksdbEngineFactory::Shared& shared) {
  rocksdb::BlockBasedTableOptions table;
  table.block_cache = shared.block_cache;
  // As older versions write it (engine/FORMAT.md 4.2).
  table.format_version = 2;
  table.checksum = rocksdb::kCRC32c;  // 7.8's default is unknown to 6.6.4
  return table;
}

}  // namespace

RocksdbEngineFactory::Shared::Disk& RocksdbEngineFactory::Shared::DiskOf(Environment& environment,
                                                                         std::string path) {
  FileSystem& files = environment.files();
  absl::StatusOr<uint64_t> device = files.DeviceOf(path);
  // A replica's directory need not exist yet; the nearest that does is on the same device.
  while (!device.ok() && ParentDirectory(path) != path) {
    path = ParentDirectory(path);
    device = files.DeviceOf(path);
  }
  const MutexLock lock(mutex);
  Disk& disk = disks[device.value_or(UINT64_MAX)];
  if (disk.env == nullptr) {
    disk.files = std::make_shared<RocksdbFileSystem>(environment, path);
    disk.env = std::make_shared<DiskThreads>(rocksdb::NewCompositeEnv(disk.files));
    disk.env->SetBackgroundThreads(kFlushThreads, rocksdb::Env::HIGH);
    disk.index_env = std::make_shared<DiskThreads>(rocksdb::NewCompositeEnv(disk.files));
    disk.index_env->SetBackgroundThreads(1, rocksdb::Env::HIGH);
  }
  return disk;
}

void RocksdbEngineFactory::Shared::Limited::Begin(rocksdb::DB* db, int open_files_max) {
  const MutexLock lock(mutex_);
  db_ = db;
  open_files_max_ = open_files_max;
}

void RocksdbEngineFactory::Shared::Limited::SetOpenFilesMax(int open_files_max) {
  const MutexLock lock(mutex_);
  if (db_ == nullptr || open_files_max == open_files_max_) return;
  open_files_max_ = open_files_max;
  // The table cache has its new size, also where the OPTIONS file could not be written: nothing
  // reads the number there.
  const rocksdb::Status status =
      db_->SetDBOptions({{"max_open_files", std::to_string(open_files_max)}});
  LOG_IF(WARNING, !status.ok()) << db_->GetName() << ": tables kept open: " << status.ToString();
}

void RocksdbEngineFactory::Shared::Limited::End() {
  const MutexLock lock(mutex_);
  db_ = nullptr;
}

std::shared_ptr<RocksdbEngineFactory::Shared::Limited> RocksdbEngineFactory::Shared::NewLimited() {
  auto made = std::make_shared<Limited>();
  const MutexLock lock(mutex);
  std::erase_if(limited, [](const auto& one) { return one.expired(); });
  limited.push_back(made);
  return made;
}

void RocksdbEngineFactory::Shared::SetOpenFilesMax(int max) {
  open_files_max.store(max);
  // Copied first: to set an option writes a file, and nobody shall wait for that under the lock.
  std::vector<std::weak_ptr<Limited>> all;
  {
    const MutexLock lock(mutex);
    all = limited;
  }
  for (const std::weak_ptr<Limited>& one : all)
    if (const auto live = one.lock()) live->SetOpenFilesMax(max);
}

rocksdb::DBOptions MakeDbOptions(const RocksdbEngineOptions& options,
                                 const RocksdbEngineFactory::Shared& shared) {
  rocksdb::DBOptions db;
  // engine/E1: data and decree are flushed together or not at all.
  db.atomic_flush = true;
  // A destructor must not write: what survives is decided by Flush and Close alone.
  db.avoid_flush_during_shutdown = true;
  db.write_buffer_manager = shared.write_buffers;
  db.max_background_jobs = options.background_jobs;
  // A table is written back as it grows, so that its sync finds little left.
  db.bytes_per_sync = 1 << 20;
  db.max_open_files = shared.open_files_max.load();
  // Each shard keeps one table at least: with RocksDB's 64 a database would keep as many.
  db.table_cache_numshardbits = kTableCacheShardBits;
  // One thread writes at a time: nothing to hand over, nobody to yield to.
  db.enable_write_thread_adaptive_yield = false;
  db.allow_concurrent_memtable_write = false;
  // RocksDB would log and store figures that displays read elsewhere (rocksdb_meter.h).
  db.stats_dump_period_sec = 0;
  db.stats_persist_period_sec = 0;
  return db;
}

rocksdb::ColumnFamilyOptions MakeDataOptions(const RocksdbEngineOptions& options,
                                             const RocksdbEngineFactory::Shared& shared,
                                             std::shared_ptr<DropRule> drops) {
  rocksdb::ColumnFamilyOptions family;
  rocksdb::BlockBasedTableOptions table = MakeTableOptions(shared);
  // Full filters of 10 bits a key, as older versions write and read them.
  table.filter_policy.reset(rocksdb::NewBloomFilterPolicy(10, false));
  family.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  family.prefix_extractor = std::make_shared<HashKeyTransform>();
  family.memtable_factory = std::make_shared<DeferredMemtableFactory>();
  family.compaction_filter_factory = std::make_shared<DropFilterFactory>(std::move(drops));
  family.num_levels = kLevels;
  family.compression_per_level.assign(kLevels, rocksdb::kLZ4Compression);
  family.compression_per_level[0] = family.compression_per_level[1] = rocksdb::kNoCompression;
  family.write_buffer_size = options.write_buffer_bytes;
  family.arena_block_size = kArenaBlockBytes;
  family.max_write_buffer_number = kWriteBuffers;
  family.target_file_size_base = kTargetFileBytes;
  family.target_file_size_multiplier = 1;
  family.max_bytes_for_level_base = 10 * kTargetFileBytes;
  family.max_bytes_for_level_multiplier = 10;
  family.level_compaction_dynamic_level_bytes = false;
  family.level0_file_num_compaction_trigger = 4;
  // The values of Pegasus.
  family.level0_slowdown_writes_trigger = 30;
  family.level0_stop_writes_trigger = 60;
  family.max_compaction_bytes = 25 * kTargetFileBytes;
  family.periodic_compaction_seconds = 0;
  return family;
}

rocksdb::ColumnFamilyOptions MakeMetaOptions(const RocksdbEngineFactory::Shared& shared) {
  rocksdb::ColumnFamilyOptions family;
  family.table_factory.reset(rocksdb::NewBlockBasedTableFactory(MakeTableOptions(shared)));
  family.compression = rocksdb::kNoCompression;
  family.arena_block_size = kArenaBlockBytes;
  family.max_write_buffer_number = kWriteBuffers;
  family.level_compaction_dynamic_level_bytes = false;
  return family;
}

void AdoptStoredOptions(const rocksdb::DBOptions& stored, rocksdb::DBOptions* options) {
  options->allow_ingest_behind = stored.allow_ingest_behind;
}

void AdoptStoredOptions(const rocksdb::ColumnFamilyOptions& stored,
                        rocksdb::ColumnFamilyOptions* options) {
  options->num_levels = stored.num_levels;
  if (!options->compression_per_level.empty()) {
    // One entry a level, and RocksDB wants as many as there are levels.
    options->compression_per_level.resize(std::max(stored.num_levels, 1), rocksdb::kLZ4Compression);
  }
  options->write_buffer_size = stored.write_buffer_size;
  options->max_write_buffer_number = stored.max_write_buffer_number;
  options->level0_file_num_compaction_trigger = stored.level0_file_num_compaction_trigger;
  options->level0_slowdown_writes_trigger = stored.level0_slowdown_writes_trigger;
  options->level0_stop_writes_trigger = stored.level0_stop_writes_trigger;
  options->soft_pending_compaction_bytes_limit = stored.soft_pending_compaction_bytes_limit;
  options->hard_pending_compaction_bytes_limit = stored.hard_pending_compaction_bytes_limit;
  options->disable_auto_compactions = stored.disable_auto_compactions;
  options->max_compaction_bytes = stored.max_compaction_bytes;
}

}  // namespace arion
