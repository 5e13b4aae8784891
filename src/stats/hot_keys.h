// HotKeys knows which hash keys of one replica are asked for most, by sampling. About every 32nd
// request is counted in a sketch of the 16 keys that seem most frequent (space-saving), one for
// reads and one for writes, each for a window of time and the one before.
//
// Shapes    A sketch's count is an upper estimate: it may be too large by the smallest count of a
//           full sketch. Keys are kept up to kKeyBytesMax bytes.
// Threads   Note on the replica's strand. Its lock is taken for sampled requests only. The rest is
//           thread-safe.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/time/time.h>

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/instant.h"
#include "base/mutex.h"

namespace arion {

// What a key was asked for.
enum class KeyUse : uint8_t { kRead, kWrite };

// The most frequent of a stream of keys, in bounded memory.
class KeySketch {
 public:
  static constexpr size_t kKeysMax = 16;
  struct Entry {
    std::string key;
    uint64_t count = 0;
    // The count may be too large by so many.
    uint64_t error = 0;
  };

  // One more request for the key. Where the sketch is full, the rarest key gives way.
  void Add(std::string_view key);
  void Clear();
  // All that was added since Clear.
  uint64_t total() const { return total_; }
  // In no order.
  const std::vector<Entry>& entries() const { return entries_; }

 private:
  std::vector<Entry> entries_;
  uint64_t total_ = 0;
};

// The sampler of one replica; RequestStats owns it. The strand calls Note, displays call Top.
class HotKeys {
 public:
  // One in so many requests is counted, at random distances.
  static constexpr uint32_t kSampledOfRequests = 32;
  static constexpr absl::Duration kWindow = absl::Seconds(30);
  static constexpr size_t kKeyBytesMax = 256;

  // A key that is asked for often.
  struct Hot {
    KeyUse use = KeyUse::kRead;
    // Of a longer key the first kKeyBytesMax bytes.
    std::string key;
    // Requests, estimated.
    double per_second = 0;
    // Of the replica's reads or writes, 0 to 1.
    double share = 0;
  };

  // `seed` chooses which requests are sampled.
  explicit HotKeys(uint64_t seed) : random_(seed | 1) {}

  // A request for the hash key arrived. Cheap: most calls only count down.
  void Note(KeyUse use, std::string_view hash_key, Instant now) {
    if (--until_sample_ > 0) return;
    Sample(use, hash_key, now);
  }
  // The hottest keys of this window and the one before, hottest first; at most `keys_max`.
  std::vector<Hot> Top(size_t keys_max, Instant now) const;

 private:
  // The sketches of this window and of the one before.
  struct Use {
    KeySketch now, before;
  };
  void Sample(KeyUse use, std::string_view hash_key, Instant now);
  // Begins a new window when the present one is over.
  void Turn(Instant now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  // Requests until the next sample; at least 1 after a sample. Only the replica's strand touches
  // it.
  uint32_t until_sample_ = 1;
  uint64_t random_;
  mutable Mutex mutex_;
  // By KeyUse. Guarded by mutex_, as the rest.
  std::array<Use, 2> uses_ ABSL_GUARDED_BY(mutex_);
  // When this window began.
  Instant begun_ ABSL_GUARDED_BY(mutex_);
  bool has_before_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace arion
