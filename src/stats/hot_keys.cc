// SPDX-License-Identifier: Apache-2.0
#include "stats/hot_keys.h"

#include <algorithm>
#include <map>
#include <utility>

namespace arion {

void KeySketch::Add(std::string_view key) {
  ++total_;
  // 16 entries: a scan of all of them is cheaper than a map.
  Entry* least = nullptr;
  for (Entry& entry : entries_) {
    if (entry.key == key) {
      ++entry.count;
      return;
    }
    if (least == nullptr || entry.count < least->count) least = &entry;
  }
  if (entries_.size() < kKeysMax) {
    entries_.push_back({std::string(key), 1, 0});
    return;
  }
  // Space-saving: the newcomer inherits the count of the key that it displaces. Its own count may
  // be too high by that much.
  least->error = least->count++;
  least->key.assign(key);
}

void KeySketch::Clear() {
  entries_.clear();
  total_ = 0;
}

void HotKeys::Sample(KeyUse use, std::string_view hash_key, Instant now) {
  // The next one at a random distance: a fixed one would miss keys that come at a fixed beat.
  // A xorshift: cheap, and good enough to choose samples. The distances average kSampledOfRequests.
  random_ ^= random_ << 13, random_ ^= random_ >> 7, random_ ^= random_ << 17;
  until_sample_ = 1 + static_cast<uint32_t>(random_ % (2 * kSampledOfRequests - 1));
  const MutexLock lock(mutex_);
  Turn(now);
  uses_[static_cast<size_t>(use)].now.Add(hash_key.substr(0, kKeyBytesMax));
}

void HotKeys::Turn(Instant now) {
  // The first request begins the first window.
  if (begun_ == Instant()) begun_ = now;
  const absl::Duration age = now - begun_;
  if (age < kWindow) return;
  has_before_ = age < 2 * kWindow;  // an older one says nothing of the last minute
  for (Use& use : uses_) {
    use.before.Clear();
    if (has_before_) std::swap(use.before, use.now);
    use.now.Clear();
  }
  // Windows follow each other without a gap, unless the replica was idle for a whole one.
  begun_ = has_before_ ? begun_ + kWindow : now;
}

std::vector<HotKeys::Hot> HotKeys::Top(size_t keys_max, Instant now) const {
  std::vector<Hot> top;
  const MutexLock lock(mutex_);
  if (begun_ == Instant() || now - begun_ >= 2 * kWindow) return top;  // nothing lately
  // At least a second, so that the first requests of a replica do not look like a high rate.
  const double seconds = std::max(
      1.0, absl::ToDoubleSeconds(now - begun_ + (has_before_ ? kWindow : absl::ZeroDuration())));
  for (const KeyUse kind : {KeyUse::kRead, KeyUse::kWrite}) {
    // A key may be in both windows; its counts add up.
    const Use& use = uses_[static_cast<size_t>(kind)];
    std::map<std::string, uint64_t> counts;
    for (const KeySketch* sketch : {&use.now, &use.before})
      for (const KeySketch::Entry& entry : sketch->entries())
        // Only what was surely counted, so that an inherited count makes nobody hot.
        counts[entry.key] += entry.count - entry.error;
    const auto total = static_cast<double>(use.now.total() + use.before.total());
    for (const auto& [key, count] : counts) {
      const auto n = static_cast<double>(count);
      top.push_back({kind, key, n * kSampledOfRequests / seconds, n / total});
    }
  }
  // Equal rates are ordered by key, so that two looks at the same sketches agree.
  std::sort(top.begin(), top.end(), [](const Hot& a, const Hot& b) {
    return std::tie(b.per_second, a.key) < std::tie(a.per_second, b.key);
  });
  if (top.size() > keys_max) top.resize(keys_max);
  return top;
}

}  // namespace arion
