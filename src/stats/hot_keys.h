// HotKeys knows which hash keys of one replica are asked for most, by sampling: about every 32nd
// request is counted in a sketch of the 16 keys that seem most frequent (space-saving), one for
// reads and one for writes, each for a window of time and the one before.
//
// Shapes    A count is an upper estimate: it may be too large by the smallest count of a full
//           sketch. Keys are kept up to kKeyBytesMax bytes.
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

enum class KeyUse : uint8_t { kRead, kWrite };

class KeySketch {
 public:
  static constexpr size_t kKeysMax = 16;
  struct Entry {
    std::string key;
    uint64_t count = 0;
    uint64_t error = 0;  // the count may be too large by so many
  };

  void Add(std::string_view key);
  void Clear();
  uint64_t total() const { return total_; }
  const std::vector<Entry>& entries() const { return entries_; }  // in no order

 private:
  std::vector<Entry> entries_;
  uint64_t total_ = 0;
};

class HotKeys {
 public:
  static constexpr uint32_t kSampledOfRequests = 32;
  static constexpr absl::Duration kWindow = absl::Seconds(30);
  static constexpr size_t kKeyBytesMax = 256;

  struct Hot {
    KeyUse use = KeyUse::kRead;
    std::string key;        // the first kKeyBytesMax bytes of a longer one
    double per_second = 0;  // requests, estimated
    double share = 0;       // of the replica's reads or writes, 0..1
  };

  explicit HotKeys(uint64_t seed) : random_(seed | 1) {}

  void Note(KeyUse use, std::string_view hash_key, Instant now) {
    if (--until_sample_ > 0) return;
    Sample(use, hash_key, now);
  }
  // The hottest of this window and the one before, hottest first.
  std::vector<Hot> Top(size_t keys_max, Instant now) const;

 private:
  struct Use {
    KeySketch now, before;
  };
  void Sample(KeyUse use, std::string_view hash_key, Instant now);
  void Turn(Instant now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  uint32_t until_sample_ = 1;
  uint64_t random_;
  mutable Mutex mutex_;
  std::array<Use, 2> uses_ ABSL_GUARDED_BY(mutex_);
  Instant begun_ ABSL_GUARDED_BY(mutex_);  // of this window
  bool has_before_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace arion
