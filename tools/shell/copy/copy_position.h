// CopyPosition: how far a copy is in one partition of its source, and what becomes of that when
// partitions are split.
//
// Threads   Pure.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "client/table_router.h"

namespace arion::shell {

using Share = TableRouter::Share;

struct CopyPosition {
  Share share;
  // The raw key up to which everything is certainly there, itself included; nullopt: nothing is.
  std::optional<std::string> after;
  bool is_done = false;
  bool operator==(const CopyPosition&) const = default;
};

// At the beginning of each.
std::vector<CopyPosition> AtTheBeginning(const std::vector<Share>& shares);

// The same progress, told of `shares`. What `positions` leave out (a copy of one partition) is left
// out again. Where a new share lies in two that were at different keys, the lower key counts:
// records may be copied twice, and none is passed over.
std::vector<CopyPosition> DivideAgain(const std::vector<CopyPosition>& positions,
                                      const std::vector<Share>& shares);

// Which of `shares` a hash belongs to.
class ShareIndex {
 public:
  explicit ShareIndex(const std::vector<Share>& shares);
  // nullopt: to none.
  std::optional<size_t> Find(uint64_t hash) const;
  // Each hash belongs to one.
  bool IsWhole() const;

 private:
  std::vector<std::optional<size_t>> by_remainder_;
};

}  // namespace arion::shell
