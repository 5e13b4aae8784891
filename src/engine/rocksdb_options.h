// The RocksDB options that keep a replica's database readable to Pegasus 2.1 to 2.5
// (spec/disk-formats.md 4.2). Included by engine/rocksdb_engine.cc alone: it names RocksDB's types.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <rocksdb/cache.h>
#include <rocksdb/listener.h>
#include <rocksdb/options.h>
#include <rocksdb/write_buffer_manager.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>

#include "engine/rocksdb_engine.h"
#include "engine/value_schema.h"

namespace arion {

inline constexpr char kMetaColumnFamily[] = "pegasus_meta_cf";

struct RocksdbEngineFactory::Shared {
  std::shared_ptr<rocksdb::Cache> block_cache;
  std::shared_ptr<rocksdb::WriteBufferManager> write_buffers;
};

// What a compaction needs to know to drop expired records. Until `schema` is set it drops none.
struct ExpiryRule {
  std::function<uint32_t()> now;
  std::atomic<int> schema{-1};  // a ValueSchema
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
