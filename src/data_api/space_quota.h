// SpaceQuota: how much of its disk one replica may take with its data (table environment
// replica.disk_quota). Pure. Logs are not counted: they come and go with the writes.
//
// Shapes    The engine is asked once a second at most, and only while there are writes; between two
//           answers what writes brought counts as if it stayed. So the quota is passed by no more
//           than what is written while the engine answers.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/time/time.h>

#include <cstdint>

#include "base/instant.h"

namespace arion {

class SpaceQuota {
 public:
  void Set(uint64_t bytes_max) { bytes_max_ = bytes_max; }  // 0: none
  bool IsSet() const { return bytes_max_ > 0; }
  uint64_t bytes_max() const { return bytes_max_; }

  // A write arrives: whether the engine is to be asked now. Answer with Measured.
  bool WantsToLook(Instant now) {
    if (!IsSet() || is_looking_ || now < next_look_) return false;
    is_looking_ = true;
    next_look_ = now + kLookInterval;
    in_measure_ = 0;
    return true;
  }
  void Measured(uint64_t bytes) {
    is_looking_ = false;
    known_ = true;
    bytes_ = bytes + in_measure_;
  }
  void Taken(uint64_t bytes) {
    bytes_ += bytes;
    in_measure_ += bytes;
  }
  // False until the engine has answered once.
  bool IsSpent() const { return IsSet() && known_ && bytes_ >= bytes_max_; }

 private:
  static constexpr absl::Duration kLookInterval = absl::Seconds(1);
  uint64_t bytes_max_ = 0;
  uint64_t bytes_ = 0;
  uint64_t in_measure_ = 0;  // taken since the engine was asked: its answer may lack it
  Instant next_look_{0};
  bool is_looking_ = false;
  bool known_ = false;
};

}  // namespace arion
