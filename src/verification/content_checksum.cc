// SPDX-License-Identifier: Apache-2.0
#include "verification/content_checksum.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "base/coding.h"
#include "base/crc.h"
#include "base/value_schema.h"
#include "engine/engine.h"

namespace arion {
namespace {

// By the key alone, so that each member cuts its ranges at the same keys.
uint64_t KeyHash(std::string_view key) { return MixedHash(Crc64(key)); }

}  // namespace

absl::StatusOr<uint64_t> ContentChecksum::Continue(const EngineView& view, uint64_t bytes_max) {
  uint64_t bytes = 0;
  // A walk that leaves the cache alone: it reads everything once.
  const auto walk = view.WalkAside({.first = next_});
  for (; walk->Valid() && bytes < bytes_max; walk->Next()) {
    bytes += walk->key().size() + walk->value().size();
    Add(*walk);
    // The smallest key behind this one.
    next_.assign(walk->key()).append(1, '\0');
  }
  if (!walk->status().ok()) return walk->status();
  is_done_ = !walk->Valid();
  bytes_ += static_cast<int64_t>(bytes);
  return bytes;
}

void ContentChecksum::Add(const RecordIterator& record) {
  const std::string_view key = record.key();
  if (!terms_.owned.OwnsKey(key) || IsExpired(record.expire_ts(), terms_.expires_after)) {
    ++left_out_;
    return;
  }
  const uint64_t key_hash = KeyHash(key);
  if (key.size() <= kRangeKeyBytesMax && std::countr_zero(key_hash) >= zeros_) {
    // A range with few records costs little, and more ranges than the limit join again.
    ranges_.push_back({.first = std::string(key)});
    if (ranges_.size() > kRangesMax) JoinRanges();
  }
  const uint64_t hash = RecordHash(key, record.value(), record.expire_ts());
  ++records_;
  sum_ += hash;
  ++ranges_.back().records;
  ranges_.back().sum += hash;
}

void ContentChecksum::JoinRanges() {
  // One more zero keeps every second beginning, at each member the same ones.
  while (ranges_.size() > kRangesMax / 2) {
    ++zeros_;
    std::vector<Range> fewer;
    for (Range& range : ranges_) {
      if (fewer.empty() || std::countr_zero(KeyHash(range.first)) >= zeros_) {
        fewer.push_back(std::move(range));
      } else {
        fewer.back().records += range.records;
        fewer.back().sum += range.sum;
      }
    }
    ranges_ = std::move(fewer);
  }
}

}  // namespace arion
