// The RocksDB options that keep a replica's database readable to Pegasus 2.1 to 2.5
// (engine/FORMAT.md 4.2). Included by engine/rocksdb_engine.cc alone: it names RocksDB's types.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <rocksdb/cache.h>
#include <rocksdb/listener.h>
#include <rocksdb/options.h>
#include <rocksdb/write_buffer_manager.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "base/value_schema.h"
#include "engine/rocksdb_engine.h"
#include "engine/rocksdb_file_system.h"
#include "engine/rocksdb_threads.h"

namespace arion {

inline constexpr char kMetaColumnFamily[] = "pegasus_meta_cf";

// What a factory's engines share.
struct RocksdbEngineFactory::Shared {
  struct Disk {
    std::shared_ptr<RocksdbFileSystem> files;
    std::shared_ptr<DiskThreads> env;  // with those files
  };
  // Of the device that holds `path`, or what of it there is.
  Disk& DiskOf(Environment& environment, std::string path);

  // An open database whose number of open tables may be changed. Its engine ends it before the
  // database.
  class Limited {
   public:
    void Begin(rocksdb::DB* db, int open_files_max);
    void SetOpenFilesMax(int open_files_max);
    void End();

   private:
    Mutex mutex_;
    rocksdb::DB* db_ ABSL_GUARDED_BY(mutex_) = nullptr;
    int open_files_max_ ABSL_GUARDED_BY(mutex_) = 0;
  };
  std::shared_ptr<Limited> NewLimited();
  void SetOpenFilesMax(int open_files_max);  // of those there are, and of those to come

  Mutex mutex;
  std::map<uint64_t, Disk> disks ABSL_GUARDED_BY(mutex);  // by device; they stay where they are
  std::vector<std::weak_ptr<Limited>> limited ABSL_GUARDED_BY(mutex);
  std::atomic<int> open_files_max{-1};
  std::shared_ptr<rocksdb::Cache> block_cache;
  std::shared_ptr<rocksdb::WriteBufferManager> write_buffers;
};

// What a compaction needs to know to drop expired records. Until `schema` is set it drops none.
struct ExpiryRule {
  std::function<uint32_t()> now;  // those that are expired for good (env/clock.h)
  std::atomic<int> schema{-1};    // a ValueSchema
};

rocksdb::DBOptions MakeDbOptions(const RocksdbEngineOptions& options,
                                 const RocksdbEngineFactory::Shared& shared);
rocksdb::ColumnFamilyOptions MakeDataOptions(const RocksdbEngineOptions& options,
                                             const RocksdbEngineFactory::Shared& shared,
                                             std::shared_ptr<ExpiryRule> expiry);
rocksdb::ColumnFamilyOptions MakeMetaOptions(const RocksdbEngineFactory::Shared& shared);
// Takes over what the database's own OPTIONS file decides.
void AdoptStoredOptions(const rocksdb::DBOptions& stored, rocksdb::DBOptions* options);
void AdoptStoredOptions(const rocksdb::ColumnFamilyOptions& stored,
                        rocksdb::ColumnFamilyOptions* options);

}  // namespace arion
