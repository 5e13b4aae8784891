// SPDX-License-Identifier: Apache-2.0
#include "tools/shell/copy/turns.h"

#include <utility>

namespace arion::shell {

void Turns::Post(Turn turn) {
  const MutexLock lock(mutex_);
  turns_.push_back(std::move(turn));
  // Who waits does so on none.
  if (turns_.size() == 1) posted_.NotifyOne();
}

void Turns::RunFor(absl::Duration most) {
  {
    MutexLock lock(mutex_);
    if (turns_.empty() && most > absl::ZeroDuration())
      posted_.WaitFor(mutex_, absl::ToChronoNanoseconds(most),
                      [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return !turns_.empty(); });
    std::swap(turns_, running_);
  }
  for (Turn& turn : running_) turn();
  running_.clear();
}

}  // namespace arion::shell
