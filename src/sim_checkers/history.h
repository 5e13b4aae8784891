// History: what clients did to keys and what they were told, in the world's time.
//
// Shapes   Values of writes are distinct within a history, never empty. A read that found nothing
//          has an empty value. kUndecided writes (timed out, connection lost) may have happened at
//          any time after `invoked`, or never; kRefused ones must never be seen. Reads without an
//          answer are not recorded.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/instant.h"

namespace arion::sim {

// One operation on one key. For increments `value` is the number that was told.
struct Operation {
  enum class Kind : uint8_t { kWrite, kRead, kIncrement };
  enum class Outcome : uint8_t { kOk, kRefused, kUndecided };
  Kind kind = Kind::kRead;
  Outcome outcome = Outcome::kUndecided;
  std::string key;
  std::string value;
  Instant invoked;
  Instant returned = Instant::InfiniteFuture();
};

// All operations of a run. Workloads write it; CheckLinearizable and CheckCounters read it.
class History {
 public:
  // Index of the new operation.
  size_t Invoke(Operation::Kind kind, std::string key, std::string value, Instant now);
  void Return(size_t index, Operation::Outcome outcome, Instant now);
  void ReturnRead(size_t index, std::string value, Instant now);

  const std::vector<Operation>& operations() const { return operations_; }
  int64_t Count(Operation::Kind kind, Operation::Outcome outcome) const;

 private:
  std::vector<Operation> operations_;
};

}  // namespace arion::sim
