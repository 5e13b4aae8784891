// Views of a RocksDB engine at one moment, and walks over them. Included by rocksdb_engine.cc
// alone: it names RocksDB's types.
//
// Threads   As EngineView.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string_view>

#include "base/value_schema.h"
#include "engine/engine.h"
#include "engine/rocksdb_database.h"

namespace arion {

// What lies under `key` of that family, of the newest version or of the snapshot's (null: the
// newest). NotFound: nothing. Else as Engine::Get.
absl::Status ReadBytes(const Database& database, rocksdb::ColumnFamilyHandle* family,
                       const rocksdb::Snapshot* snapshot, const rocksdb::Slice& key, ReadTier tier,
                       rocksdb::PinnableSlice* bytes);
// The record of `raw_key` at time `now`; likewise.
absl::StatusOr<Record> GetRecord(const Database& database, const rocksdb::Snapshot* snapshot,
                                 ValueSchema schema, std::string_view raw_key, uint32_t now,
                                 ReadTier tier);

// Holds the database and a snapshot of it; RocksdbEngine::View makes one. While it lives RocksDB
// keeps what later writes would replace.
class RocksdbView : public EngineView {
 public:
  RocksdbView(std::shared_ptr<Database> database, ValueSchema schema);
  ~RocksdbView() override;
  RocksdbView(const RocksdbView&) = delete;
  RocksdbView& operator=(const RocksdbView&) = delete;

  absl::StatusOr<Record> Get(std::string_view raw_key, uint32_t now, ReadTier tier) const override;
  std::unique_ptr<RecordIterator> Walk(KeyRange range, Direction direction) const override;
  std::unique_ptr<RecordIterator> WalkAside(KeyRange range) const override;

 private:
  const std::shared_ptr<Database> database_;
  const ValueSchema schema_;
  const rocksdb::Snapshot* const snapshot_;
};

}  // namespace arion
