// IsPossible: numbers that a cluster can come to. What lies beyond is of a damaged or hostile message;
// it is refused before anybody counts on from it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/ids.h"

namespace arion {

inline constexpr int64_t kNumberMax = int64_t{1} << 62;

inline bool IsPossible(Ballot ballot) {
  return ballot >= Ballot(0) && ballot <= Ballot(kNumberMax);
}
inline bool IsPossible(Decree decree) {
  return decree >= Decree(0) && decree <= Decree(kNumberMax);
}

}  // namespace arion
