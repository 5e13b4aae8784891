// SimRandom: the only source of chance in a simulation. SplitMix64; equal seeds give equal draws on
// every machine.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/time/time.h>

#include <cmath>
#include <cstdint>

#include "env/environment.h"

namespace arion::sim {

// A value; each user that must not disturb others' draws has one of its own, seeded from the
// world's.
class SimRandom : public Random {
 public:
  explicit SimRandom(uint64_t seed) : state_(seed) {}

  uint64_t Next() override {
    uint64_t z = (state_ += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  // In [first, last].
  int64_t Between(int64_t first, int64_t last) {
    return first + static_cast<int64_t>(Below(static_cast<uint64_t>(last - first + 1)));
  }
  absl::Duration Between(absl::Duration first, absl::Duration last) {
    return absl::Nanoseconds(
        Between(absl::ToInt64Nanoseconds(first), absl::ToInt64Nanoseconds(last)));
  }
  // True in `percent` of 100 draws (fractions allowed).
  bool Percent(double percent) {
    return static_cast<double>(Next() >> 11) * 0x1p-53 * 100.0 < percent;
  }
  bool Coin() { return (Next() >> 63) != 0; }

 private:
  uint64_t state_;
};

}  // namespace arion::sim
