// Whether two engines hold the same records of those that are the partition's. An expired one goes
// with a compaction, by and by, and so does one that a split gave to another partition.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "base/key_ownership.h"

namespace arion {
class Engine;
}

namespace arion::sim {

// `now`: of the clock that is most ahead, in seconds since 2016.
bool HoldTheSame(const Engine& a, const Engine& b, uint32_t now, const KeyOwnership& owned);

}  // namespace arion::sim
