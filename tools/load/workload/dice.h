// Dice: the load tool's random numbers, the same on every machine for the same seed (SplitMix64).
//
// Threads   One at a time.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace arion::load {

// One sequence of numbers.
class Dice {
 public:
  explicit Dice(uint64_t seed) : state_(seed) {}

  uint64_t Next() {
    uint64_t z = (state_ += 0x9E3779B97F4A7C15);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
    return z ^ (z >> 31);
  }
  // 0 <= result < bound; bound > 0. The bias is below bound / 2^64.
  uint64_t Below(uint64_t bound) {
    return static_cast<uint64_t>((static_cast<unsigned __int128>(Next()) * bound) >> 64);
  }
  // [0, 1)
  double Unit() { return static_cast<double>(Next() >> 11) * 0x1p-53; }

 private:
  uint64_t state_;
};

// YCSB's hash of a record's number: FNV-1a over its eight bytes, the lowest first; never negative.
inline int64_t HashOfNumber(int64_t number) {
  uint64_t hash = 0xCBF29CE484222325;
  for (int i = 0; i < 8; ++i) {
    hash ^= (static_cast<uint64_t>(number) >> (8 * i)) & 0xff;
    hash *= 1099511628211;
  }
  const int64_t as_signed = static_cast<int64_t>(hash);
  return as_signed < 0 ? static_cast<int64_t>(-hash) & INT64_MAX : as_signed;
}

}  // namespace arion::load
