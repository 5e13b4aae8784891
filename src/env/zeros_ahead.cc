// SPDX-License-Identifier: Apache-2.0
#include "env/zeros_ahead.h"

namespace arion {

bool ZerosAhead::Take(uint64_t bytes) {
  uint64_t taken = bytes_.load(std::memory_order_relaxed);
  do {
    // Written so that no sum overflows. The exchange fails if another log took some meanwhile:
    // judge anew.
    if (bytes > bytes_max_ || taken > bytes_max_ - bytes) return false;
  } while (!bytes_.compare_exchange_weak(taken, taken + bytes, std::memory_order_relaxed));
  return true;
}

}  // namespace arion
