// SPDX-License-Identifier: Apache-2.0
#include "engine/rocksdb_view.h"

#include <optional>
#include <string>
#include <utility>

#include "base/raw_key.h"
#include "base/status.h"

namespace arion {
namespace {

// The records of one hash key share a prefix (rocksdb_options.cc): then its filters help.
bool IsOfOneHashKey(const KeyRange& range) {
  const std::optional<KeyParts> parts = SplitRawKey(range.first);
  if (!parts || range.end.empty()) return false;
  // A walk within one prefix may use the Bloom filters of prefixes; one that leaves it must not, or
  // it would miss files.
  const std::string behind =
      EndOfPrefix(std::string_view(range.first).substr(0, 2 + parts->hash_key.size()));
  return !behind.empty() && range.end <= behind;
}

enum class Caching { kKeep, kPassBy };  // of the blocks that a walk reads

class RocksdbIterator : public RecordIterator {
 public:
  RocksdbIterator(std::shared_ptr<Database> database, const rocksdb::Snapshot* snapshot,
                  ValueSchema schema, KeyRange range, Direction direction, Caching caching)
      : database_(std::move(database)),
        schema_(schema),
        range_(std::move(range)),
        direction_(direction),
        lower_(ToSlice(range_.first)),
        upper_(ToSlice(range_.end)) {
    // No iterator is made, and the walk is over before it began.
    if (range_.IsEmpty()) return;
    rocksdb::ReadOptions options;
    options.snapshot = snapshot;
    options.fill_cache = caching == Caching::kKeep;
    // A record without a key carries the decree (Apply); it is before every other.
    if (range_.first.empty()) range_.first.assign(1, '\0'), lower_ = ToSlice(range_.first);
    // RocksDB keeps pointers to the bounds: they are members, and the iterator goes first.
    options.iterate_lower_bound = &lower_;
    if (!range_.end.empty()) options.iterate_upper_bound = &upper_;
    options.total_order_seek = direction == Direction::kBackward || !IsOfOneHashKey(range_);
    // Files that only this walk kept are removed by RocksDB's threads, not by the reader's.
    options.background_purge_on_iterator_cleanup = true;
    iterator_.reset(database_->db().NewIterator(options, database_->data()));
    if (direction == Direction::kForward)
      iterator_->Seek(lower_);
    else if (range_.end.empty())
      iterator_->SeekToLast();
    else
      iterator_->SeekForPrev(upper_);
    Look();
  }

  void Next() override {
    if (direction_ == Direction::kForward)
      iterator_->Next();
    else
      iterator_->Prev();
    Look();
  }

 private:
  void Look() {
    is_valid_ = iterator_->Valid();
    if (!is_valid_) {
      status_ = FromRocksdb(iterator_->status(), "walk");
      return;
    }
    const rocksdb::Slice key = iterator_->key();
    const rocksdb::Slice value = iterator_->value();
    const absl::StatusOr<StoredValue> stored = ParseValue(schema_, {value.data(), value.size()});
    // A value that can't be read ends the walk with its error: to skip it would look like a missing
    // record.
    is_valid_ = stored.ok();
    if (!is_valid_) {
      status_ = stored.status();
      return;
    }
    key_ = {key.data(), key.size()};
    value_ = stored->user_data;
    expire_ts_ = stored->expire_ts;
  }

  const std::shared_ptr<Database> database_;
  const ValueSchema schema_;
  KeyRange range_;
  const Direction direction_;
  rocksdb::Slice lower_, upper_;  // into range_
  std::unique_ptr<rocksdb::Iterator> iterator_;
};

}  // namespace

absl::Status ReadBytes(const Database& database, rocksdb::ColumnFamilyHandle* family,
                       const rocksdb::Snapshot* snapshot, const rocksdb::Slice& key, ReadTier tier,
                       rocksdb::PinnableSlice* bytes) {
  rocksdb::ReadOptions options;
  options.snapshot = snapshot;
  if (tier == ReadTier::kCacheOnly) options.read_tier = rocksdb::kBlockCacheTier;
  const rocksdb::Status status = database.db().Get(options, family, key, bytes);
  // RocksDB 7.8 says OK of a table that is not open and gives no bytes (TableCache::Get; mended in
  // 9.1, facebook/rocksdb#12443). No value that we stored is empty.
  if (tier == ReadTier::kCacheOnly && status.ok() && bytes->empty())
    return absl::UnavailableError("get: a table is not open");
  if (status.IsNotFound()) return absl::NotFoundError("no such record");
  return FromRocksdb(status, "get");
}

absl::StatusOr<Record> GetRecord(const Database& database, const rocksdb::Snapshot* snapshot,
                                 ValueSchema schema, std::string_view raw_key, uint32_t now,
                                 ReadTier tier) {
  // The record that carries the decree is nobody's.
  if (raw_key.size() < 2) return absl::NotFoundError("no such record");
  rocksdb::PinnableSlice bytes;
  RETURN_IF_ERROR(ReadBytes(database, database.data(), snapshot, ToSlice(raw_key), tier, &bytes));
  ASSIGN_OR_RETURN(StoredValue stored, ParseValue(schema, {bytes.data(), bytes.size()}));
  if (IsExpired(stored.expire_ts, now)) return absl::NotFoundError("no such record");
  return Record{.value = std::string(stored.user_data), .expire_ts = stored.expire_ts};
}

RocksdbView::RocksdbView(std::shared_ptr<Database> database, ValueSchema schema)
    : database_(std::move(database)), schema_(schema), snapshot_(database_->db().GetSnapshot()) {}

RocksdbView::~RocksdbView() { database_->db().ReleaseSnapshot(snapshot_); }

absl::StatusOr<Record> RocksdbView::Get(std::string_view raw_key, uint32_t now,
                                        ReadTier tier) const {
  return GetRecord(*database_, snapshot_, schema_, raw_key, now, tier);
}

std::unique_ptr<RecordIterator> RocksdbView::Walk(KeyRange range, Direction direction) const {
  return std::make_unique<RocksdbIterator>(database_, snapshot_, schema_, std::move(range),
                                           direction, Caching::kKeep);
}

std::unique_ptr<RecordIterator> RocksdbView::WalkAside(KeyRange range) const {
  return std::make_unique<RocksdbIterator>(database_, snapshot_, schema_, std::move(range),
                                           Direction::kForward, Caching::kPassBy);
}

}  // namespace arion
