// SPDX-License-Identifier: Apache-2.0
#include "engine/rocksdb_tags.h"

#include <absl/strings/numbers.h>
#include <absl/strings/str_cat.h>
#include <rocksdb/db.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "base/log.h"
#include "base/status.h"
#include "engine/rocksdb_view.h"
#include "env/clock.h"

namespace arion {
namespace {

// In the meta family, each followed by what it is about. Ours: older versions pass over them.
constexpr std::string_view kTombstonePrefix = "arion_tombstone.";
constexpr std::string_view kPositionPrefix = "arion_source_position.";
constexpr char kLatestKey[] = "arion_latest_timestamp_us";

// The stored time is this much ahead, so that few batches need to write it.
constexpr int64_t kAheadUs = 1'000'000;
constexpr int64_t kDropEverySeconds = 3600;
// At once, under the lock.
constexpr size_t kDroppedTogether = 64;

std::string TombstoneKey(std::string_view raw_key) {
  return std::string(kTombstonePrefix).append(raw_key);
}

std::optional<uint64_t> Number(const rocksdb::Slice& text) {
  uint64_t number = 0;
  if (!absl::SimpleAtoi(absl::string_view(text.data(), text.size()), &number)) return std::nullopt;
  return number;
}

// Walks over the keys of the meta family that begin so.
class PrefixWalk {
 public:
  PrefixWalk(const Database& database, std::string_view prefix) : prefix_(prefix) {
    rocksdb::ReadOptions options;
    options.fill_cache = false;
    options.total_order_seek = true;
    iterator_.reset(database.db().NewIterator(options, database.meta()));
    iterator_->Seek(ToSlice(prefix_));
  }
  bool Valid() const {
    return iterator_->Valid() && iterator_->key().starts_with(ToSlice(prefix_));
  }
  void Next() { iterator_->Next(); }
  std::string_view rest() const {
    return std::string_view(iterator_->key().data(), iterator_->key().size())
        .substr(prefix_.size());
  }
  rocksdb::Slice value() const { return iterator_->value(); }
  absl::Status status() const { return FromRocksdb(iterator_->status(), "walk the meta family"); }

 private:
  const std::string prefix_;
  std::unique_ptr<rocksdb::Iterator> iterator_;
};

}  // namespace

absl::Status RocksdbTags::Load(const Database& database, ValueSchema schema) {
  schema_ = schema;
  has_tombstones_.store(PrefixWalk(database, kTombstonePrefix).Valid());
  if (has_tombstones_.load()) drops_->keeps_expired.store(true);
  const absl::StatusOr<uint64_t> latest = database.PersistedNumber(kLatestKey);
  // Not there in what other versions wrote.
  if (!latest.ok() && !absl::IsFailedPrecondition(latest.status())) return latest.status();
  stored_us_ = static_cast<int64_t>(latest.value_or(0));
  latest_us_.store(stored_us_);
  PrefixWalk walk(database, kPositionPrefix);
  const MutexLock lock(mutex_);
  for (; walk.Valid(); walk.Next()) {
    const rocksdb::Slice place = walk.value();
    const auto position = ParseSourcePosition(walk.rest(), {place.data(), place.size()});
    if (!position)
      return absl::DataLossError(absl::StrCat(database.db().GetName(), ": ", Text(kPositionPrefix),
                                              Text(walk.rest()), " is no position"));
    positions_.Note(*position);
  }
  return walk.status();
}

rocksdb::Status RocksdbTags::AddTo(const Database& database,
                                   const Engine::AppliedMutation& mutation, TimeTag own,
                                   rocksdb::WriteBatch* batch) {
  rocksdb::ColumnFamilyHandle* const meta = database.meta();
  rocksdb::Status status;
  if (mutation.timestamp_us > batch_us_) {
    batch_us_ = mutation.timestamp_us + kAheadUs;
    status = batch->Put(meta, kLatestKey, std::to_string(batch_us_));
  }
  if (mutation.timestamp_us > latest_us_.load()) latest_us_.store(mutation.timestamp_us);
  if (mutation.compares_tags) drops_->keeps_expired.store(true);
  if (mutation.position) {
    const MutexLock lock(mutex_);
    const SourcePosition& position = *mutation.position;
    const auto key = [](SourcePositions::Id id) {
      return absl::StrCat(Text(kPositionPrefix), SourceIdText(id));
    };
    for (const SourcePositions::Id& gone : positions_.Note(position))
      if (status.ok()) status = batch->Delete(meta, key(gone));
    if (status.ok())
      status = batch->Put(meta, key({position.cluster_id, position.duplication_id}),
                          SourcePlaceText(position));
  }
  // Values without tags can't be compared, so nothing is lost.
  if (schema_ == ValueSchema::kV0) return status;
  for (const WriteOp& op : mutation.ops) {
    if (op.kind != WriteOp::Kind::kRemove || !op.leaves_tombstone) continue;
    has_tombstones_.store(true);
    drops_->keeps_expired.store(true);
    own.deleted = true;
    const uint64_t tag = op.time_tag == 0 ? own.packed() : op.time_tag;
    {
      const MutexLock lock(mutex_);
      came_.insert(std::string(op.key));
    }
    has_come_ = true;
    if (status.ok()) status = batch->Put(meta, TombstoneKey(op.key), std::to_string(tag));
  }
  return status;
}

void RocksdbTags::Written() {
  stored_us_ = batch_us_;
  if (!has_come_) return;
  const MutexLock lock(mutex_);
  if (is_dropping_) return;
  came_.clear();
  has_come_ = false;
}

absl::StatusOr<uint64_t> RocksdbTags::TagOf(const Database& database, std::string_view raw_key,
                                            ReadTier tier) const {
  if (schema_ == ValueSchema::kV0 || raw_key.size() < 2) return 0;
  uint64_t tag = 0;
  rocksdb::PinnableSlice bytes;
  absl::Status read = ReadBytes(database, database.data(), nullptr, ToSlice(raw_key), tier, &bytes);
  if (read.ok()) {
    ASSIGN_OR_RETURN(const StoredValue stored, ParseValue(schema_, {bytes.data(), bytes.size()}));
    tag = stored.time_tag.packed();
  } else if (!absl::IsNotFound(read)) {
    return read;
  }
  if (!has_tombstones_.load()) return tag;
  bytes.Reset();
  const std::string key = TombstoneKey(raw_key);
  read = ReadBytes(database, database.meta(), nullptr, ToSlice(key), tier, &bytes);
  if (absl::IsNotFound(read)) return tag;
  RETURN_IF_ERROR(read);
  const std::optional<uint64_t> tombstone = Number(bytes);
  if (!tombstone) return absl::DataLossError("a tombstone is no number");
  return std::max(tag, *tombstone);
}

std::optional<SourcePosition> RocksdbTags::PositionOf(SourcePositions::Id id) const {
  const MutexLock lock(mutex_);
  return positions_.Find(id);
}

absl::Status RocksdbTags::DropOld(const Database& database) {
  const int64_t now = drops_->now();
  if (!has_tombstones_.load() || now < next_drop_) return absl::OkStatus();
  next_drop_ = now + kDropEverySeconds;
  {
    const MutexLock lock(mutex_);
    is_dropping_ = true;
  }
  const KeyOwnership ownership = drops_->ownership.load();
  const auto goes = [&](std::string_view raw_key, uint64_t tag) {
    if (ownership.MayDrop() && !ownership.OwnsKey(raw_key)) return true;
    const int64_t at = TimeTag::FromPacked(tag).timestamp_us / 1'000'000 - kExpiryEpochUnixSeconds;
    return at + absl::ToInt64Seconds(Engine::kTombstonesKept) <= now;
  };
  rocksdb::WriteOptions options;
  options.disableWAL = true;
  options.no_slowdown = true;  // who applies may wait for the lock
  std::vector<std::string> keys;
  size_t dropped = 0;
  const auto drop = [&]() -> rocksdb::Status {
    rocksdb::WriteBatch batch;
    rocksdb::Status status;
    const MutexLock lock(mutex_);
    for (const std::string& key : keys) {
      if (came_.contains(key)) continue;  // rocksdb_tags/G1
      if (status.ok()) status = batch.Delete(database.meta(), TombstoneKey(key));
    }
    dropped += keys.size();
    keys.clear();
    return status.ok() ? database.db().Write(options, &batch) : status;
  };
  PrefixWalk walk(database, kTombstonePrefix);
  rocksdb::Status status;
  for (; status.ok() && walk.Valid(); walk.Next()) {
    const std::optional<uint64_t> tag = Number(walk.value());
    if (tag && !goes(walk.rest(), *tag)) continue;
    keys.emplace_back(walk.rest());
    if (keys.size() == kDroppedTogether) status = drop();
  }
  if (status.ok() && !keys.empty()) status = drop();
  {
    const MutexLock lock(mutex_);
    is_dropping_ = false;
  }
  LOG_IF(INFO, dropped > 0) << database.db().GetName() << ": " << dropped
                            << " tombstones of removes went";
  // It is the database's own business to say that it can't write; here it may wait.
  if (!status.ok())
    LOG(INFO) << database.db().GetName() << ": tombstones stay: " << status.ToString();
  return walk.status();
}

}  // namespace arion
