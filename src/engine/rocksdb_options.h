// The RocksDB options that keep a replica's database readable to Pegasus 2.1 to 2.5
// (engine/FORMAT.md 4.2). Included by the engine's .cc files alone: it names RocksDB's types.
//
// Threads   Thread-safe.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <rocksdb/cache.h>
#include <rocksdb/listener.h>
#include <rocksdb/options.h>
#include <rocksdb/write_buffer_manager.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/key_ownership.h"
#include "base/mutex.h"
#include "base/value_schema.h"
#include "engine/rocksdb_engine.h"

namespace arion {

class DiskThreads;
class Environment;
class RocksdbFileSystem;

inline constexpr char kMetaColumnFamily[] = "pegasus_meta_cf";

// What a factory's engines share: made with the factory, and held by its engines and by
// OpenFilesLimiter's function as well, so it ends with the last of them.
struct RocksdbEngineFactory::Shared {
  // One device.
  struct Disk {
    std::shared_ptr<RocksdbFileSystem> files;
    // With those files.
    std::shared_ptr<DiskThreads> env;
    // Of the stores of indexes, for which flushes of data wait: they must not wait for those.
    std::shared_ptr<DiskThreads> index_env;
  };
  // Of the device that holds `path`, or that part of the path which exists. Made at first use; it
  // stays where it is.
  Disk& DiskOf(Environment& environment, std::string path);

  // An open database whose number of open tables may be changed: its engine holds it, the factory
  // knows it weakly. Thread-safe. Its engine calls End before the database goes.
  class Limited {
   public:
    void Begin(rocksdb::DB* db, int open_files_max);
    // At once, if it is open now; else nothing happens.
    void SetOpenFilesMax(int open_files_max);
    void End();

   private:
    Mutex mutex_;
    rocksdb::DB* db_ ABSL_GUARDED_BY(mutex_) = nullptr;
    int open_files_max_ ABSL_GUARDED_BY(mutex_) = 0;
  };
  // Registers one more; it counts as long as somebody holds it.
  std::shared_ptr<Limited> NewLimited();
  // Of the databases there are, and of those to come.
  void SetOpenFilesMax(int open_files_max);

  Mutex mutex;
  // By device. They stay where they are.
  std::map<uint64_t, Disk> disks ABSL_GUARDED_BY(mutex);
  std::vector<std::weak_ptr<Limited>> limited ABSL_GUARDED_BY(mutex);
  std::atomic<int> open_files_max{-1};
  std::shared_ptr<rocksdb::Cache> block_cache;
  std::shared_ptr<rocksdb::WriteBufferManager> write_buffers;
};

// What a compaction needs to know to drop records: those that have expired, and those whose keys
// went to another partition. Made with each engine's options; RocksDB's filter factory and the
// engine hold it. Until `schema` is set it drops none.
struct DropRule {
  // Records with an expiry up to this are expired for good (env/clock.h); seconds since 2016.
  std::function<uint32_t()> now;
  // Whether expired records stay for Engine::kExpiredKept: a write of another cluster that was made
  // before them may come yet.
  std::atomic<bool> keeps_expired{false};
  uint32_t GoneUpTo() const {
    const auto kept = static_cast<uint32_t>(absl::ToInt64Seconds(Engine::kExpiredKept));
    const uint32_t expired = now();
    return keeps_expired.load() ? expired - std::min(expired, kept) : expired;
  }
  // A ValueSchema; -1: not known yet.
  std::atomic<int> schema{-1};
  // Until it is known all keys stay.
  std::atomic<KeyOwnership> ownership{KeyOwnership{}};
  static_assert(decltype(ownership)::is_always_lock_free);
};

// Options of a new database, and of its two families.
rocksdb::DBOptions MakeDbOptions(const RocksdbEngineOptions& options,
                                 const RocksdbEngineFactory::Shared& shared);
rocksdb::ColumnFamilyOptions MakeDataOptions(const RocksdbEngineOptions& options,
                                             const RocksdbEngineFactory::Shared& shared,
                                             std::shared_ptr<DropRule> drops);
rocksdb::ColumnFamilyOptions MakeMetaOptions(const RocksdbEngineFactory::Shared& shared);
// Takes over what the database's own OPTIONS file decides.
void AdoptStoredOptions(const rocksdb::DBOptions& stored, rocksdb::DBOptions* options);
void AdoptStoredOptions(const rocksdb::ColumnFamilyOptions& stored,
                        rocksdb::ColumnFamilyOptions* options);

}  // namespace arion
