// IsPossible: numbers that a cluster can come to. A larger one, or a negative one, is of a damaged
// or hostile message or file. It is refused before anybody counts on from it, so no arithmetic here
// can overflow.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/ids.h"

namespace arion {

// The largest ballot or decree that is believed, inclusive (pacifica/PROTOCOL.md 11.2).
inline constexpr int64_t kNumberMax = int64_t{1} << 62;

// Whether the number lies in [0, kNumberMax]. Takes any value; kInvalidBallot and kInvalidDecree
// are not possible, and where -1 is a legal value the caller asks for it first.
inline bool IsPossible(Ballot ballot) {
  return ballot >= Ballot(0) && ballot <= Ballot(kNumberMax);
}
inline bool IsPossible(Decree decree) {
  return decree >= Decree(0) && decree <= Decree(kNumberMax);
}

}  // namespace arion
