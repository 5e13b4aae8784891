// What of a private log is to be kept: for those who need it, and beyond that. log_retention.h
// judges by it.
//
// Units     Decrees are inclusive.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <limits>
#include <optional>

#include "base/ids.h"

namespace arion {

// The newest files of a log, counted from the newest, for as long as every limit holds. It bounds
// what a log keeps although nobody needs it, or at most for one that may never come back.
struct LogReserve {
  // Of content. 0: nothing is kept.
  uint64_t bytes_max = 0;
  // 0: no limit by count.
  int64_t files_max = 0;
  // Since a file's last write. 0: no limit by age.
  int64_t age_max_seconds = 0;
};

// Who needs the log: for each the last decree that it does *not* need any more.
struct LogNeeds {
  // What the last durable checkpoint holds.
  Decree checkpoint;
  // A learner under way, or a split's child, and what is kept for it at most. nullopt: there is
  // none.
  std::optional<Decree> learner;
  LogReserve for_learner{.bytes_max = std::numeric_limits<uint64_t>::max()};
  // A member of the group, one that is absent included, and what is kept for it at most.
  std::optional<Decree> member;
  LogReserve for_member;
  // Another cluster that the table is duplicated to, and what is kept for it at most.
  std::optional<Decree> other_cluster;
  LogReserve for_other_cluster;
};

}  // namespace arion
