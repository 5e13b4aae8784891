// SpaceQuota: how much of its disk one replica may take with its data (table environment
// replica.disk_quota). Pure. Logs are not counted: they come and go with the writes.
//
// Shapes    The engine is asked once a second at most, and only while there are writes. Between two
//           answers what writes brought counts as if it stayed. So the quota is passed by no more
//           than what is written while the engine answers.
// Threads   Not thread-safe.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/time/time.h>

#include <cstdint>

#include "base/instant.h"

namespace arion {

// Each write asks WantsToLook and IsSpent, and reports itself with Taken.
class SpaceQuota {
 public:
  // The quota in bytes; 0: none.
  void Set(uint64_t bytes_max) { bytes_max_ = bytes_max; }
  bool IsSet() const { return bytes_max_ > 0; }
  uint64_t bytes_max() const { return bytes_max_; }

  // A write arrives: whether the engine is to be asked for its size now. Then Measured follows.
  bool WantsToLook(Instant now) {
    if (!IsSet() || is_looking_ || now < next_look_) return false;
    is_looking_ = true;
    next_look_ = now + kLookInterval;
    // What is written from now on may or may not be in the engine's answer. It is added to it,
    // because the quota must not be passed unnoticed.
    in_measure_ = 0;
    return true;
  }
  // The engine's answer.
  void Measured(uint64_t bytes) {
    is_looking_ = false;
    known_ = true;
    bytes_ = bytes + in_measure_;
  }
  // A write of this size was accepted.
  void Taken(uint64_t bytes) {
    bytes_ += bytes;
    in_measure_ += bytes;
  }
  // Whether writes are to be refused. False until the engine has answered once.
  bool IsSpent() const { return IsSet() && known_ && bytes_ >= bytes_max_; }

 private:
  static constexpr absl::Duration kLookInterval = absl::Seconds(1);
  uint64_t bytes_max_ = 0;
  uint64_t bytes_ = 0;
  // Taken since the engine was asked: its answer may lack it.
  uint64_t in_measure_ = 0;
  Instant next_look_{0};
  bool is_looking_ = false;
  bool known_ = false;
};

}  // namespace arion
