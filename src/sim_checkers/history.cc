// SPDX-License-Identifier: Apache-2.0
#include "sim_checkers/history.h"

#include <algorithm>
#include <utility>

namespace arion::sim {

size_t History::Invoke(Operation::Kind kind, std::string key, std::string value, Instant now) {
  Operation operation;
  operation.kind = kind;
  operation.key = std::move(key);
  operation.value = std::move(value);
  operation.invoked = now;
  operations_.push_back(std::move(operation));
  return operations_.size() - 1;
}

void History::Return(size_t index, Operation::Outcome outcome, Instant now) {
  operations_[index].outcome = outcome;
  operations_[index].returned =
      // What is undecided may still happen after the client gave up, so it has no end.
      outcome == Operation::Outcome::kUndecided ? Instant::InfiniteFuture() : now;
}

void History::ReturnRead(size_t index, std::string value, Instant now) {
  operations_[index].value = std::move(value);
  Return(index, Operation::Outcome::kOk, now);
}

int64_t History::Count(Operation::Kind kind, Operation::Outcome outcome) const {
  return std::count_if(operations_.begin(), operations_.end(),
                       [&](const Operation& o) { return o.kind == kind && o.outcome == outcome; });
}

}  // namespace arion::sim
