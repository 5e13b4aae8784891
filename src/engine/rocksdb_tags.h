// RocksdbTags: what of a replica's writes is remembered in the meta family, beside the decree and
// in the same batch (engine/FORMAT.md 4.1): tombstones, how far other clusters' duplications have
// come, the latest time. Included by the engine's .cc files alone: it names RocksDB's types.
//
// Shapes    A put leaves its key's tombstone where it is: the record's own tag is the larger one.
// Threads   AddTo: who applies, one at a time. DropOld: beside it, one at a time. The rest:
//           any.
// Lifetime  A part of its engine; the database outlives it, but for the destructor.
// Promises  rocksdb_tags/G1  A tombstone that is written while old ones are dropped stays.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <rocksdb/write_batch.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "base/mutex.h"
#include "base/value_schema.h"
#include "engine/engine.h"
#include "engine/rocksdb_database.h"
#include "engine/rocksdb_options.h"

namespace arion {

class RocksdbTags {
 public:
  explicit RocksdbTags(std::shared_ptr<DropRule> drops) : drops_(std::move(drops)) {}

  // Before everything else.
  absl::Status Load(const Database& database, ValueSchema schema);
  // BeginBatch, AddTo for each of its mutations, and Written once the database has it.
  // Adds to *batch what is remembered of the mutation, whose own writes get `own` where they name
  // no tag. A batch that is not written comes again.
  rocksdb::Status AddTo(const Database& database, const Engine::AppliedMutation& mutation,
                        TimeTag own, rocksdb::WriteBatch* batch);

  void BeginBatch() { batch_us_ = stored_us_; }
  void Written();

  // As Engine.
  absl::StatusOr<uint64_t> TagOf(const Database& database, std::string_view raw_key,
                                 ReadTier tier) const;
  std::optional<SourcePosition> PositionOf(SourcePositions::Id id) const;
  int64_t latest_timestamp_us() const { return latest_us_.load(); }

  // Drops the tombstones whose time has come and those of other partitions' keys, once an hour at
  // most. A want of space is no error: they stay until the next time.
  absl::Status DropOld(const Database& database);

 private:
  ValueSchema schema_ = ValueSchema::kV1;
  const std::shared_ptr<DropRule> drops_;
  std::atomic<bool> has_tombstones_{false};
  std::atomic<int64_t> latest_us_{0};
  // What the meta family says, and will say with the batch that is made; never below latest_us_
  // once it is written.
  int64_t stored_us_ = 0, batch_us_ = 0;
  // Who applies has put something into came_.
  bool has_come_ = false;
  // Seconds since 2016.
  int64_t next_drop_ = 0;
  mutable Mutex mutex_;
  SourcePositions positions_ ABSL_GUARDED_BY(mutex_);
  bool is_dropping_ ABSL_GUARDED_BY(mutex_) = false;
  // Tombstones of the batch that is made, and, while old ones are dropped, of those before.
  std::unordered_set<std::string> came_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace arion
